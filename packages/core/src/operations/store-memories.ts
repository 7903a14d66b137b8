import {
  type Check,
  createCheck,
  DEFAULTS,
  formatCount,
  invalidRequest,
  isStorable,
  LIMITS,
  MemoryError,
  type RedactedSecrets,
  type SimilarMemory,
  type StoreBatchRequest,
  type StoreBatchResponse,
  type StoreBatchResult,
  type StoreFields,
  type StoreOptions,
  StoreRequest,
  type StoreResponse,
  withoutNullFields,
} from '@memoryd/contract';
import type { Embedding } from '../ports/embedder.ts';
import type { Redactor } from '../ports/redactor.ts';
import { importUndone } from '../ports/storage-imports.ts';
import type { ChangedFields, NewMemory, StoreOutcome } from '../ports/storage-memories.ts';
import type { OverQuota } from '../ports/storage-namespaces.ts';
import { CHUNK_CHARS, CHUNK_MEMORIES } from '../record-size.ts';
import { getRequestDigest } from '../request-digest.ts';
import { assertOwnerGiven } from '../request-filter.ts';
import { toMs, toMsOrNull } from '../time.ts';
import { isPeriod } from '../validity.ts';
import type { Core } from './core.ts';
import { acceptRequest, type Redacted } from './redact.ts';
import { assertBatchSearchable, findSimilar, getSimilarCount, type SimilarTo } from './similar.ts';

const checkOne = createCheck(StoreRequest, 'body');
const checkBatchItem = createCheck(StoreRequest, 'memory');

/** See `MemoryApi.store`. */
export async function store(
  core: Core,
  namespace: string,
  request: StoreRequest,
  options: StoreOptions = {},
): Promise<StoreResponse> {
  const { request: accepted, redacted } = acceptStore(core, checkOne, request);
  const key = getIdempotencyKey(options);
  const count = getSimilarCount(options);
  const memory = toNewMemory(core, namespace, accepted, core.arrivals.now());
  if (key !== undefined) memory.idempotency = { key, digest: getRequestDigest(accepted) };
  const stored = await core.storage.store(memory);
  const embeddings = await announce(core, namespace, [memory], [stored], [redacted]);
  const response = toResponse(stored, memory, redacted);
  if (count === undefined) return response;
  const similarTo = toSimilarTo(core, response, { memory, outcome: stored, embeddings });
  return withSimilar(response, await findSimilar(core, similarTo, count));
}

/**
 * Stores a memory for a caller that cannot wait for its vectors. Resolves when the memory is on disk. If the owner has a
 * memory with the external id, changes only the given fields that are in `changeable`.
 *
 * @param embedAfter the text is embedded once this resolves, so that it does not delay a more urgent call of the model
 */
export async function storeAtOnce(
  core: Core,
  namespace: string,
  request: StoreRequest,
  changeable: readonly (keyof ChangedFields)[],
  embedAfter?: Promise<void>,
): Promise<StoreResponse> {
  const { request: accepted, redacted } = acceptStore(core, checkOne, request);
  const memory = toNewMemory(core, namespace, accepted, core.arrivals.now());
  memory.given &&= memory.given.filter((field) => changeable.includes(field));
  const stored = await core.storage.store(memory);
  // The queue never rejects, and also finds the text on disk.
  void announce(core, namespace, [memory], [stored], [redacted], embedAfter);
  return toResponse(stored, memory, redacted);
}

function withSimilar(response: StoreResponse, similar: SimilarMemory[] | undefined): StoreResponse {
  return { ...response, ...(similar && { similar }) };
}

/** See `acceptRequest`. */
export function acceptStore(
  { redactor }: { redactor?: Redactor | undefined },
  check: Check,
  request: StoreRequest,
): Redacted<StoreFields> {
  const accepted = acceptRequest(redactor, check, request);
  assertOwnerGiven(accepted.request as StoreFields);
  return { ...accepted, request: withoutNullFields(StoreRequest, accepted.request) as StoreFields };
}

