import {
  assertValid,
  createCheck,
  type ErrorCode,
  ExportedDecline,
  ExportedMemory,
  ExportHeader,
  formatCount,
  type ImportResponse,
  invalidRequest,
  isBlankLine,
  LIMITS,
  MemoryError,
  OwnScopeRequest,
  UpdateRequest,
} from '@memoryd/contract';
import type {
  ExportRecord,
  Imported,
  ImportedRecord,
  ImportOutcome,
  MemoryRecord,
  PendingLink,
} from '../ports/storage-export.ts';
import { CHUNK_CHARS, CHUNK_MEMORIES, countChars } from '../record-size.ts';
import { assertOwnerGiven } from '../request-filter.ts';
import { toMs, toMsOrNull, withPauses } from '../time.ts';
import { isPeriod } from '../validity.ts';
import { beginImport } from './begin-import.ts';
import type { Core } from './core.ts';
import { acceptRequest, type Redacted } from './redact.ts';
import { quotaExceeded } from './store-memories.ts';

/** Maximum links of one import to memories that have not been imported yet. */
const MAX_PENDING_LINKS = 500_000;

/** Codes of errors of the lines. Other errors, such as a revoked key, must not store anything more. */
const UNREADABLE_CODES: readonly ErrorCode[] = ['INVALID_REQUEST', 'PAYLOAD_TOO_LARGE'];

const checkHeader = createCheck(ExportHeader, 'the first line or item');
const checkMemory = createCheck(ExportedMemory, 'line');
const checkDecline = createCheck(ExportedDecline, 'line');
const checkScope = createCheck(OwnScopeRequest, 'request');
const checkText = createCheck(UpdateRequest, 'history');

/** A line of the import, with its record or the reason for its refusal. */
type ImportLine = { number: number } & ({ record: ExportRecord } | { refusal: MemoryError });

type ImportParts = Pick<Core, 'storage' | 'events' | 'embedding' | 'redactor'>;

/** See `MemoryApi.importMemories`. */
export async function importMemories(
  core: Core,
  namespace: string,
  lines: AsyncIterable<Uint8Array>,
  scope: OwnScopeRequest = {},
): Promise<ImportResponse> {
  assertValid(checkScope, scope);
  assertOwnerGiven(scope);
  let running: ReturnType<typeof beginImport> | undefined;
  const getImportId = async () => {
    running ??= beginImport(core, namespace, { from: 'memoryd', ...scope });
    return (await running).id;
  };
  try {
    const response = await importAll(new Import(core, namespace, scope, getImportId), lines);
    if (!running) return response;
    const { id } = await running;
    const at = core.clock.now();
    if (response.imported_count === 0) {
      // Nothing can be undone, so a repeated import leaves no row in the list of imports.
      await core.storage.undoImport(namespace, id, { of: {}, at });
      return response;
    }
    await core.storage.endImport(namespace, id, at);
    return { import_id: id, ...response };
  } finally {
    await running?.then(({ leave }) => leave()).catch(() => {});
  }
}

async function importAll(importing: Import, lines: AsyncIterable<Uint8Array>): Promise<ImportResponse> {
  for await (const line of withPauses(importing.read(lines))) await importing.take(line);
  return importing.end();
}

/** Imports all lines of an export as `importMemories` does, but without an import that can be undone. */
export async function importLines(
  core: ImportParts,
  namespace: string,
  lines: AsyncIterable<Uint8Array>,
): Promise<ImportResponse> {
  return importAll(new Import(core, namespace, {}), lines);
}

