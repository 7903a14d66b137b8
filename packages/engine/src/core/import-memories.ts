import {
  assertValid,
  counted,
  createCheck,
  ExportedDecline,
  ExportedMemory,
  ExportHeader,
  type ImportResponse,
  invalidRequest,
  isBlankLine,
  LIMITS,
  MemoryError,
  OwnScopeRequest,
  UpdateRequest,
} from '@memoryd/contract';
import type { Imported, ImportOutcome, KeptMemory, KeptRecord, WaitingLink } from '../ports/storage-kept.ts';
import type { Core } from './core.ts';
import { assertOwnerGiven } from './owner-request.ts';
import { CHUNK_CHARS, CHUNK_MEMORIES, keptChars } from './record-size.ts';
import { acceptRequest, type Redacted } from './redact.ts';
import { quotaExceeded } from './store-memories.ts';
import { toMs, toMsOrNull } from './time.ts';

/** Links of one import to memories that have not come yet. */
const MAX_WAITING = 500_000;

const checkHeader = createCheck(ExportHeader, 'the first line');
const checkMemory = createCheck(ExportedMemory, 'line');
const checkDecline = createCheck(ExportedDecline, 'line');
const checkScope = createCheck(OwnScopeRequest, 'request');
const checkText = createCheck(UpdateRequest, 'history');

/** A line that came, and its record or why it was refused. */
type Came = { line: number } & ({ record: KeptRecord } | { refusal: MemoryError });

/** What importing needs of the core. */
type ImportParts = Pick<Core, 'storage' | 'events' | 'embedding' | 'redactor'>;

/** See `MemoryApi.importMemories`. */
export async function importMemories(
  core: ImportParts,
  namespace: string,
  lines: AsyncIterable<Uint8Array>,
  scope: OwnScopeRequest = {},
): Promise<ImportResponse> {
  assertValid(checkScope, scope);
  assertOwnerGiven(scope);
  const importing = new Import(core, namespace, scope);
  for await (const line of lines) await importing.take(line);
  return importing.end();
}

