import {
  type Check,
  counted,
  createCheck,
  DEFAULTS,
  invalidRequest,
  isKeepable,
  LIMITS,
  MemoryError,
  type RedactedSecrets,
  type StoreBatchRequest,
  type StoreBatchResponse,
  type StoreBatchResult,
  type StoreFields,
  type StoreOptions,
  StoreRequest,
  type StoreResponse,
  withoutNulls,
} from '@memoryd/contract';
import type { NewMemory, StoreOutcome } from '../ports/storage-memories.ts';
import type { OverQuota } from '../ports/storage-namespaces.ts';
import type { Core } from './core.ts';
import { assertOwnerGiven } from './owner-request.ts';
import { CHUNK_CHARS, CHUNK_MEMORIES } from './record-size.ts';
import { acceptRequest, type Redacted } from './redact.ts';
import { toMs, toMsOrNull } from './time.ts';

const checkOne = createCheck(StoreRequest, 'body');
const checkOfBatch = createCheck(StoreRequest, 'memory');

/** See `MemoryApi.store`. */
export async function store(
  core: Core,
  namespace: string,
  request: StoreRequest,
  options: StoreOptions = {},
): Promise<StoreResponse> {
  const { request: accepted, redacted } = acceptStore(core, checkOne, request);
  const key = checkedKey(options);
  const memory = newMemory(core, namespace, accepted, core.arrivals.now());
  if (key !== undefined) memory.idempotency = { key, digest: await requestDigest(accepted) };
  const stored = await core.storage.store(memory);
  if (stored.outcome === 'stored') {
    core.events.publishMemories(namespace, 'stored', [memory]);
    await core.embedding?.stored([{ ordinal: stored.ordinal, revision: 1, content: memory.content }]);
  }
  return toAnswer(stored, memory, redacted);
}

/** See `acceptRequest`. */
function acceptStore({ redactor }: Core, check: Check, request: StoreRequest): Redacted<StoreFields> {
  const accepted = acceptRequest(redactor, check, request);
  assertOwnerGiven(accepted.request as StoreFields);
  return { ...accepted, request: withoutNulls(accepted.request) };
}

/** The memory that a valid request asks to keep. INVALID_REQUEST for times outside the years that can be written. */
function newMemory(core: Core, namespace: string, request: StoreFields, arrivedAt: number): NewMemory {
  return {
    namespace,
    id: core.ids.next(),
    content: request.content,
    tags: [...new Set(request.tags ?? [])],
    importance: request.importance ?? DEFAULTS.importance,
    source: request.source ?? DEFAULTS.source,
    sessionId: request.session_id ?? DEFAULTS.sessionId,
    userId: request.user_id ?? '',
    agentId: request.agent_id ?? '',
    metadata: request.metadata ?? {},
    createdAt: request.created_at === undefined ? arrivedAt : toMs(request.created_at, 'created_at'),
    storedAt: arrivedAt,
    expiresAt: toMsOrNull(request.expires_at, 'expires_at'),
    supersedes: request.supersedes ?? null,
  };
}

/** What a caller is answered; throws where the memory was not kept. */
function toAnswer(stored: StoreOutcome, memory: NewMemory, redacted?: RedactedSecrets[]): StoreResponse {
  switch (stored.outcome) {
    case 'stored':
      return { id: memory.id, status: 'stored', ...(redacted && { redacted }) };
    case 'repeated':
      return { id: stored.id, status: 'stored', ...(redacted && { redacted }) };
    case 'conflict':
      throw new MemoryError('CONFLICT', 'the idempotency key was used with another request');
    case 'over-quota':
      throw quotaExceeded(stored);
    case 'superseded-unknown':
      throw new MemoryError('NOT_FOUND', 'supersedes must be the id of a memory of the same user and agent', {
        details: [{ path: '/supersedes', message: 'supersedes must be the id of a memory of the same user and agent' }],
      });
  }
}

/** Returns FORBIDDEN, naming the quota and what makes room. */
export function quotaExceeded({ holder, of, most }: OverQuota): MemoryError {
  const quota = of === 'memories' ? counted(most, 'memory', 'memories') : `${counted(most, 'byte')} of text`;
  return new MemoryError(
    'FORBIDDEN',
    `the quota of the ${holder}, ${quota}, leaves no room for this: forget memories, or have an operator raise it ` +
      `(memoryd ${holder === 'user' ? 'users quota USER' : 'namespaces quota NAME'} --${of} N)`,
  );
}

/** The idempotency key, where there is one. INVALID_REQUEST when it is empty, too long or cannot be kept. */
function checkedKey({ idempotencyKey: key }: StoreOptions): string | undefined {
  if (key === undefined) return undefined;
  const length = [...key].length;
  const isGoodLength = length >= 1 && length <= LIMITS.idempotencyKeyChars;
  if (isGoodLength && isKeepable(key)) return key;
  const must = isGoodLength
    ? 'not contain U+0000 or a lone surrogate'
    : `be a string of 1 to ${LIMITS.idempotencyKeyChars} characters`;
  throw invalidRequest([{ path: '/Idempotency-Key', message: `Idempotency-Key must ${must}` }]);
}