/** One import: the records of the current chunk, the links that wait for later lines, and the counts so far. */
class Import {
  readonly #core: ImportParts;
  readonly #namespace: string;
  readonly #response: ImportResponse = {
    imported_count: 0,
    unchanged_count: 0,
    refused_count: 0,
    refused: [],
    unlinked_count: 0,
  };
  /** Pending links, by the id of the memory that has not been imported yet. */
  readonly #pendingLinks = new Map<string, PendingLink[]>();
  readonly #scope: OwnScopeRequest;
  #pendingLinkCount = 0;
  /** New ids by the ids on the lines. */
  readonly #newIds = new Map<string, string>();
  /** Number of redacted secrets by kind. */
  readonly #redacted = new Map<string, number>();
  #header: ExportHeader | undefined;
  #lineNumber = 0;
  #recordCount = 0;
  #chunk: ImportLine[] = [];
  #chars = 0;

  readonly #getImportId: (() => Promise<string>) | undefined;

  /** @param getImportId returns the id of the import that new memories belong to; absent for none */
  constructor(core: ImportParts, namespace: string, scope: OwnScopeRequest, getImportId?: () => Promise<string>) {
    this.#core = core;
    this.#namespace = namespace;
    this.#scope = scope;
    this.#getImportId = getImportId;
  }

  /** Yields the lines. If the rest of them cannot be read, first stores the lines before it. */
  async *read(lines: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    try {
      yield* lines;
    } catch (error) {
      const isUnreadable = error instanceof MemoryError && UNREADABLE_CODES.includes(error.code);
      if (!this.#header || !isUnreadable) throw error;
      await this.#write();
      this.#stop(error);
    }
  }

  async take(bytes: Uint8Array): Promise<void> {
    this.#lineNumber++;
    if (!this.#header) this.#header = readHeader(bytes);
    else if (!isBlankLine(bytes)) await this.#takeRecord(bytes);
  }

  async end(): Promise<ImportResponse> {
    if (!this.#header) readHeader(new Uint8Array());
    await this.#write();
    const expected = this.#header?.lines ?? this.#recordCount;
    if (this.#recordCount < expected) {
      const message = `the export is incomplete: its header announces ${formatCount(expected, 'line')}, but ${this.#recordCount} followed; export again`;
      this.#refuse(this.#lineNumber + 1, invalidRequest([{ path: '', message }]));
    }
    const redacted = Array.from(this.#redacted, ([kind, count]) => ({ kind, count }));
    return {
      ...this.#response,
      unlinked_count: this.#pendingLinkCount,
      ...(this.#newIds.size > 0 && { new_ids: Object.fromEntries(this.#newIds) }),
      ...(redacted.length > 0 && { redacted }),
    };
  }

  async #takeRecord(bytes: Uint8Array): Promise<void> {
    this.#recordCount++;
    const number = this.#lineNumber;
    try {
      const record = this.#readRecord(bytes);
      this.#chunk.push({ number, record });
      this.#chars += countChars(record);
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
      this.#chunk.push({ number, refusal: error });
    }
    if (this.#chunk.length >= CHUNK_MEMORIES || this.#chars >= CHUNK_CHARS) await this.#write();
  }

  #readRecord(bytes: Uint8Array): ExportRecord {
    const value = withScope(this.#scope, readJson(bytes));
    if (typeof value === 'object' && value !== null && 'declined_group' in value) {
      assertValid(checkDecline, value);
      const { declined_group, user_id = '', agent_id = '' } = value as ExportedDecline;
      return { declinedGroup: declined_group, userId: user_id, agentId: agent_id };
    }
    const { request, redacted = [] } = withoutSecrets(this.#core.redactor, value as ExportedMemory);
    const memory = toKeptMemory(request);
    for (const { kind, count } of redacted) this.#redacted.set(kind, (this.#redacted.get(kind) ?? 0) + count);
    return { memory };
  }

  async #write(): Promise<void> {
    const chunk = this.#chunk;
    this.#chunk = [];
    this.#chars = 0;
    const records = chunk.flatMap((line) => ('record' in line ? [line.record] : []));
    const { records: stored, waiting } = await this.#store(records);
    const imported: MemoryRecord[] = [];
    let place = 0;
    for (const line of chunk) {
      if ('refusal' in line) {
        this.#refuse(line.number, line.refusal);
        continue;
      }
      const { outcome, newId } = stored[place++] as ImportedRecord;
      this.#count(outcome, line.number);
      if (!('memory' in line.record)) continue;
      const { memory } = line.record;
      if (newId !== undefined) this.#newIds.set(memory.id, newId);
      if (outcome !== 'imported') continue;
      imported.push({ ...memory, id: newId ?? memory.id });
      this.#removePendingLinks(memory.id);
    }
    for (const link of waiting) this.#addPendingLink(link);
    if (imported.length > 0) {
      this.#core.events.publishMemories(this.#namespace, 'stored', imported);
      this.#core.embedding?.look();
    }
    this.#assertNewIdsFit();
  }

  #assertNewIdsFit(): void {
    if (this.#newIds.size <= LIMITS.newIds) return;
    throw new MemoryError(
      'PAYLOAD_TOO_LARGE',
      `the import has more than ${LIMITS.newIds} lines whose id belongs to another user or agent, and its response could ` +
        'not name all new ids; split the import, and repeat it from the beginning',
    );
  }

  async #store(records: ExportRecord[]): Promise<Imported> {
    if (records.length === 0) return { records: [], waiting: [] };
    const links = records.flatMap((record) =>
      'memory' in record ? (this.#pendingLinks.get(record.memory.id) ?? []) : [],
    );
    const importId = await this.#getImportId?.();
    const importing = this.#core.storage.importRecords(this.#namespace, records, links, importId);
    this.#core.embedding?.yieldTo(importing);
    return importing.catch((error) => this.#stop(error));
  }

  #stop(error: unknown): never {
    if (!(error instanceof MemoryError)) throw error;
    const stored = this.#response.imported_count + this.#response.unchanged_count;
    const message = `${error.message}; ${formatCount(stored, 'line is', 'lines are')} stored; repeat the whole import to continue`;
    const { details } = error.body;
    throw new MemoryError(error.code, message, { cause: error, ...(details && { details }) });
  }

  #count(outcome: ImportOutcome, line: number): void {
    if (outcome === 'imported') this.#response.imported_count++;
    else if (outcome === 'unchanged') this.#response.unchanged_count++;
    else this.#refuse(line, toRefusal(outcome));
  }

  #refuse(line: number, { body }: MemoryError): void {
    this.#response.refused_count++;
    if (this.#response.refused.length < LIMITS.listedRejections) this.#response.refused.push({ line, error: body });
  }

  #addPendingLink(link: PendingLink): void {
    if (this.#pendingLinkCount >= MAX_PENDING_LINKS) {
      throw new MemoryError(
        'UNAVAILABLE',
        `more than ${MAX_PENDING_LINKS} links point to memories on later lines of the import; move the lines of linked memories closer together`,
      );
    }
    this.#pendingLinkCount++;
    const links = this.#pendingLinks.get(link.id);
    if (links) links.push(link);
    else this.#pendingLinks.set(link.id, [link]);
  }

  #removePendingLinks(id: string): void {
    this.#pendingLinkCount -= this.#pendingLinks.get(id)?.length ?? 0;
    this.#pendingLinks.delete(id);
  }
}

function toRefusal(outcome: Exclude<ImportOutcome, 'imported' | 'unchanged'>): MemoryError {
  if (typeof outcome === 'object') return quotaExceeded(outcome);
  if (outcome === 'rootless') {
    return invalidField(
      'derived_from',
      'must name a memory on an earlier line that is not a source of another semantic memory',
    );
  }
  const conflict =
    outcome === 'external-id-taken'
      ? 'another memory of this user and agent already has this external_id'
      : 'a memory with this id already exists with another content, version, stored_at or external_id';
  return new MemoryError('CONFLICT', `${conflict}; forget that memory, or omit the line`);
}

const decoder = new TextDecoder('utf-8', { fatal: true });

function readJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    throw invalidRequest([{ path: '', message: 'line or item must be JSON in UTF-8' }]);
  }
}