/** Returns the memory for a valid request. Throws INVALID_REQUEST for times outside the supported years. */
export function toNewMemory(
  core: Pick<Core, 'ids'>,
  namespace: string,
  request: StoreFields,
  arrivedAt: number,
): NewMemory {
  const createdAt = request.created_at === undefined ? arrivedAt : toMs(request.created_at, 'created_at');
  const validity = {
    validFrom: toMsOrNull(request.valid_from, 'valid_from'),
    validTo: toMsOrNull(request.valid_to, 'valid_to'),
  };
  if (!isPeriod({ createdAt, ...validity })) throw invalidPeriod();
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
    ...(request.attachment !== undefined && { attachment: request.attachment }),
    externalId: request.external_id ?? null,
    ...(request.external_id !== undefined && { given: getGiven(request) }),
    createdAt,
    storedAt: arrivedAt,
    expiresAt: toMsOrNull(request.expires_at, 'expires_at'),
    ...validity,
    supersedes: request.supersedes ?? null,
  };
}

/** The request field of each field that a store with the external id of an existing memory can change. */
const GIVEN_FIELDS = {
  content: 'content',
  tags: 'tags',
  importance: 'importance',
  source: 'source',
  sessionId: 'session_id',
  metadata: 'metadata',
  attachment: 'attachment',
  createdAt: 'created_at',
  expiresAt: 'expires_at',
  validFrom: 'valid_from',
  validTo: 'valid_to',
  supersedes: 'supersedes',
} as const satisfies Record<keyof ChangedFields, keyof StoreFields>;

function getGiven(request: StoreFields): (keyof ChangedFields)[] {
  const fields = Object.entries(GIVEN_FIELDS) as [keyof ChangedFields, keyof StoreFields][];
  return fields.flatMap(([field, name]) => (request[name] === undefined ? [] : [field]));
}

/** The embeddings of stored and changed memories that were computed in time, by ordinal. */
type Embeddings = ReadonlyMap<number, Embedding | undefined>;

/**
 * Publishes the events of stored and changed memories, and embeds their texts.
 *
 * @param redactions the secrets that were removed from each memory
 */
async function announce(
  core: Core,
  namespace: string,
  memories: readonly NewMemory[],
  outcomes: readonly StoreOutcome[],
  redactions: readonly (RedactedSecrets[] | undefined)[],
  embedAfter?: Promise<void>,
): Promise<Embeddings> {
  const { stored, updated } = publishStores(core, namespace, memories, outcomes, redactions);
  if (embedAfter) await embedAfter;
  const changed = updated.flatMap(({ embedding, ordinal }) => (embedding ? [ordinal] : []));
  const [ofStored = [], ...ofChanged] = await Promise.all([
    core.embedding?.stored(stored.map(({ memory, ordinal }) => ({ ordinal, revision: 1, content: memory.content }))),
    ...changed.map((ordinal) => core.embedding?.changed(ordinal)),
  ]);
  return new Map([
    ...stored.map(({ ordinal }, i) => [ordinal, ofStored[i]] as const),
    ...changed.map((ordinal, i) => [ordinal, ofChanged[i]] as const),
  ]);
}

/** Publishes the events of stored and changed memories, and returns these memories. See `announce`. */
export function publishStores(
  core: Pick<Core, 'events'>,
  namespace: string,
  memories: readonly NewMemory[],
  outcomes: readonly StoreOutcome[],
  redactions: readonly (RedactedSecrets[] | undefined)[],
) {
  const pairs = memories.map((memory, i) => ({ memory, result: outcomes[i] as StoreOutcome, redacted: redactions[i] }));
  const stored = pairs.flatMap(({ memory, result, redacted }) =>
    result.outcome === 'stored' ? [{ memory, ...result, redacted }] : [],
  );
  const updated = pairs.flatMap(({ memory, result }) =>
    result.outcome === 'updated' ? [{ ...memory, ...result, ...result.before }] : [],
  );
  core.events.publishMemories(
    namespace,
    'stored',
    stored.map(({ memory, redacted }) => {
      return { ...memory, tier: 'working' as const, updatedAt: memory.storedAt, redacted };
    }),
  );
  core.events.publishMemories(namespace, 'updated', updated);
  return { stored, updated };
}

