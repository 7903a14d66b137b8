import {
  assertValid,
  createCheck,
  formatCount,
  ImportedText,
  ImportTextsRequest,
  type ImportTextsResponse,
  LIMITS,
  MemoryError,
  type OwnScopeRequest,
  type RedactedSecrets,
  type StoreFields,
} from '@memoryd/contract';
import type { Owner } from '@memoryd/search';
import type { ImportProgress } from '../event-log.ts';
import { importUndone } from '../ports/storage-imports.ts';
import type { ChangedFields, ImportMark, NewMemory, StoreOutcome } from '../ports/storage-memories.ts';
import { CHUNK_CHARS, CHUNK_MEMORIES, countNewChars } from '../record-size.ts';
import { getRequestDigest } from '../request-digest.ts';
import { assertOwnerGiven } from '../request-filter.ts';
import { withPauses } from '../time.ts';
import { beginImport } from './begin-import.ts';
import type { Core } from './core.ts';
import { withScope } from './import-memories.ts';
import { acceptStore, catchMemoryError, publishStores, toNewMemory, toResponse } from './store-memories.ts';

/** Minimum time between two events with the progress of an import, in ms. */
const PROGRESS_INTERVAL_MS = 500;

/** Fields that a repeat clears if the text no longer has them, because the source has removed them. */
const CLEARED_FIELDS = [
  'tags',
  'metadata',
  'expiresAt',
  'validFrom',
  'validTo',
] as const satisfies (keyof ChangedFields)[];

const checkRequest = createCheck(ImportTextsRequest, 'request');
const checkText = createCheck(ImportedText, 'text');

/** See `MemoryApi.importTexts`. */
export async function importTexts(
  core: Core,
  namespace: string,
  texts: AsyncIterable<ImportedText>,
  request: ImportTextsRequest,
): Promise<ImportTextsResponse> {
  assertValid(checkRequest, request);
  assertOwnerGiven(request);
  const { id, leave } = await beginImport(core, namespace, request);
  try {
    return await new TextImport(core, namespace, id, request).run(texts);
  } finally {
    leave();
  }
}

/** A text of a chunk, or the reason for its refusal. */
type ChunkItem = { place: string } & (AcceptedText | { refusal: MemoryError });

type AcceptedFields = StoreFields & Pick<ImportedText, 'aliases' | 'assumed_created_at'>;

/** A text that was accepted, without its secrets. */
interface AcceptedText {
  request: StoreFields;
  aliases: readonly string[];
  memory: NewMemory;
  redacted: RedactedSecrets[] | undefined;
}

/** An accepted text with the mark of its import. */
interface PreparedText extends Pick<AcceptedText, 'aliases' | 'redacted'> {
  place: string;
  memory: NewMemory & { imported: ImportMark };
}

type PreparedItem = PreparedText | Extract<ChunkItem, { refusal: MemoryError }>;