/**
 * Returns a record with the user and agent of the import added. Throws FORBIDDEN if the record names another user or
 * agent.
 */
export function withScope(scope: OwnScopeRequest, record: unknown): unknown {
  if (typeof record !== 'object' || record === null || Array.isArray(record)) return record;
  const own = record as OwnScopeRequest;
  for (const field of ['user_id', 'agent_id'] as const) {
    const asked = own[field] ?? scope[field];
    if (scope[field] === undefined || asked === scope[field]) continue;
    throw new MemoryError('FORBIDDEN', `${field} must be the ${field} of the import request, or omitted`);
  }
  return { ...record, ...scope };
}

function readHeader(bytes: Uint8Array): ExportHeader {
  let header: unknown;
  try {
    header = readJson(bytes);
  } catch {
    throw invalidRequest([{ path: '', message: 'the first line or item must be the header of an export' }]);
  }
  assertValid(checkHeader, header);
  return header as ExportHeader;
}

/**
 * Checks an exported memory and, if there is a redactor, removes the secrets from its texts and its text history.
 * Throws INVALID_REQUEST for an invalid memory.
 */
function withoutSecrets(redactor: Core['redactor'], exported: ExportedMemory): Redacted<ExportedMemory> {
  const now = acceptRequest(redactor, checkMemory, exported);
  const texts = exported.history.map(({ content }) => acceptRequest(redactor, checkText, { content }));
  const history = exported.history.map((text, i) => ({ ...text, ...texts[i]?.request }));
  return {
    request: { ...now.request, history },
    redacted: [now, ...texts].flatMap(({ redacted = [] }) => redacted),
  };
}

