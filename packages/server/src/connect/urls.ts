import type { Connection } from './types.ts';

/** Returns the URL to which a program's hooks send their input. Options with their default value are left out. */
export function getHookUrl({ url, program, user, capture, recall, budget }: Connection): string {
  const query = new URLSearchParams({
    user_id: user,
    ...(capture !== 'prompts' && { capture }),
    ...(!recall && { recall: 'off' }),
    ...(budget !== undefined && { budget: String(budget) }),
  });
  return `${url}/hooks/${program}?${query}`;
}

/** Returns the URL of the MCP server for the user of a connection. */
export function getMcpUrl({ url, user }: Connection): string {
  return `${url}/mcp?${new URLSearchParams({ user_id: user })}`;
}