/** Returns the memory of a response, with the vector of its text if the store has embedded the text. */
function toSimilarTo(
  core: Core,
  { id }: StoreResponse,
  { memory, outcome, embeddings }: { memory: NewMemory; outcome: StoreOutcome; embeddings: Embeddings },
): SimilarTo {
  const isEmbedded = 'ordinal' in outcome && embeddings.has(outcome.ordinal);
  return {
    id,
    memory,
    ...(isEmbedded && { vector: core.embedding?.toQueryVector(memory.content, embeddings.get(outcome.ordinal)) }),
    ...(outcome.outcome === 'repeated' && { repeats: outcome.at }),
  };
}

/** Creates the INVALID_REQUEST error for a memory that would end before it begins. */
export function invalidPeriod(): MemoryError {
  const message = 'valid_to must be later than valid_from, which is created_at unless it is given';
  return invalidRequest([{ path: '/valid_to', message }]);
}

/** Returns the response for a stored memory. Throws the error for a memory that was not stored. */
export function toResponse(stored: StoreOutcome, memory: NewMemory, redacted?: RedactedSecrets[]): StoreResponse {
  const respond = (id: string, created: boolean): StoreResponse => ({
    id,
    status: 'stored',
    ...(memory.externalId !== null && { created }),
    ...(redacted && { redacted }),
  });
  switch (stored.outcome) {
    case 'stored':
      return respond(memory.id, true);
    case 'updated':
    case 'unchanged':
      return respond(stored.id, false);
    case 'repeated':
      return respond(stored.id, stored.created);
    case 'no-period':
      throw invalidPeriod();
    case 'superseding-itself':
      throw supersedingItself();
    case 'conflict':
      throw new MemoryError('CONFLICT', 'the idempotency key was already used with a different request; use a new key');
    case 'over-quota':
      throw quotaExceeded(stored);
    case 'superseded-unknown':
      throw supersededUnknown();
    case 'import-undone':
      throw importUndone();
  }
}

/** Creates the CONFLICT error for a memory that would supersede itself, directly or through others, or its own source. */
export function supersedingItself(): MemoryError {
  const message =
    'supersedes must not name a memory that supersedes this one, or from which this one was distilled; name another memory';
  return new MemoryError('CONFLICT', message, { details: [{ path: '/supersedes', message }] });
}

/** Creates the NOT_FOUND error for a memory that would supersede an unknown memory. */
export function supersededUnknown(): MemoryError {
  const message = 'supersedes must be the id of a memory of the same user and agent';
  return new MemoryError('NOT_FOUND', message, { details: [{ path: '/supersedes', message }] });
}

/** Creates the FORBIDDEN error, whose message names the quota and explains how to free space or raise the quota. */
export function quotaExceeded({ holder, of, limit }: OverQuota): MemoryError {
  const quota = of === 'memories' ? formatCount(limit, 'memory', 'memories') : `${formatCount(limit, 'byte')} of text`;
  return new MemoryError(
    'FORBIDDEN',
    `the quota of the ${holder} (${quota}) would be exceeded: forget memories, or ask an operator to raise the quota ` +
      `(memoryd ${holder === 'user' ? 'users quota USER' : 'namespaces quota NAME'} --${of} N)`,
  );
}

/**
 * Returns the idempotency key, if any. Throws INVALID_REQUEST for a key that is empty, too long or cannot be stored.
 */
