import { type AgentProgram, type McpServer, START_TIMEOUT_MS } from './program.ts';

/** Waits for MCP servers before the first turn, and defers their tools. */
export const claudeCode: AgentProgram = {
  command: 'claude',
  getFiles: ({ servers }) => ({
    'project/.mcp.json': JSON.stringify({
      mcpServers: Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, toEntry(server)])),
    }),
  }),
  getEnvironment: ({ modelUrl }) => ({
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: 'none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    MCP_TIMEOUT: String(START_TIMEOUT_MS),
  }),
  getArguments: (prompt, { servers }) => [
    ...['-p', prompt, '--mcp-config', '.mcp.json'],
    ...[
      '--allowedTools',
      Object.keys(servers)
        .map((name) => `mcp__${name}`)
        .join(),
    ],
  ],
  toOfferedName: (server, tool) => `mcp__${server}__${tool}`,
  getLoadingCall: (offeredNames) => ({
    tool: /^ToolSearch$/,
    args: { query: `select:${offeredNames.join()}`, max_results: offeredNames.length },
  }),
};

function toEntry(server: McpServer): object {
  return { type: 'url' in server ? 'http' : 'stdio', ...server };
}
