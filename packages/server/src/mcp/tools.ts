import { type MemoryApi, MemoryError, type Scope } from '@memoryd/contract';
import { TOOLS, type Tool, type ToolCall, toLocalTimes, type View } from '@memoryd/contract/tools';
import type { Tool as ListedTool } from '@modelcontextprotocol/sdk/types.js';

/** Kinds of work with limited concurrency. */
export type HeavyKind = 'list' | 'recall' | 'consolidation';

/** The tools with limited concurrency, and their kind of work. */
const HEAVY_TOOLS = new Map<string, HeavyKind>([
  ['recall', 'recall'],
  ['store', 'recall'],
  ['session', 'list'],
  ['consolidate', 'consolidation'],
]);

export interface McpTool {
  scope: Scope;
  heavy: HeavyKind | undefined;
  listed: ListedTool;
  /**
   * Validates the arguments and runs the tool. Times in the result are in the zone of the view.
   *
   * @param maxBytes maximum size of the arguments as JSON, in bytes
   * @throws MemoryError of the tool itself, INVALID_REQUEST for invalid arguments, PAYLOAD_TOO_LARGE
   */
  run(
    api: MemoryApi,
    args: unknown,
    call: ToolCall,
    options: { maxBytes: number; view: View },
  ): Promise<{ structured: Record<string, unknown>; text: string }>;
}

/** Every tool, in listing order. */
export const MCP_TOOLS: readonly McpTool[] = Object.values(TOOLS).map(toMcpTool);

function toMcpTool(tool: Tool): McpTool {
  const { name, title, description, scope, hints, input, output } = tool;
  return {
    scope,
    heavy: HEAVY_TOOLS.get(name),
    listed: {
      name,
      title,
      description,
      annotations: {
        readOnlyHint: hints.readOnly,
        destructiveHint: hints.destructive,
        idempotentHint: hints.idempotent,
        // The tools access only memoryd's own data.
        openWorldHint: false,
      },
      inputSchema: input,
      outputSchema: output,
    },
    async run(api, args, call, { maxBytes, view }) {
      // Checked before JSON.stringify, which would overflow the stack on deeply nested arguments.
      tool.check(args);
      if (Buffer.byteLength(JSON.stringify(args)) > maxBytes) {
        const message = `the arguments must be at most ${maxBytes} bytes as JSON; shorten the arguments`;
        throw new MemoryError('PAYLOAD_TOO_LARGE', message);
      }
      const result = await tool.call(api, args, { ...call, timezone: view.zone.name });
      // Some clients show a model the structured result instead of the text.
      const structured = toLocalTimes(output, result as Record<string, unknown>, view.zone);
      return { structured, text: tool.text(result, view) };
    },
  };
}
