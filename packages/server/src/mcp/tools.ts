import { type MemoryApi, MemoryError, type Scope } from '@memoryd/contract';
import { MODEL_TOOLS, TOOLS, type Tool, type ToolCall, toLocalTimes, type View } from '@memoryd/contract/tools';
import type { CallToolResult, Tool as ListedTool } from '@modelcontextprotocol/server';
import { ALL_TOOLS, chooseOffered } from './offer.ts';

/** Kinds of work with limited concurrency. */
export type HeavyKind = 'list' | 'recall' | 'consolidation';

export type ToolName = keyof typeof TOOLS;

/** The tools with limited concurrency, and their kind of work. */
const HEAVY_TOOLS: Partial<Record<ToolName, HeavyKind>> = {
  memory_recall: 'recall',
  memory_store: 'recall',
  memory_session: 'list',
  memory_consolidate: 'consolidation',
};

interface RunOptions {
  /** Maximum size of the arguments as JSON, in bytes. */
  maxBytes: number;
  view: View;
  /** Whether the result also has structured content. */
  structured: boolean;
}

export interface McpTool {
  name: ToolName;
  scope: Scope;
  heavy: HeavyKind | undefined;
  /** Whether a model needs the tool in a conversation. The other tools are for maintenance. */
  isForModels: boolean;
  /** The tool as tools/list shows it. The schema of results is listed only if results have structured content. */
  listed: Omit<ListedTool, 'outputSchema'>;
  outputSchema: NonNullable<ListedTool['outputSchema']>;
  /**
   * Validates the arguments and runs the tool. Times in the result are in the zone of the view.
   *
   * @throws MemoryError of the tool itself, INVALID_REQUEST for invalid arguments, PAYLOAD_TOO_LARGE
   */
  run(api: MemoryApi, args: unknown, call: ToolCall, options: RunOptions): Promise<CallToolResult>;
}

/** Every tool, in listing order. */
export const MCP_TOOLS: readonly McpTool[] = Object.values<Tool<ToolName>>(TOOLS).map(toMcpTool);

/** The tools of a connection that chooses none. */
export const DEFAULT_TOOLS: readonly McpTool[] = MCP_TOOLS.filter(({ isForModels }) => isForModels);

/** The rule of a choice of tools. */
export const TOOLS_MUST = `be ${ALL_TOOLS}, or one or more of ${MCP_TOOLS.map(({ listed }) => listed.name).join(', ')}, separated by commas`;

/** Returns the tools that a text chooses (see `chooseOffered`). Returns undefined if the text breaks `TOOLS_MUST`. */
export function chooseTools(text?: string): readonly McpTool[] | undefined {
  return chooseOffered(MCP_TOOLS, text);
}

function toMcpTool(tool: Tool<ToolName>): McpTool {
  const { name, title, description, scope, hints, input, output } = tool;
  return {
    name,
    scope,
    heavy: HEAVY_TOOLS[name],
    isForModels: Object.hasOwn(MODEL_TOOLS, name),
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
      inputSchema: input as ListedTool['inputSchema'],
    },
    outputSchema: output as McpTool['outputSchema'],
    async run(api, args, call, { maxBytes, view, structured }) {
      // Checked before JSON.stringify, which would overflow the stack on deeply nested arguments.
      tool.check(args);
      if (Buffer.byteLength(JSON.stringify(args)) > maxBytes) {
        const message = `the arguments must be at most ${maxBytes} bytes as JSON; shorten the arguments`;
        throw new MemoryError('PAYLOAD_TOO_LARGE', message);
      }
      const result = await tool.call(api, args, { ...call, timezone: view.zone.name });
      return {
        content: [{ type: 'text', text: tool.text(result, view, args) }],
        ...(structured && {
          structuredContent: toLocalTimes(output, result as Record<string, unknown>, view.zone),
        }),
      };
    },
  };
}
