import type { RecallRequest, StoreRequest } from '@memoryd/client';

/** The service that a snippet calls. */
export interface Target {
  url: string;
  /** Whether snippets send an API key. Snippets name the variable MEMORYD_API_KEY and never contain the key. */
  hasKey: boolean;
}

/** Returns a curl command that stores a memory. */
export function getStoreCurl(target: Target, request: StoreRequest): string {
  const json = toJson(request).replaceAll("'", "'\\''");
  return `curl -s '${target.url}/store' \\
  -H 'Content-Type: application/json' \\${getCurlKey(target, ' \\')}
  -d '${json}'`;
}

/** Returns TypeScript that stores a memory and recalls it. */
export function getStoreCode(target: Target, request: StoreRequest, recall: RecallRequest): string {
  return `${getClientSetup(target)}
await memory.store(${toJson(request)});

${getRecallCall(recall)}`;
}

/** Returns the MCP configuration of an agent, as Claude Code and Cursor read it. */
export function getMcpConfig({ url, hasKey }: Target): string {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the agent replaces the variable
  const headers = { Authorization: 'Bearer ${MEMORYD_API_KEY}' };
  const memoryd = { type: 'http', url: `${url}/mcp`, ...(hasKey && { headers }) };
  return toJson({ mcpServers: { memoryd } });
}

/**
 * Returns a curl command for a recall. The query cannot break the shell quotes, because percent encoding escapes
 * quotes.
 */
export function getRecallCurl(target: Target, { metadata = {}, tag = [], ...rest }: RecallRequest): string {
  const query = new URLSearchParams(Object.entries(rest).map(([name, value]) => [name, String(value)]));
  for (const one of tag) query.append('tag', one);
  for (const [key, value] of Object.entries(metadata)) query.append(`metadata.${key}`, value);
  const key = getCurlKey(target);
  return `curl -s '${target.url}/recall?${query}'${key && ` \\${key}`}`;
}

/** Returns TypeScript for a recall. */
export function getRecallCode(target: Target, request: RecallRequest): string {
  return `${getClientSetup(target)}
${getRecallCall(request)}`;
}

function getRecallCall(request: RecallRequest): string {
  return `const { results } = await memory.recall(${toJson(request)});
console.log(results);`;
}

function getCurlKey({ hasKey }: Target, end = ''): string {
  return hasKey ? `\n  -H "Authorization: Bearer $MEMORYD_API_KEY"${end}` : '';
}

function getClientSetup({ url, hasKey }: Target): string {
  const key = hasKey ? ', apiKey: process.env.MEMORYD_API_KEY' : '';
  return `import { MemoryClient } from '@memoryd/client';

const url = ${JSON.stringify(url)};
const memory = new MemoryClient({ url${key} });`;
}

const toJson = (value: unknown): string => JSON.stringify(value, null, 2);
