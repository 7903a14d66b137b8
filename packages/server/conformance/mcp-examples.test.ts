import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Agent, httpAgent } from './agent.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

const folder = fileURLToPath(new URL('../../../examples/mcp/', import.meta.url));
const files = readdirSync(folder);
const { name: packageName } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  name: string;
};

interface Entry {
  type?: string;
  command?: string;
  args?: string[];
  url?: string;
  headers?: Record<string, string>;
}
interface Configuration {
  mcpServers?: Record<string, Entry>;
  servers?: Record<string, Entry>;
  inputs?: { type: string; id: string; password: boolean }[];
}

function read(file: string): Configuration {
  return JSON.parse(readFileSync(`${folder}${file}`, 'utf8')) as Configuration;
}

/** Returns the only server of a configuration, under the key that its client reads. */
function getEntry(file: string): Entry {
  const { mcpServers, servers } = read(file);
  expect(file.startsWith('vscode') ? mcpServers : servers).toBeUndefined();
  const entries = Object.entries({ ...mcpServers, ...servers });
  expect(entries.map(([name]) => name)).toEqual(['memoryd']);
  return entries[0]?.[1] ?? {};
}

const memoryd = useServer({ env: WORDS_ONLY });

async function expectTools(connected: Promise<Agent>): Promise<void> {
  const agent = await connected;
  expect(await agent.call('memory_stats')).toMatchObject({ working_count: 0 });
  await agent.end();
}

describe('an example MCP configuration that starts memoryd', () => {
  it.each(files.filter((file) => !file.includes('-http')))('runs `memoryd mcp`: %s', (file) => {
    const type = file === 'vscode.json' ? { type: 'stdio' } : {};
    expect(getEntry(file)).toEqual({ ...type, command: 'npx', args: ['-y', packageName, 'mcp'] });
  });
});

describe('an example MCP configuration for a running server', () => {
  const variables: Record<string, string> = {
    'claude-code-http.json': 'MEMORYD_API_KEY',
    'cursor-http.json': 'env:MEMORYD_API_KEY',
    'vscode-http.json': 'input:memoryd-key',
  };
  it.each(files.filter((file) => file.includes('-http')))(
    'an example MCP configuration for a running server has the URL of /mcp and reads the API key from a variable: %s',
    async (file) => {
      const { url = '', headers } = getEntry(file);
      const { origin, pathname } = new URL(url);
      expect({ origin, pathname }).toEqual({ origin: 'http://127.0.0.1:8090', pathname: '/mcp' });
      expect(headers).toEqual({ Authorization: `Bearer \${${variables[file]}}` });
      for (const { id, password } of read(file).inputs ?? []) {
        expect([`input:${id}`, password]).toEqual([variables[file], true]);
      }
      await expectTools(httpAgent(memoryd.server.port));
    },
  );
});
