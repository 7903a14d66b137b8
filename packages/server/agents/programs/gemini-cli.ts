import type { AgentProgram, McpServer } from './program.ts';

/** Waits for MCP servers before the first turn. */
export const geminiCli: AgentProgram = {
  command: 'gemini',
  getFiles: ({ servers }) => ({
    '.gemini/settings.json': JSON.stringify({
      security: { auth: { selectedType: 'gemini-api-key' } },
      telemetry: { enabled: false },
      general: { enableAutoUpdate: false },
      mcpServers: Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, toEntry(server)])),
    }),
  }),
  getEnvironment: ({ modelUrl }) => ({
    GOOGLE_GEMINI_BASE_URL: modelUrl,
    GEMINI_API_KEY: 'none',
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
  }),
  // Without a model, another request would let a model choose the model.
  getArguments: (prompt) => ['--model', 'gemini-2.5-pro', '--prompt', prompt],
  toOfferedName: (server, tool) => `mcp_${server}_${tool}`,
};

function toEntry(server: McpServer): object {
  return { ...('url' in server ? { httpUrl: server.url } : server), trust: true };
}
