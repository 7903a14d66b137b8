import { resolve } from 'node:path';
import { styleText } from 'node:util';
import { getDatabaseName } from '@memoryd/engine/defaults';
import type { Settings } from './settings/read.ts';
import { VERSION } from './version.ts';

/**
 * Returns the text that a terminal shows when the service is ready: its addresses, the location of its data, and
 * commands to try.
 *
 * @param url address of the service, without a slash at the end
 * @param needsKey whether requests need an API key
 */
export function getBanner({ database }: Pick<Settings, 'database'>, url: string, needsKey: boolean): string {
  const curl = needsKey ? "curl -H 'Authorization: Bearer KEY'" : 'curl';
  const data = database.databaseUrl === undefined ? resolve(database.dbPath) : getDatabaseName(database);
  return `
  ${styleText('bold', `memoryd ${VERSION}`)}

  Dashboard  ${url}/ui
  API docs   ${url}/docs
  MCP        ${url}/mcp
  Data       ${data}

  Store a memory and recall it:
    ${curl} ${url}/store -d '{"user_id": "ada", "content": "Ada is allergic to peanuts"}'
    ${curl} '${url}/recall?user_id=ada&query=Can+Ada+eat+peanut+butter'

  Press Ctrl+C to stop

`;
}
