import { type AgentProgram, type McpServer, START_TIMEOUT_MS } from './program.ts';

/** Waits for MCP servers before the first turn. */
export const openCode: AgentProgram = {
  command: 'opencode',
  getFiles: ({ modelUrl, servers }) => ({
    '.config/opencode/opencode.json': JSON.stringify({
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
    }),
    // OpenCode installs its package for plugins from npm unless the folder exists and the lock file names the package.
    // There are no plugins here.
    '.config/opencode/node_modules/README': 'The plugin package is not installed here.',
    '.config/opencode/package-lock.json': JSON.stringify({
      packages: { '': { dependencies: { '@opencode-ai/plugin': '*' } } },
    }),
  }),
  getEnvironment: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' }),
  getArguments: (prompt) => ['run', prompt],
  toOfferedName: (server, tool) => `${server}_${tool}`,
};

function toEntry(server: McpServer): object {
  const target =
    'url' in server
      ? { type: 'remote', url: server.url }
      : { type: 'local', command: [server.command, ...server.args] };
  return { ...target, timeout: START_TIMEOUT_MS };
}
