import {
  assertValid,
  checkOf,
  HistoryRequest,
  type HistoryResponse,
  type MemoryText as TextAnswer,
} from '@memoryd/contract';
import type { MemoryText } from '../ports/storage-memories.ts';
import type { Core } from './core.ts';
import { numberCursors } from './cursor.ts';
import { assertMemoryId, memoryNotFound } from './memories.ts';
import { pageRequest } from './page-request.ts';
import { toMs, toTimestamp, toTimestampOrNull } from './timestamp.ts';

const check = checkOf(HistoryRequest, 'request');
const cursors = numberCursors('history');

/** See `MemoryApi.history`. */
export async function history(
  core: Core,
  namespace: string,
  memoryId: string,
  request: HistoryRequest = {},
): Promise<HistoryResponse> {
  assertValid(check, request);
  const now = core.clock.now();
  const asked = pageRequest(core, request, cursors);
  assertMemoryId(memoryId);
  if (request.as_of !== undefined) {
    const text = await core.storage.textAt(namespace, memoryId, toMs(request.as_of, 'as_of'), now);
    if (!text) throw memoryNotFound();
    return { id: memoryId, texts: [toAnswer(text)], total: 1 };
  }
  const page = await core.storage.history(namespace, memoryId, asked, now);
  if (!page) throw memoryNotFound();
  return {
    id: memoryId,
    texts: page.items.map(toAnswer),
    total: page.total,
    ...(page.next !== undefined && { next_cursor: cursors.write(core.seal, page.next) }),
  };
}

function toAnswer({ revision, content, heldFrom, heldUntil }: MemoryText): TextAnswer {
  return { revision, content, held_from: toTimestamp(heldFrom), held_until: toTimestampOrNull(heldUntil) };
}
