import { type MemoryApi, MemoryError, type Scope } from '@memoryd/contract';
import { TOOLS, type Tool, type ToolCall } from '@memoryd/contract/tools';
import type { Tool as ListedTool } from '@modelcontextprotocol/sdk/types.js';
import { memoryUri } from './uris.ts';

/** Kinds of work of which only so much is to be done at a time. */
export type HeavyKind = 'list' | 'recall' | 'consolidation';

/** The tools whose work is such, and of which kind. */
const HEAVY = new Map<string, HeavyKind>([
  ['recall', 'recall'],
  ['session', 'list'],
  ['consolidate', 'consolidation'],
]);

/** A verb as clients of the protocol see it. */
export interface McpTool {
  scope: Scope;
  heavy: HeavyKind | undefined;
  listed: ListedTool;
  /**
   * Does the verb.
   *
   * @param maxBytes most that the arguments may take as JSON, as the body of a request may
   * @throws MemoryError as the verb does, INVALID_REQUEST for arguments that the schema refuses, PAYLOAD_TOO_LARGE
   */
  answer(
    api: MemoryApi,
    args: unknown,
    call: ToolCall,
    maxBytes: number,
  ): Promise<{ structured: Record<string, unknown>; text: string }>;
}

/** Every tool, in the order in which they are listed. */
export const MCP_TOOLS: readonly McpTool[] = Object.values(TOOLS).map(toMcpTool);

function toMcpTool(tool: Tool): McpTool {
  const { name, title, description, scope, hints, input, output } = tool;
  return {
    scope,
    heavy: HEAVY.get(name),
    listed: {
      name,
      title,
      description,
      annotations: {
        readOnlyHint: hints.readOnly,
        destructiveHint: hints.destructive,
        idempotentHint: hints.idempotent,
        // Nothing is reached but the memories.
        openWorldHint: false,
      },
      inputSchema: input,
      outputSchema: output,
    },
    async answer(api, args, call, maxBytes) {
      // First, since JSON.stringify would exhaust the stack on what is too deep.
      tool.check(args);
      if (Buffer.byteLength(JSON.stringify(args)) > maxBytes) {
        throw new MemoryError('PAYLOAD_TOO_LARGE', `the arguments may take ${maxBytes} bytes as JSON`);
      }
      const answer = await tool.call(api, args, call);
      return { structured: answer as Record<string, unknown>, text: tool.text(answer, memoryUri) };
    },
  };
}
