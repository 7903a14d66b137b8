import type { MemoryApi } from '../api.ts';
import type { SessionRequest, SessionResponse } from '../session.ts';

/** Maximum JSON size of a list in a tool result, close to the token limit of common MCP clients. */
const MAX_LIST_BYTES = 128 * 1024;

const encoder = new TextEncoder();

/** Returns the longest prefix whose items are at most 128 KiB as JSON, but at least the first item. */
export function firstThatFit<Item>(items: readonly Item[]): Item[] {
  let bytes = 0;
  const end = items.findIndex((item, index) => {
    bytes += encoder.encode(JSON.stringify(item)).length;
    return index > 0 && bytes > MAX_LIST_BYTES;
  });
  return items.slice(0, end < 0 ? items.length : end);
}

/**
 * Fetches a page of a session that fits into a tool result. The `next_cursor` continues after the last returned memory.
 */
export async function sessionPage(api: MemoryApi, request: SessionRequest): Promise<SessionResponse> {
  const page = await api.session(request);
  const fitting = firstThatFit(page.memories).length;
  return fitting === page.memories.length ? page : api.session({ ...request, limit: fitting });
}