/**
 * Converts an exported memory to a record. Throws INVALID_REQUEST if fields contradict each other, or if a time is
 * outside the supported years.
 */
function toKeptMemory(exported: ExportedMemory): MemoryRecord {
  assertCoherent(exported);
  const memory = {
    id: exported.id,
    content: exported.content,
    tags: [...new Set(exported.tags)],
    importance: exported.importance,
    source: exported.source,
    sessionId: exported.session_id,
    userId: exported.user_id ?? '',
    agentId: exported.agent_id ?? '',
    externalId: exported.external_id ?? null,
    tier: exported.tier,
    metadata: exported.metadata,
    ...(exported.attachment !== undefined && { attachment: exported.attachment }),
    createdAt: toMs(exported.created_at, 'created_at'),
    storedAt: toMs(exported.stored_at, 'stored_at'),
    updatedAt: toMs(exported.updated_at, 'updated_at'),
    expiresAt: toMsOrNull(exported.expires_at, 'expires_at'),
    validFrom: toMsOrNull(exported.valid_from, 'valid_from'),
    validTo: toMsOrNull(exported.valid_to, 'valid_to'),
    evictedAt: toMsOrNull(exported.evicted_at, 'evicted_at'),
    supersedes: exported.supersedes,
    successors: exported.superseded_by,
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
  if (!isPeriod(memory)) throw invalidField('valid_to', 'must be later than valid_from, or created_at without it');
  return memory;
}

/** Throws INVALID_REQUEST if fields of the memory contradict each other. The schema cannot express these rules. */
function assertCoherent(memory: ExportedMemory): void {
  const { id, session_id, derived_from, formerly_derived_from: formerly, revision, access_count, accessed_at } = memory;
  const distilled = memory.distilled_revision;
  const isSemantic = memory.tier === 'semantic';
  const isRewritten = isSemantic && revision !== distilled;
  const hasValidRevision = isSemantic ? distilled !== null && distilled <= revision : distilled === null;
  const revisions = [...memory.history.map((text) => text.revision), revision];
  const isAscending = revisions.every((each, i) => i === 0 || each > (revisions[i - 1] as number));
  const rules: [holds: boolean, field: keyof ExportedMemory, must: string][] = [
    [isSemantic === (session_id === null), 'session_id', 'must be null for semantic memories and set for others'],
    [isRewritten || isSemantic === derived_from.length > 0, 'derived_from', MUST_NAME_SOURCES],
    [!isSemantic || memory.external_id === undefined, 'external_id', 'must be absent for semantic memories'],
    [isSemantic || formerly.length === 0, 'formerly_derived_from', 'must be empty unless the memory is semantic'],
    [hasValidRevision, 'distilled_revision', 'must be a revision for semantic memories and null for others'],
    [memory.supersedes !== id, 'supersedes', 'must not be the memory itself'],
    [!memory.superseded_by.includes(id), 'superseded_by', 'must not contain the memory itself'],
    [
      access_count > 0 === (accessed_at !== null),
      'accessed_at',
      'must be set exactly if access_count is greater than 0',
    ],
    [isAscending, 'history', 'must have ascending revisions, all lower than the current one'],
  ];
  for (const [holds, field, must] of rules) if (!holds) throw invalidField(field, must);
}

const MUST_NAME_SOURCES =
  'must name sources for semantic memories (unless a client replaced the text) and be empty for others';

function invalidField(field: string, must: string): MemoryError {
  return invalidRequest([{ path: `/${field}`, message: `${field} ${must}` }]);
}
