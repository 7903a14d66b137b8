import { type AgentProgram, type McpServer, OWN_HOOK_FILE } from './program.ts';

const OWN_HOOK = { hooks: [{ type: 'command', name: 'own', command: `touch ${OWN_HOOK_FILE}`, timeout: 10_000 }] };

/** Waits for MCP servers before the first turn. */
export const geminiCli: AgentProgram = {
  command: 'gemini',
  name: 'gemini-cli',
  getFiles: ({ servers, hasOwnHook }) => ({
    '.gemini/settings.json': `// The settings of the tests.\n${JSON.stringify({
      security: { auth: { selectedType: 'gemini-api-key' } },
      telemetry: { enabled: false },
      // By default, the next start deletes the transcript of a session that was resumed in another minute than it began.
      general: { enableAutoUpdate: false, sessionRetention: { enabled: false } },
      mcpServers: Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, toEntry(server)])),
      ...(hasOwnHook && { hooks: { BeforeAgent: [OWN_HOOK] } }),
    })}`,
  }),
  getEnvironment: ({ modelUrl }) => ({
    GOOGLE_GEMINI_BASE_URL: modelUrl,
    GEMINI_API_KEY: 'none',
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
  }),
  // Without a model, another request would let a model choose the model.
  getArguments: (prompt, _setup, session = 'new') => [
    ...['--model', 'gemini-2.5-pro', '--prompt', prompt],
    ...(session === 'new' ? [] : ['--resume', 'latest']),
  ],
  toOfferedName: (server, tool) => `mcp_${server}_${tool}`,
  getContexts: (parts) =>
    parts
      .filter(({ role }) => role === 'user')
      .flatMap(({ text }) => [...text.matchAll(/<hook_context>(.*?)<\/hook_context>/gs)])
      .map(([, context = '']) => context.replaceAll('&lt;', '<').replaceAll('&gt;', '>')),
  variableLines: /^MCP issues detected/,
};

function toEntry(server: McpServer): object {
  return { ...('url' in server ? { httpUrl: server.url } : server), trust: true };
}
