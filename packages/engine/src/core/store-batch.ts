import {
  checkOf,
  invalidRequest,
  LIMITS,
  MemoryError,
  type StoreBatchRequest,
  type StoreBatchResponse,
  type StoreBatchResult,
  type StoreOptions,
  StoreRequest,
  type StoreResponse,
} from '@memoryd/contract';
import type { NewMemory, StoreOutcome } from '../ports/storage-memories.ts';
import type { PendingEmbedding } from '../ports/storage-vectors.ts';
import { CHUNK_CHARS, CHUNK_MEMORIES } from './chunk.ts';
import type { Core } from './core.ts';
import { acceptRequest, type Redacted } from './redact.ts';
import { requestDigest } from './request-digest.ts';
import { answerOf, checkedKey, newMemory } from './store.ts';

/** Some memories of a batch, and the place in it of the first. */
interface Chunk {
  start: number;
  requests: StoreRequest[];
}

const check = checkOf(StoreRequest, 'memory');

/** See `MemoryApi.storeBatch`. */
export async function storeBatch(
  core: Core,
  namespace: string,
  requests: StoreBatchRequest,
  options: StoreOptions = {},
): Promise<StoreBatchResponse> {
  assertBatch(requests);
  const key = checkedKey(options);
  const chunks: Promise<StoreBatchResult[]>[] = [];
  for (const chunk of chunksOf(requests)) {
    chunks.push(storeChunk(core, namespace, chunk, key));
    // One is made ready while the one before it is written.
    await chunks.at(-2);
  }
  const results = (await Promise.all(chunks)).flat();
  const failed = results.filter((result) => 'error' in result).length;
  return { results, stored_count: results.length - failed, failed_count: failed };
}

// Only of the batch as a whole: its memories are checked one by one, so that none spoils the others.
function assertBatch(requests: unknown): void {
  if (Array.isArray(requests) && requests.length <= LIMITS.batchItems) return;
  const message = `body must be an array of at most ${LIMITS.batchItems} memories to store`;
  throw invalidRequest([{ path: '', message }]);
}

function* chunksOf(requests: StoreBatchRequest): Iterable<Chunk> {
  let chunk: Chunk = { start: 0, requests: [] };
  let chars = 0;
  for (const [place, request] of requests.entries()) {
    chunk.requests.push(request);
    chars += charsOf(request);
    if (chunk.requests.length < CHUNK_MEMORIES && chars < CHUNK_CHARS) continue;
    yield chunk;
    chunk = { start: place + 1, requests: [] };
    chars = 0;
  }
  if (chunk.requests.length > 0) yield chunk;
}

// It has not been checked yet, so it may be anything.
function charsOf(request: Partial<StoreRequest> | null | undefined): number {
  return typeof request?.content === 'string' ? request.content.length : 0;
}

/** Never rejects: what goes wrong is told in the results. */
async function storeChunk(
  core: Core,
  namespace: string,
  { start, requests }: Chunk,
  key: string | undefined,
): Promise<StoreBatchResult[]> {
  const items = requests.map((request) => readItem(core, namespace, request));
  if (key !== undefined) await nameItems(items, (i) => `${key}\n${start + i}`);
  const kept = (await keepItems(core, namespace, items.filter(isWanted))).values();
  return items.map((item, i) => {
    const outcome = isWanted(item) ? (kept.next().value as Kept) : item;
    return outcome instanceof MemoryError ? refusal(outcome, start + i) : outcome;
  });
}

/** A memory that is to be kept, and the request for it, without the secrets that were in it. */
interface Wanted extends Redacted<StoreRequest> {
  memory: NewMemory;
}

function isWanted(item: Wanted | MemoryError): item is Wanted {
  return !(item instanceof MemoryError);
}

function readItem(core: Core, namespace: string, request: StoreRequest): Wanted | MemoryError {
  return orRefused(() => {
    const accepted = acceptRequest(core.redactor, check, request);
    return { ...accepted, memory: newMemory(core, namespace, accepted.request) };
  });
}

// A line end is in no key that comes as a header, so no store of its own has such a key.
async function nameItems(items: (Wanted | MemoryError)[], keyOf: (place: number) => string): Promise<void> {
  const naming = items.map(async (item, i) => {
    if (isWanted(item)) item.memory.idempotency = { key: keyOf(i), digest: await requestDigest(item.request) };
  });
  await Promise.all(naming);
}

type Kept = StoreResponse | MemoryError;

async function keepItems(core: Core, namespace: string, wanted: Wanted[]): Promise<Kept[]> {
  if (wanted.length === 0) return [];
  const memories = wanted.map(({ memory }) => memory);
  let outcomes: StoreOutcome[];
  try {
    const storing = core.storage.storeMany(memories);
    core.embedding?.giveWayTo(storing);
    outcomes = await storing;
  } catch (error) {
    const refused = reportedRefusal(core, memories.length, error);
    return memories.map(() => refused);
  }
  const stored = memories.filter((_, i) => outcomes[i]?.outcome === 'stored');
  if (stored.length > 0) {
    core.events.publishMemories(
      namespace,
      'stored',
      stored.map(({ id }) => id),
    );
  }
  await core.embedding?.stored(pendingEmbeddings(memories, outcomes));
  return wanted.map(({ memory, redacted }, i) =>
    orRefused(() => answerOf(outcomes[i] as StoreOutcome, memory, redacted)),
  );
}

function pendingEmbeddings(memories: readonly NewMemory[], outcomes: readonly StoreOutcome[]): PendingEmbedding[] {
  return memories.flatMap(({ content }, i) => {
    const outcome = outcomes[i];
    return outcome?.outcome === 'stored' ? [{ ordinal: outcome.ordinal, revision: 1, content }] : [];
  });
}

function orRefused<T>(make: () => T): T | MemoryError {
  try {
    return make();
  } catch (error) {
    if (error instanceof MemoryError) return error;
    throw error;
  }
}

function reportedRefusal(core: Core, memories: number, error: unknown): MemoryError {
  const expected = error instanceof MemoryError;
  core.telemetry.report({
    level: expected ? 'warn' : 'error',
    component: 'storage',
    event: 'chunk_not_stored',
    facts: { memories },
    error,
  });
  return expected ? error : new MemoryError('INTERNAL_ERROR', 'server error; the log tells more', { cause: error });
}

/** The error of one memory, its details led to by the place in the batch. */
function refusal({ body }: MemoryError, place: number): StoreBatchResult {
  const details = body.details?.map(({ path, message }) => ({ path: `/${place}${path}`, message }));
  return { error: { ...body, ...(details && { details }) } };
}