/** One import: what of it waits to be written, and what has become of the rest. */
class Import {
  readonly #core: ImportParts;
  readonly #namespace: string;
  readonly #answer: ImportResponse = {
    imported_count: 0,
    unchanged_count: 0,
    refused_count: 0,
    refused: [],
    unlinked_count: 0,
  };
  /** By the id of the memory that they wait for. */
  readonly #waiting = new Map<string, WaitingLink[]>();
  readonly #scope: OwnScopeRequest;
  #waitingCount = 0;
  /** Secrets that were taken out, by their kinds. */
  readonly #redacted = new Map<string, number>();
  #header: ExportHeader | undefined;
  #line = 0;
  #followed = 0;
  #chunk: Came[] = [];
  #chars = 0;

  constructor(core: ImportParts, namespace: string, scope: OwnScopeRequest) {
    this.#core = core;
    this.#namespace = namespace;
    this.#scope = scope;
  }

  async take(bytes: Uint8Array): Promise<void> {
    this.#line++;
    if (!this.#header) this.#header = readHeader(bytes);
    else if (!isBlankLine(bytes)) await this.#takeRecord(bytes);
  }

  async end(): Promise<ImportResponse> {
    if (!this.#header) readHeader(new Uint8Array());
    await this.#write();
    const expected = this.#header?.lines ?? this.#followed;
    if (this.#followed < expected) {
      const message = `the header says that ${counted(expected, 'line')} should follow, and ${this.#followed} came: the export was cut off`;
      this.#refuse(this.#line + 1, invalidRequest([{ path: '', message }]));
    }
    const redacted = Array.from(this.#redacted, ([kind, count]) => ({ kind, count }));
    return { ...this.#answer, unlinked_count: this.#waitingCount, ...(redacted.length > 0 && { redacted }) };
  }

  async #takeRecord(bytes: Uint8Array): Promise<void> {
    this.#followed++;
    const line = this.#line;
    try {
      const record = this.#readRecord(bytes);
      this.#chunk.push({ line, record });
      this.#chars += keptChars(record);
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
      this.#chunk.push({ line, refusal: error });
    }
    if (this.#chunk.length >= CHUNK_MEMORIES || this.#chars >= CHUNK_CHARS) await this.#write();
  }

  #readRecord(bytes: Uint8Array): KeptRecord {
    const value = within(this.#scope, readJson(bytes));
    if (typeof value === 'object' && value !== null && 'declined_group' in value) {
      assertValid(checkDecline, value);
      const { declined_group, user_id = '', agent_id = '' } = value as ExportedDecline;
      return { declinedGroup: declined_group, userId: user_id, agentId: agent_id };
    }
    const { request, redacted = [] } = withoutSecrets(this.#core.redactor, value as ExportedMemory);
    const memory = toKept(request);
    for (const { kind, count } of redacted) this.#redacted.set(kind, (this.#redacted.get(kind) ?? 0) + count);
    return { memory };
  }

  async #write(): Promise<void> {
    const chunk = this.#chunk;
    this.#chunk = [];
    this.#chars = 0;
    const records = chunk.flatMap((came) => ('record' in came ? [came.record] : []));
    const { outcomes, waiting } = await this.#keep(records);
    const imported: KeptMemory[] = [];
    let place = 0;
    for (const came of chunk) {
      if ('refusal' in came) {
        this.#refuse(came.line, came.refusal);
        continue;
      }
      const outcome = outcomes[place++] as ImportOutcome;
      this.#count(outcome, came.line);
      if (!('memory' in came.record) || outcome !== 'imported') continue;
      imported.push(came.record.memory);
      this.#waitNoMore(came.record.memory.id);
    }
    for (const link of waiting) this.#wait(link);
    if (imported.length === 0) return;
    this.#core.events.publishMemories(this.#namespace, 'stored', imported);
    this.#core.embedding?.look();
  }

  async #keep(records: KeptRecord[]): Promise<Imported> {
    if (records.length === 0) return { outcomes: [], waiting: [] };
    const links = records.flatMap((record) => ('memory' in record ? (this.#waiting.get(record.memory.id) ?? []) : []));
    const importing = this.#core.storage.importKept(this.#namespace, records, links);
    this.#core.embedding?.giveWayTo(importing);
    return importing.catch((error) => this.#stop(error));
  }

  #stop(error: unknown): never {
    if (!(error instanceof MemoryError)) throw error;
    const kept = this.#answer.imported_count + this.#answer.unchanged_count;
    const message = `${error.message}; ${counted(kept, 'line is', 'lines are')} kept, and importing again from the beginning goes on`;
    throw new MemoryError(error.code, message, { cause: error });
  }

  #count(outcome: ImportOutcome, line: number): void {
    if (outcome === 'imported') this.#answer.imported_count++;
    else if (outcome === 'unchanged') this.#answer.unchanged_count++;
    else this.#refuse(line, toRefusal(outcome));
  }

  #refuse(line: number, { body }: MemoryError): void {
    this.#answer.refused_count++;
    if (this.#answer.refused.length < LIMITS.toldRefusals) this.#answer.refused.push({ line, error: body });
  }

  #wait(link: WaitingLink): void {
    if (this.#waitingCount >= MAX_WAITING) {
      throw new MemoryError('UNAVAILABLE', `more than ${MAX_WAITING} links lead to memories that have not come yet`);
    }
    this.#waitingCount++;
    const links = this.#waiting.get(link.id);
    if (links) links.push(link);
    else this.#waiting.set(link.id, [link]);
  }

  #waitNoMore(id: string): void {
    this.#waitingCount -= this.#waiting.get(id)?.length ?? 0;
    this.#waiting.delete(id);
  }
}

function toRefusal(outcome: Exclude<ImportOutcome, 'imported' | 'unchanged'>): MemoryError {
  if (typeof outcome === 'object') return quotaExceeded(outcome);
  if (outcome === 'rootless') {
    return wrong('derived_from', 'must name a memory that comes before, and none from which another was distilled');
  }
  return new MemoryError('CONFLICT', 'a memory with this id is there, with another text or written since');
}

const decoder = new TextDecoder('utf-8', { fatal: true });

function readJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    throw invalidRequest([{ path: '', message: 'line must be JSON in UTF-8' }]);
  }
}

/** A record as one of a user and agent, where it names none. FORBIDDEN where it names others. */
function within(scope: OwnScopeRequest, record: unknown): unknown {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return record;
  const own = record as OwnScopeRequest;
  for (const field of ['user_id', 'agent_id'] as const) {
    if (scope[field] === undefined || own[field] === undefined || own[field] === scope[field]) continue;
    throw new MemoryError('FORBIDDEN', `${field} must be the one that the import is limited to`);
  }
  return { ...record, ...scope };
}

