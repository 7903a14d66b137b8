import { type AgentProgram, START_TIMEOUT_MS } from './program.ts';

/**
 * Begins the first turn about a second after its start, without the tools of servers over stdio that have not answered
 * `initialize` by then, unless they are `required`.
 */
export const codex: AgentProgram = {
  command: 'codex',
  getFiles: ({ modelUrl, servers, waitsForServers }) => ({
    '.codex/config.toml': [
      toTable('', { model: 'gpt-5', model_provider: 'fake' }),
      toTable('model_providers.fake', {
        ...{ name: 'fake', base_url: `${modelUrl}/v1`, wire_api: 'responses', env_key: 'FAKE_API_KEY' },
      }),
      ...Object.entries(servers).map(([name, server]) =>
        toTable(`mcp_servers.${name}`, {
          ...server,
          ...(waitsForServers && { required: true, startup_timeout_sec: START_TIMEOUT_MS / 1000 }),
        }),
      ),
    ].join('\n'),
  }),
  getEnvironment: () => ({ FAKE_API_KEY: 'none' }),
  getArguments: (prompt) => ['exec', '--skip-git-repo-check', prompt],
  toOfferedName: (server, tool) => `mcp__${server}__${tool}`,
};

/** Formats a table of a TOML file. Strings, booleans and lists are written as in JSON. */
function toTable(name: string, values: object): string {
  const lines = Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
  return `${name === '' ? '' : `[${name}]\n`}${lines.join('')}`;
}
