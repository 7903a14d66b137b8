import { type AgentProgram, type McpServer, OWN_HOOK_FILE, START_TIMEOUT_MS } from './program.ts';

const OWN_PLUGIN = `import { writeFileSync } from 'node:fs';
export const Own = async ({ directory }) => ({
  'chat.message': async () => writeFileSync(directory + '/${OWN_HOOK_FILE}', ''),
});
`;

/** Waits for MCP servers before the first turn. */
export const openCode: AgentProgram = {
  command: 'opencode',
  name: 'opencode',
  getFiles: ({ modelUrl, servers, hasOwnHook }) => ({
    // OpenCode adds the schema to a file that has none.
    '.config/opencode/opencode.json': `{\n  // The settings of the tests.\n${JSON.stringify({
      $schema: 'https://opencode.ai/config.json',
      model: 'fake/fake',
      small_model: 'fake/fake',
      provider: {
        fake: {
          npm: '@ai-sdk/openai-compatible',
          options: { baseURL: `${modelUrl}/v1`, apiKey: 'none' },
          models: { fake: { tool_call: true, limit: { context: 200_000, output: 8_000 } } },
        },
      },
      mcp: Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, toEntry(server)])),
    }).slice(1)}`,
    ...(hasOwnHook && { '.config/opencode/plugins/own.js': OWN_PLUGIN }),
    // OpenCode installs its package for plugins from npm unless the folder exists and the lock file names the package.
    // The plugins here do not import it.
    '.config/opencode/node_modules/README': 'The plugin package is not installed here.',
    '.config/opencode/package-lock.json': JSON.stringify({
      packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } },
    }),
  }),
  getEnvironment: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' }),
  getArguments: (prompt) => ['run', prompt],
  toOfferedName: (server, tool) => `${server}_${tool}`,
  // A context is a part of the message of the person.
  getContexts: (parts) =>
    parts
      .filter(({ role }) => role === 'user')
      .flatMap(({ text }) => text.match(/^From memory\. .*?\n<\/memories>$/gms) ?? []),
};

function toEntry(server: McpServer): object {
  const target =
    'url' in server
      ? { type: 'remote', url: server.url }
      : { type: 'local', command: [server.command, ...server.args] };
  return { ...target, timeout: START_TIMEOUT_MS };
}