function readHeader(bytes: Uint8Array): ExportHeader {
  let header: unknown;
  try {
    header = readJson(bytes);
  } catch {
    throw invalidRequest([{ path: '', message: 'the first line must be the header of an export' }]);
  }
  assertValid(checkHeader, header);
  return header as ExportHeader;
}

/** A memory as it came, without the secrets in any of its texts. INVALID_REQUEST where it is none. */
function withoutSecrets(redactor: Core['redactor'], exported: ExportedMemory): Redacted<ExportedMemory> {
  const now = acceptRequest(redactor, checkMemory, exported);
  const texts = exported.history.map(({ content }) => acceptRequest(redactor, checkText, { content }));
  const history = exported.history.map((text, i) => ({ ...text, ...texts[i]?.request }));
  return {
    request: { ...now.request, history },
    redacted: [now, ...texts].flatMap(({ redacted = [] }) => redacted),
  };
}

/** INVALID_REQUEST where fields do not go together, or a time is outside the years that can be written. */
function toKept(exported: ExportedMemory): KeptMemory {
  assertCoherent(exported);
  return {
    id: exported.id,
    content: exported.content,
    tags: [...new Set(exported.tags)],
    importance: exported.importance,
    source: exported.source,
    sessionId: exported.session_id,
    userId: exported.user_id ?? '',
    agentId: exported.agent_id ?? '',
    tier: exported.tier,
    metadata: exported.metadata,
    createdAt: toMs(exported.created_at, 'created_at'),
    storedAt: toMs(exported.stored_at, 'stored_at'),
    updatedAt: toMs(exported.updated_at, 'updated_at'),
    expiresAt: toMsOrNull(exported.expires_at, 'expires_at'),
    evictedAt: toMsOrNull(exported.evicted_at, 'evicted_at'),
    supersedes: exported.supersedes,
    supersededBy: exported.superseded_by,
    mergedInto: exported.merged_into,
    derivedFrom: exported.derived_from,
    formerlyDerivedFrom: exported.formerly_derived_from,
    version: exported.version,
    revision: exported.revision,
    distilledRevision: exported.distilled_revision,
    accessCount: exported.access_count,
    accessedAt: toMsOrNull(exported.accessed_at, 'accessed_at'),
    history: exported.history.map(({ revision, content, replaced_at }) => ({
      revision,
      content,
      replacedAt: toMs(replaced_at, 'history'),
    })),
    awaits: exported.awaits,
  };
}

/** Asserts what must hold of a memory beyond its schema. */
function assertCoherent(memory: ExportedMemory): void {
  const { id, session_id, derived_from, formerly_derived_from: formerly, revision, access_count, accessed_at } = memory;
  const distilled = memory.distilled_revision;
  const isSemantic = memory.tier === 'semantic';
  const isRewritten = isSemantic && revision !== distilled;
  const isMarked = isSemantic ? distilled !== null && distilled <= revision : distilled === null;
  const revisions = [...memory.history.map((text) => text.revision), revision];
  const isGrowing = revisions.every((each, i) => i === 0 || each > (revisions[i - 1] as number));
  const rules: [holds: boolean, field: keyof ExportedMemory, must: string][] = [
    [isSemantic === (session_id === null), 'session_id', 'must be null for semantic memories, and for no others'],
    [isRewritten || isSemantic === derived_from.length > 0, 'derived_from', MUST_NAME_SOURCES],
    [isSemantic || formerly.length === 0, 'formerly_derived_from', 'must be empty unless the memory is semantic'],
    [isMarked, 'distilled_revision', 'must be a revision for semantic memories, and null for others'],
    [memory.supersedes !== id, 'supersedes', 'must be another memory'],
    [memory.superseded_by !== id, 'superseded_by', 'must be another memory'],
    [access_count > 0 === (accessed_at !== null), 'accessed_at', 'must be there where access_count is not 0'],
    [isGrowing, 'history', 'must have revisions that grow, and end before the present one'],
  ];
  for (const [holds, field, must] of rules) if (!holds) throw wrong(field, must);
}

const MUST_NAME_SOURCES =
  'must name memories for semantic ones, but for those that a client gave a text, and for no others';

function wrong(field: string, must: string): MemoryError {
  return invalidRequest([{ path: `/${field}`, message: `${field} ${must}` }]);
}