function getIdempotencyKey({ idempotencyKey: key }: StoreOptions): string | undefined {
  if (key === undefined) return undefined;
  const length = [...key].length;
  const isGoodLength = length >= 1 && length <= LIMITS.idempotencyKeyChars;
  if (isGoodLength && isStorable(key)) return key;
  const must = isGoodLength
    ? 'not contain U+0000 or a lone surrogate'
    : `be a string of 1 to ${LIMITS.idempotencyKeyChars} characters`;
  throw invalidRequest([{ path: '/Idempotency-Key', message: `Idempotency-Key must ${must}` }]);
}

/** See `MemoryApi.storeBatch`. */
export async function storeBatch(
  core: Core,
  namespace: string,
  requests: StoreBatchRequest,
  options: StoreOptions = {},
): Promise<StoreBatchResponse> {
  assertBatch(requests);
  const count = getSimilarCount(options);
  if (count !== undefined) assertBatchSearchable(requests);
  const batch: Batch = { namespace, key: getIdempotencyKey(options), arrivedAt: core.arrivals.now() };
  const chunks: Promise<BatchItem[]>[] = [];
  for (const chunk of splitIntoChunks(requests)) {
    // Prepares a chunk while the previous chunk is written. Chunks are written in order, because several memories may have
    // the same external id.
    const items = acceptChunk(core, batch, chunk);
    chunks.push(storeChunk(core, batch, chunk, items));
    await chunks.at(-2);
  }
  const items = (await Promise.all(chunks)).flat();
  const results = count === undefined ? items.map(({ result }) => result) : await addSimilar(core, items, count);
  const failed = results.filter((result) => 'error' in result).length;
  return { results, stored_count: results.length - failed, failed_count: failed };
}

/** The result for one memory of a batch, and the memory if it was stored. */
interface BatchItem {
  result: StoreBatchResult;
  similarTo?: SimilarTo;
}

/**
 * Adds similar memories to the results, until they reach the maximum size of a response. One memory after the other, so
 * that recalls of others run in between, and after the whole batch is stored, so that the memories of the batch are found
 * too.
 */
async function addSimilar(core: Core, items: readonly BatchItem[], count: number): Promise<StoreBatchResult[]> {
  let bytesLeft = core.maxAnswerBytes;
  const results: StoreBatchResult[] = [];
  for (const { result, similarTo } of items) {
    const similar = similarTo && bytesLeft > 0 ? await findSimilar(core, similarTo, count) : undefined;
    if (similar) bytesLeft -= Buffer.byteLength(JSON.stringify(similar));
    results.push('error' in result ? result : withSimilar(result, bytesLeft < 0 ? undefined : similar));
  }
  return results;
}

// Checks the batch as a whole. The memories are checked one by one later, so that an invalid memory does not affect the
// others.
function assertBatch(requests: unknown): void {
  if (Array.isArray(requests) && requests.length <= LIMITS.batchItems) return;
  const message = `body must be an array of at most ${LIMITS.batchItems} memories to store`;
  throw invalidRequest([{ path: '', message }]);
}

/**
 * The values that all memories of a batch share. All memories have the same time of storing, and are stored in the
 * order of the batch.
 */
interface Batch {
  namespace: string;
  key: string | undefined;
  arrivedAt: number;
}

/** A part of a batch, and the index of its first memory. */
interface Chunk {
  start: number;
  requests: StoreRequest[];
}

function* splitIntoChunks(requests: StoreBatchRequest): Iterable<Chunk> {
  let chunk: Chunk = { start: 0, requests: [] };
  let chars = 0;
  for (const [place, request] of requests.entries()) {
    chunk.requests.push(request);
    // The request has not been checked yet and may be any value.
    const { content, attachment } = (request ?? {}) as { content?: unknown; attachment?: unknown };
    for (const text of [content, attachment]) if (typeof text === 'string') chars += text.length;
    if (chunk.requests.length < CHUNK_MEMORIES && chars < CHUNK_CHARS) continue;
    yield chunk;
    chunk = { start: place + 1, requests: [] };
    chars = 0;
  }
  if (chunk.requests.length > 0) yield chunk;
}

