import type { Connection } from './types.ts';

/**
 * Returns the URL to which a program's hooks send their input. Options with their default value are left out. The fragment
 * `#key`, which is not sent, makes a hook send the API key; other services must not get the key.
 */
export function getHookUrl({ url, program, user, capture, recall, budget, hasKey }: Connection): string {
  const query = new URLSearchParams({
    user_id: user,
    ...(capture !== 'prompts' && { capture }),
    ...(!recall && { recall: 'off' }),
    ...(budget !== undefined && { budget: String(budget) }),
  });
  return `${url}/hooks/${program}?${query}${hasKey ? '#key' : ''}`;
}

/** Returns the URL of the MCP server for the user of a connection. */
export function getMcpUrl({ url, user }: Connection): string {
  return `${url}/mcp?${new URLSearchParams({ user_id: user })}`;
}
