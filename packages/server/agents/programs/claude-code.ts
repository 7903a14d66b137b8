import { type AgentProgram, type McpServer, OWN_HOOK_FILE, START_TIMEOUT_MS } from './program.ts';

const OWN_HOOK = { hooks: [{ type: 'command', command: `touch ${OWN_HOOK_FILE}` }] };

/** A context of memoryd, up to the line that ends it. The program writes further texts before and behind it. */
const CONTEXT = /^(?:SessionStart|UserPromptSubmit) hook additional context: (.*?\n<\/memories>$)/gms;

/** Waits for MCP servers before the first turn, and defers their tools. */
export const claudeCode: AgentProgram = {
  command: 'claude',
  name: 'claude-code',
  getFiles: ({ servers, hasOwnHook }) => ({
    'project/.mcp.json': JSON.stringify({
      mcpServers: Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, toEntry(server)])),
    }),
    ...(hasOwnHook && {
      '.claude/settings.json': `${JSON.stringify({ cleanupPeriodDays: 30, hooks: { UserPromptSubmit: [OWN_HOOK] } })}\n`,
      '.claude.json': JSON.stringify({ mcpServers: {}, numStartups: 3 }, undefined, 4),
    }),
  }),
  getEnvironment: ({ modelUrl }) => ({
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: 'none',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    MCP_TIMEOUT: String(START_TIMEOUT_MS),
  }),
  getArguments: (prompt, { servers }, session = 'new') => [
    ...['-p', prompt, '--mcp-config', '.mcp.json'],
    ...(session === 'new' ? [] : ['--continue']),
    ...(session === 'forked' ? ['--fork-session'] : []),
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
  getContexts: (parts) =>
    parts
      .filter(({ role }) => role === 'system')
      .flatMap(({ text }) => [...text.matchAll(CONTEXT)].map(([, context = '']) => context)),
};

function toEntry(server: McpServer): object {
  return { type: 'url' in server ? 'http' : 'stdio', ...server };
}