/** An accepted memory, and its redacted request. */
interface AcceptedItem extends Redacted<StoreFields> {
  memory: NewMemory;
}

/** Checks the memories of a part of a batch. Returns the MemoryError of each refused memory in its place. */
function acceptChunk(core: Core, batch: Batch, { start, requests }: Chunk): (AcceptedItem | MemoryError)[] {
  const items = requests.map((request) => catchMemoryError(() => acceptItem(core, batch, request)));
  if (batch.key !== undefined) addIdempotencyKeys(items, (i) => `${batch.key}\n${start + i}`);
  return items;
}

/**
 * Stores a part of a batch. A MemoryError of one memory becomes the result of that memory; a failure of the write
 * becomes the result of all memories.
 */
async function storeChunk(
  core: Core,
  { namespace }: Batch,
  { start }: Chunk,
  items: readonly (AcceptedItem | MemoryError)[],
): Promise<BatchItem[]> {
  const stored = (await storeItems(core, namespace, items.filter(isAccepted))).values();
  return items.map((item, i) => {
    const outcome = isAccepted(item) ? (stored.next().value as StoredItem | MemoryError) : item;
    return outcome instanceof MemoryError ? { result: toErrorResult(outcome, start + i) } : outcome;
  });
}

type StoredItem = Required<BatchItem>;

function isAccepted(item: AcceptedItem | MemoryError): item is AcceptedItem {
  return !(item instanceof MemoryError);
}

function acceptItem(core: Core, { namespace, arrivedAt }: Batch, request: StoreRequest): AcceptedItem {
  const accepted = acceptStore(core, checkBatchItem, request);
  return { ...accepted, memory: toNewMemory(core, namespace, accepted.request, arrivedAt) };
}

// A key from a header contains no line break, so the keys of batch items cannot equal the key of a single store.
function addIdempotencyKeys(items: (AcceptedItem | MemoryError)[], getKey: (place: number) => string): void {
  for (const [i, item] of items.entries()) {
    if (isAccepted(item)) item.memory.idempotency = { key: getKey(i), digest: getRequestDigest(item.request) };
  }
}

async function storeItems(
  core: Core,
  namespace: string,
  accepted: AcceptedItem[],
): Promise<(StoredItem | MemoryError)[]> {
  if (accepted.length === 0) return [];
  const memories = accepted.map(({ memory }) => memory);
  let outcomes: StoreOutcome[];
  try {
    const storing = core.storage.storeMany(memories);
    core.embedding?.yieldTo(storing);
    outcomes = await storing;
  } catch (error) {
    const failure = reportFailure(core, memories.length, error);
    return memories.map(() => failure);
  }
  const redactions = accepted.map(({ redacted }) => redacted);
  const embeddings = await announce(core, namespace, memories, outcomes, redactions);
  return accepted.map(({ memory, redacted }, i) =>
    catchMemoryError(() => {
      const outcome = outcomes[i] as StoreOutcome;
      const result = toResponse(outcome, memory, redacted);
      return { result, similarTo: toSimilarTo(core, result, { memory, outcome, embeddings }) };
    }),
  );
}

export function catchMemoryError<T>(make: () => T): T | MemoryError {
  try {
    return make();
  } catch (error) {
    if (error instanceof MemoryError) return error;
    throw error;
  }
}

function reportFailure(core: Core, memories: number, error: unknown): MemoryError {
  const isExpected = error instanceof MemoryError;
  const level = isExpected ? 'warn' : 'error';
  core.telemetry.report({ level, component: 'storage', event: 'chunk_not_stored', facts: { memories }, error });
  return isExpected ? error : new MemoryError('INTERNAL_ERROR', 'server error; see the server log', { cause: error });
}

/** Returns the error of one memory. The index in the batch is prefixed to the paths of its details. */
function toErrorResult({ body }: MemoryError, place: number): StoreBatchResult {
  const details = body.details?.map(({ path, message }) => ({ path: `/${place}${path}`, message }));
  return { error: { ...body, ...(details && { details }) } };
}