/** Returns the SHA-256 of a request in hexadecimal, the same however the fields of its objects are ordered. */
export async function requestDigest(request: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(request, sortFields));
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function sortFields(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** See `MemoryApi.storeBatch`. */
export async function storeBatch(
  core: Core,
  namespace: string,
  requests: StoreBatchRequest,
  options: StoreOptions = {},
): Promise<StoreBatchResponse> {
  assertBatch(requests);
  const batch: Batch = { namespace, key: checkedKey(options), arrivedAt: core.arrivals.now() };
  const chunks: Promise<StoreBatchResult[]>[] = [];
  for (const chunk of splitIntoChunks(requests)) {
    chunks.push(storeChunk(core, batch, chunk));
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

/** What all memories of a batch share. They arrive at the same time, and stand in the order of the batch. */
interface Batch {
  namespace: string;
  key: string | undefined;
  arrivedAt: number;
}

/** Some memories of a batch, and the place in it of the first. */
interface Chunk {
  start: number;
  requests: StoreRequest[];
}

function* splitIntoChunks(requests: StoreBatchRequest): Iterable<Chunk> {
  let chunk: Chunk = { start: 0, requests: [] };
  let chars = 0;
  for (const [place, request] of requests.entries()) {
    chunk.requests.push(request);
    // It has not been checked yet, so it may be anything.
    const content: unknown = (request as Partial<StoreRequest> | null | undefined)?.content;
    if (typeof content === 'string') chars += content.length;
    if (chunk.requests.length < CHUNK_MEMORIES && chars < CHUNK_CHARS) continue;
    yield chunk;
    chunk = { start: place + 1, requests: [] };
    chars = 0;
  }
  if (chunk.requests.length > 0) yield chunk;
}

/** A memory that is to be kept, and the request for it, without the secrets that were in it. */
interface Wanted extends Redacted<StoreFields> {
  memory: NewMemory;
}

/** Never rejects: what goes wrong is told in the results. */
async function storeChunk(core: Core, batch: Batch, { start, requests }: Chunk): Promise<StoreBatchResult[]> {
  const { namespace, key } = batch;
  const items = requests.map((request) => orRefused(() => readItem(core, batch, request)));
  if (key !== undefined) await nameItems(items, (i) => `${key}\n${start + i}`);
  const kept = (await keepItems(core, namespace, items.filter(isWanted))).values();
  return items.map((item, i) => {
    const outcome = isWanted(item) ? (kept.next().value as StoreResponse | MemoryError) : item;
    return outcome instanceof MemoryError ? refusal(outcome, start + i) : outcome;
  });
}

function isWanted(item: Wanted | MemoryError): item is Wanted {
  return !(item instanceof MemoryError);
}

function readItem(core: Core, { namespace, arrivedAt }: Batch, request: StoreRequest): Wanted {
  const accepted = acceptStore(core, checkOfBatch, request);
  return { ...accepted, memory: newMemory(core, namespace, accepted.request, arrivedAt) };
}

// A line end is in no key that comes as a header, so no store of its own has such a key.
async function nameItems(items: (Wanted | MemoryError)[], getKey: (place: number) => string): Promise<void> {
  const naming = items.map(async (item, i) => {
    if (isWanted(item)) item.memory.idempotency = { key: getKey(i), digest: await requestDigest(item.request) };
  });
  await Promise.all(naming);
}

async function keepItems(core: Core, namespace: string, wanted: Wanted[]): Promise<(StoreResponse | MemoryError)[]> {
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
  const stored = memories.flatMap((memory, i) => {
    const outcome = outcomes[i];
    if (outcome?.outcome !== 'stored') return [];
    return [{ memory, pending: { ordinal: outcome.ordinal, revision: 1, content: memory.content } }];
  });
  core.events.publishMemories(
    namespace,
    'stored',
    stored.map(({ memory }) => memory),
  );
  await core.embedding?.stored(stored.map(({ pending }) => pending));
  return wanted.map(({ memory, redacted }, i) =>
    orRefused(() => toAnswer(outcomes[i] as StoreOutcome, memory, redacted)),
  );
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
  const isExpected = error instanceof MemoryError;
  const level = isExpected ? 'warn' : 'error';
  core.telemetry.report({ level, component: 'storage', event: 'chunk_not_stored', facts: { memories }, error });
  return isExpected ? error : new MemoryError('INTERNAL_ERROR', 'server error; the log tells more', { cause: error });
}

/** The error of one memory, its details led to by the place in the batch. */
function refusal({ body }: MemoryError, place: number): StoreBatchResult {
  const details = body.details?.map(({ path, message }) => ({ path: `/${place}${path}`, message }));
  return { error: { ...body, ...(details && { details }) } };
}