/** One import of texts: the current chunk, the write of the chunk before, and the counts so far. */
class TextImport {
  readonly #core: Core;
  readonly #namespace: string;
  readonly #id: string;
  readonly #scope: OwnScopeRequest;
  readonly #owner: Owner;
  readonly #expected: number | undefined;
  readonly #redactor: Core['redactor'];
  readonly #response: ImportTextsResponse;
  readonly #redacted = new Map<string, number>();
  #number = 0;
  #chunk: ChunkItem[] = [];
  #chars = 0;
  #arrivedAt = 0;
  #writing: Promise<void> = Promise.resolve();
  /** The owners and external ids of the texts that the last prepared chunk may change. */
  #changing: ReadonlySet<string> = new Set();
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(core: Core, namespace: string, id: string, request: ImportTextsRequest) {
    const { user_id, agent_id, expected_count, redact = true } = request;
    this.#core = core;
    this.#namespace = namespace;
    this.#id = id;
    this.#scope = { ...(user_id !== undefined && { user_id }), ...(agent_id !== undefined && { agent_id }) };
    this.#owner = { userId: user_id ?? '', agentId: agent_id ?? '' };
    this.#expected = expected_count;
    this.#redactor = core.redactor ?? (redact ? core.importRedactor : undefined);
    this.#response = {
      import_id: id,
      imported_count: 0,
      updated_count: 0,
      unchanged_count: 0,
      refused_count: 0,
      refused: [],
    };
  }

  async run(texts: AsyncIterable<ImportedText>): Promise<ImportTextsResponse> {
    this.#report('started');
    try {
      await this.#store(texts);
      await this.#core.storage.endImport(this.#namespace, this.#id, this.#core.clock.now());
    } catch (error) {
      this.#report('failed');
      throw this.#toFailure(error);
    }
    this.#report('completed');
    const redacted = Array.from(this.#redacted, ([kind, count]) => ({ kind, count }));
    return { ...this.#response, ...(redacted.length > 0 && { redacted }) };
  }

  async #store(texts: AsyncIterable<ImportedText>): Promise<void> {
    try {
      for await (const text of withPauses(texts)) await this.#take(text);
    } finally {
      // If the source fails, the texts before the failure are stored.
      await this.#flush();
      await this.#writing;
    }
  }

  async #take(text: ImportedText): Promise<void> {
    const number = ++this.#number;
    if (this.#chunk.length === 0) this.#arrivedAt = this.#core.arrivals.now();
    const accepted = catchMemoryError(() => this.#accept(text));
    const place = getPlace(text, number);
    if (accepted instanceof MemoryError) {
      this.#chunk.push({ place, refusal: accepted });
    } else {
      this.#chunk.push({ place, ...accepted });
      this.#chars += countNewChars([accepted.memory]);
    }
    if (this.#chunk.length >= CHUNK_MEMORIES || this.#chars >= CHUNK_CHARS) await this.#flush();
  }

  #accept(text: ImportedText): AcceptedText {
    const owned = withScope(this.#scope, text) as ImportedText;
    const { request: accepted, redacted } = acceptStore({ redactor: this.#redactor }, checkText, owned);
    const { aliases = [], assumed_created_at: assumed, ...request } = accepted as AcceptedFields;
    const timed = { ...(assumed && { created_at: assumed }), ...request };
    const memory = toNewMemory(this.#core, this.#namespace, timed, this.#arrivedAt);
    const given = [...new Set([...(memory.given ?? []), ...CLEARED_FIELDS])];
    return { request, aliases, memory: { ...memory, given }, redacted };
  }

  /** Prepares the chunk while the chunk before is written, then starts to write it. */
  async #flush(): Promise<void> {
    const chunk = this.#chunk;
    if (chunk.length === 0) return;
    this.#chunk = [];
    this.#chars = 0;
    const prepared = chunk.map((item) => this.#prepare(item));
    const [unchanged] = await Promise.all([this.#findUnchanged(prepared.filter(isText)), this.#writing]);
    this.#writing = this.#write(prepared, unchanged);
    // The next flush reports a failure.
    this.#writing.catch(() => {});
  }

  #prepare(item: ChunkItem): PreparedItem {
    if ('refusal' in item) return item;
    const { place, request, aliases, memory, redacted } = item;
    const imported = { importId: this.#id, digest: getDigest(request) };
    return { place, aliases, memory: { ...memory, imported }, redacted };
  }

  async #findUnchanged(texts: readonly PreparedText[]): Promise<ReadonlySet<NewMemory>> {
    if (texts.length === 0) return new Set();
    const names = texts.map(({ aliases, memory: { userId, agentId, externalId, imported } }) => {
      return { userId, agentId, externalId: externalId as string, aliases, digest: imported.digest };
    });
    const isUnchanged = await this.#core.storage.unchangedTexts(this.#namespace, names);
    const unchanged = new Set<NewMemory>();
    const changing = new Set<string>();
    for (const [i, { memory }] of texts.entries()) {
      const name = `${memory.userId}\0${memory.agentId}\0${memory.externalId}`;
      // The read does not show changes by earlier texts of this chunk and of the chunk that is being written.
      if (isUnchanged[i] && !changing.has(name) && !this.#changing.has(name)) unchanged.add(memory);
      else changing.add(name);
    }
    this.#changing = changing;
    return unchanged;
  }

  async #write(chunk: readonly PreparedItem[], unchanged: ReadonlySet<NewMemory>): Promise<void> {
    const changing = chunk.filter(isText).filter(({ memory }) => !unchanged.has(memory));
    const outcomes = await this.#storeAll(changing);
    for (const item of chunk) {
      if ('refusal' in item) this.#refuse(item.place, item.refusal);
      else if (unchanged.has(item.memory)) this.#response.unchanged_count++;
      else this.#count(item, outcomes.get(item.memory) as StoreOutcome);
    }
    if (performance.now() - this.#reportedAt >= PROGRESS_INTERVAL_MS) this.#report('progress');
  }

  async #storeAll(items: readonly PreparedText[]): Promise<ReadonlyMap<NewMemory, StoreOutcome>> {
    if (items.length === 0) return new Map();
    const memories = items.map(({ memory }) => memory);
    const storing = this.#core.storage.storeMany(memories);
    this.#core.embedding?.yieldTo(storing);
    const outcomes = await storing;
    const redactions = items.map(({ redacted }) => redacted);
    const { stored, updated } = publishStores(this.#core, this.#namespace, memories, outcomes, redactions);
    if (stored.length + updated.length > 0) this.#core.embedding?.look();
    return new Map(memories.map((memory, i) => [memory, outcomes[i] as StoreOutcome]));
  }

  #count({ place, memory, redacted }: PreparedText, outcome: StoreOutcome): void {
    if (outcome.outcome === 'unchanged') this.#response.unchanged_count++;
    else if (outcome.outcome === 'stored') this.#response.imported_count++;
    else if (outcome.outcome === 'updated') this.#response.updated_count++;
    else this.#refuseOutcome(place, memory, outcome);
    if (outcome.outcome !== 'stored' && outcome.outcome !== 'updated') return;
    for (const { kind, count } of redacted ?? []) this.#redacted.set(kind, (this.#redacted.get(kind) ?? 0) + count);
  }

  /** Lists a text that could not be stored. Throws CONFLICT if the import was undone, because no other text can be stored. */
  #refuseOutcome(place: string, memory: NewMemory, outcome: StoreOutcome): void {
    if (outcome.outcome === 'import-undone') throw importUndone();
    const error = catchMemoryError(() => toResponse(outcome, memory));
    if (error instanceof MemoryError) this.#refuse(place, error);
  }

  #refuse(place: string, { body }: MemoryError): void {
    this.#response.refused_count++;
    if (this.#response.refused.length < LIMITS.listedRejections) this.#response.refused.push({ place, error: body });
  }

  #report(state: ImportProgress['state']): void {
    this.#reportedAt = performance.now();
    const { imported_count, updated_count, unchanged_count, refused_count } = this.#response;
    this.#core.events.publishImport(this.#namespace, this.#owner, {
      state,
      import_id: this.#id,
      processed_count: imported_count + updated_count + unchanged_count + refused_count,
      ...(this.#expected !== undefined && { expected_count: this.#expected }),
    });
  }

  /** Returns the error of the whole import. Errors of the caller's own texts stay as they are. */
  #toFailure(error: unknown): unknown {
    if (!(error instanceof MemoryError) || error.message === importUndone().message) return error;
    const { imported_count, updated_count, unchanged_count } = this.#response;
    const stored = formatCount(imported_count + updated_count + unchanged_count, 'text is', 'texts are');
    const message = `${error.message}; ${stored} stored; repeat the whole import to continue`;
    const { details } = error.body;
    return new MemoryError(error.code, message, { cause: error, ...(details && { details }) });
  }
}

function getPlace(text: unknown, number: number): string {
  const { external_id: id } = (text ?? {}) as { external_id?: unknown };
  const isId = typeof id === 'string' && id !== '' && id.length <= LIMITS.externalIdChars;
  return isId ? id : `text ${number}`;
}

function isText(item: PreparedItem): item is PreparedText {
  return 'memory' in item;
}

/** Returns the digest of a text and its fields, without owner and external id. A repeat compares this digest. */
function getDigest(request: StoreFields): string {
  const { user_id: _user, agent_id: _agent, external_id: _id, ...fields } = request;
  return getRequestDigest(fields);
}
