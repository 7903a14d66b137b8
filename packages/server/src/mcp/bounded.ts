import type { MemoryApi, SessionRequest, SessionResponse } from '@memoryd/contract';

/** Bytes of JSON that a list in an answer may take: about as many tokens as a model's client lets through. */
const MAX_LIST_BYTES = 128 * 1024;

/** The first items that take at most 128 KiB as JSON; at least one, where there is one. */
export function firstThatFit<Item>(items: readonly Item[]): Item[] {
  let bytes = 0;
  const end = items.findIndex((item, index) => {
    bytes += Buffer.byteLength(JSON.stringify(item));
    return index > 0 && bytes > MAX_LIST_BYTES;
  });
  return items.slice(0, end < 0 ? items.length : end);
}

/** A page of a session that fits, with the cursor to what did not. */
export async function sessionPage(api: MemoryApi, request: SessionRequest): Promise<SessionResponse> {
  const page = await api.session(request);
  const fitting = firstThatFit(page.memories).length;
  return fitting === page.memories.length ? page : api.session({ ...request, limit: fitting });
}
