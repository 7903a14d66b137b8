import type { Part } from '../dialects/dialect.ts';
import { type AgentProgram, OWN_HOOK_FILE, START_TIMEOUT_MS } from './program.ts';

const OWN_HOOK = { hooks: [{ type: 'command', command: `touch ${OWN_HOOK_FILE}`, timeout: 10 }] };

/**
 * Begins the first turn about a second after its start, without the tools of servers over stdio that have not answered
 * `initialize` by then, unless they are `required`.
 */
export const codex: AgentProgram = {
  command: 'codex',
  name: 'codex',
  getFiles: ({ modelUrl, servers, waitsForServers, hasOwnHook }) => ({
    '.codex/config.toml': [
      '# The model of the tests.\n',
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
    ...(hasOwnHook && {
      '.codex/hooks.json': `${JSON.stringify({ hooks: { UserPromptSubmit: [OWN_HOOK] } }, undefined, 2)}\n`,
    }),
  }),
  getEnvironment: () => ({ FAKE_API_KEY: 'none' }),
  // The person trusts hooks in the program's own screen, which a run of one prompt does not show.
  getArguments: (prompt, { hasOwnHook }, session = 'new') => [
    ...['exec', ...(session === 'new' ? [] : ['resume', '--last']), '--skip-git-repo-check', prompt],
    ...(hasOwnHook ? ['--dangerously-bypass-hook-trust'] : []),
  ],
  toOfferedName: (server, tool) => `mcp__${server}__${tool}`,
  // Each context is a message of its own, without further texts.
  getContexts: (parts) => parts.filter(isContext).map(({ text }) => text),
  variableLines: /^session id: |^hook: \w+(?: Completed)?$|rmcp::transport/,
};

function isContext({ role, text }: Part): boolean {
  return role === 'system' && text.startsWith('From memory.');
}

/** Formats a table of a TOML file. Strings, booleans and lists are written as in JSON. */
function toTable(name: string, values: object): string {
  const lines = Object.entries(values).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
  return `${name === '' ? '' : `[${name}]\n`}${lines.join('')}`;
}
