import type { Metadata, NamespaceQuota, Tier, TierCounts } from '@memoryd/contract';
import type { AskedDate, Ranked, Ranking } from './ranking.ts';

/*
 * Times are milliseconds since 1970 in UTC. An ordinal is a memory's place in the order of arrival in the whole
 * database: a positive whole number that is never used again.
 */

/** A memory as it is about to be kept. */
export interface NewMemory {
  namespace: string;
  id: string;
  content: string;
  tags: string[];
  importance: number;
  source: string;
  sessionId: string;
  metadata: Metadata;
  createdAt: number;
  storedAt: number;
  expiresAt: number | null;
  supersedes: string | null;
  /** Present when the same request may come again: the caller's key and a digest of the request. */
  idempotency?: { key: string; digest: string };
}

/** So many memories, and bytes of their texts in UTF-8; as a quota, 0 is any number. */
export interface Quota {
  memories: number;
  bytes: number;
}

/** Nothing was kept, because the namespace may hold `most` and would hold more. */
export interface OverQuota {
  outcome: 'over-quota';
  of: keyof Quota;
  most: number;
}

/** `repeated`: the idempotency key was used with the same digest; `id` is what it stored then. */
export type StoreOutcome =
  | { outcome: 'stored'; ordinal: number }
  | { outcome: 'repeated'; id: string }
  | { outcome: 'conflict' }
  | { outcome: 'superseded-unknown' }
  | OverQuota;

/** What changes of a memory; what is absent stays. */
export interface MemoryChange {
  namespace: string;
  id: string;
  at: number;
  ifVersions?: number[];
  content?: string;
  importance?: number;
  tags?: string[];
  metadata?: Metadata;
  expiresAt?: number | null;
}

/** `embedding` says whether the memory now waits for new vectors. */
export type UpdateOutcome =
  | { outcome: 'updated'; ordinal: number; embedding: boolean }
  | { outcome: 'unknown' }
  | { outcome: 'stale' }
  | OverQuota;

/**
 * What forgetting left behind. `purged`: no byte of the texts is left in the database; otherwise that follows within 5
 * seconds of the last reader or copy of a file, or when a PostgreSQL server has vacuumed. `embedding`: what was distilled
 * from them and others has a new text, which waits for its vectors.
 */
interface Forgetting {
  purged: boolean;
  embedding: boolean;
}

/** `alsoForgotten`: ids of merged twins, and of what was distilled from them alone. */
type ForgetOutcome =
  | ({ outcome: 'forgotten'; ordinals: number[]; alsoForgotten: string[] } & Forgetting)
  | { outcome: 'unknown' }
  | { outcome: 'stale' };

/** Which memories a bulk forget is about; at least one condition is given and all must hold. */
export interface ForgetSelection {
  sessionId?: string;
  tag?: string;
  source?: string;
  createdBefore?: number;
}

/** A memory as it is kept. It is live, in recall and in the counts, unless it is merged, evicted or expired. */
export interface StoredMemory {
  ordinal: number;
  id: string;
  content: string;
  tags: string[];
  importance: number;
  source: string;
  sessionId: string | null;
  tier: Tier;
  metadata: Metadata;
  createdAt: number;
  storedAt: number;
  updatedAt: number;
  expiresAt: number | null;
  supersedes: string | null;
  supersededBy: string | null;
  mergedInto: string | null;
  accessCount: number;
  accessedAt: number | null;
  /** Counts what clients wrote to it. */
  version: number;
  /** Ids of the memories that a semantic memory was distilled from, in order of time; empty in other tiers. */
  derivedFrom: string[];
}

/** A text that a memory has had. `heldUntil` is null for the present one. */
export interface MemoryText {
  /** Grows with every new text of the memory. */
  revision: number;
  content: string;
  heldFrom: number;
  heldUntil: number | null;
}

/** Conditions on memories, all of which must hold; times include their ends and look at `createdAt`. */
export interface MemoryFilter {
  tags?: string[];
  tier?: Tier;
  sessionId?: string;
  source?: string;
  since?: number;
  until?: number;
  metadata?: Record<string, string>;
}

/** A place in the order of (createdAt, ordinal). */
export interface Position {
  createdAt: number;
  ordinal: number;
}

/** How often a memory was given out, the last time at `at`. */
export interface MemoryAccess {
  namespace: string;
  ordinal: number;
  count: number;
  at: number;
}

/** A page: at most `limit` items and `maxBytes` of JSON after `after`, but at least one item where any is left. */
export interface PageRequest<Place> {
  limit: number;
  maxBytes: number;
  after?: Place;
}

/** `next` is where the following page starts; absent on the last. `total` counts all pages. */
export interface Page<Item, Place> {
  items: Item[];
  total: number;
  next?: Place;
}

export interface SessionSummaryRow {
  sessionId: string;
  total: number;
  firstAt: number;
  lastAt: number;
}

/** The vector of a query, and the model that made it. */
export interface QueryVector {
  modelId: string;
  values: Float32Array;
}

/** What a search is for. `vector` is absent where recall goes by words alone. */
export interface SearchRequest {
  namespace: string;
  text: string;
  vector?: QueryVector;
  filter: MemoryFilter;
  now: number;
  /** The date that the text asks about: what is of that date matches the words that name it. */
  date?: AskedDate | undefined;
  /** How many memories words and vectors may each admit; scores rest on this pool alone. */
  poolSize: number;
  /** How many memories each may admit beyond that, for answers that are longer than the pool. */
  tailSize: number;
  /**
   * True: the search sees every write that was answered before it. Otherwise writes of other processes may take some
   * seconds to be seen.
   */
  isUpToDate?: boolean;
}

/** Stand in columns for no row, no session, and nobody who is named. */
export const NO_ROW = -1;
export const NO_SESSION = -1;
export const NO_SPEAKER = 0;

/**
 * What a search found, in columns; row r of every column speaks of the same memory. Rows stand in this order:
 *
 * | rows | are |
 * |---|---|
 * | 0 to `found` | the best `poolSize` by words, and by vector |
 * | `found` to `pool` | what supersedes these, and those of their neighbours that have to do with the query themselves |
 * | `pool` to `admitted` | sources of semantic memories among these, and the tail with what supersedes it and its sources |
 * | from `admitted` on | neighbours of all these, and the one or two memories that part two such: what stands around |
 *
 * The first three may be answers, and have passed the filter.
 */
export interface Signals {
  /** Live memories of the namespace but the semantic ones: what those say is counted in their sources. */
  memoryCount: number;
  /** For each distinct word of the query that counts: in how many of these it occurs, or 0. */
  documentFrequencies: number[];
  found: number;
  pool: number;
  admitted: number;
  ordinals: Float64Array;
  createdAts: Float64Array;
  /** Length in words that count. */
  lengths: Uint32Array;
  /** How often each word occurs: row r, word w is at `r * documentFrequencies.length + w`. */
  frequencies: Uint16Array;
  /**
   * Synonyms of the query's words that memories hold, at most 128: each with its word's place among the words, and as what
   * part of an occurrence of that word one of its own counts. They find no memories by themselves.
   */
  synonyms: { word: number; weight: number }[];
  /** How often each synonym occurs: row r, synonym s is at `r * synonyms.length + s`. */
  synonymFrequencies: Uint16Array;
  /** 1 where a word names the row's speaker, in the order of `frequencies`. */
  speaks: Uint8Array;
  /** For each word of the query, 1 where it is "I", "my", "me", "you" or "your". */
  persons: Uint8Array;
  /** For each word of the query, 1 where it is one of those that name the date that is asked about. */
  dated: Uint8Array;
  /** Cosine to the query's vector, the best over a memory's parts; NaN where there is none. */
  cosines: Float32Array;
  /** For each admitted row, equal numbers are the same text, but for white space around it and Unicode's forms. */
  texts: Int32Array;
  /** How far each admitted row is retained, from 0 to 1. See `retentionOf` in core. */
  retentions: Float32Array;
  /** Equal numbers are the same session; NO_SESSION where none was given. */
  sessions: Int32Array;
  /** Equal numbers are the same speaker; or NO_SPEAKER. See `Traits` in core/text. */
  speakers: Uint32Array;
  /** Bits of `MARKS` in core/text. */
  marks: Uint16Array;
  /**
   * Row of the memory before and after in the same session; -1 is none, or none among the rows. Of what was given no
   * session, only those are beside each other that name who speaks.
   */
  previous: Int32Array;
  next: Int32Array;
  /** Row of the memory that supersedes this one, where it was admitted too; -1 is none. */
  supersededBy: Int32Array;
  /**
   * Row of the semantic memory that was distilled from this one, where it was admitted too; -1 is none. Such a row is
   * superseded by none of the others.
   */
  distilledInto: Int32Array;
  /** How long the search took, by stage. */
  stagesMs: { words: number; vectors: number; fuse: number };
}

/**
 * What is searched for, how what is found is ranked, and how large the JSON of the best may be. The vector may still be
 * being made: a storage may look meanwhile for what needs none, and fails as the making fails.
 */
export interface AnswerRequest extends Omit<SearchRequest, 'vector'> {
  vector?: QueryVector | Promise<QueryVector | undefined> | undefined;
  ranking: Ranking;
  maxBytes: number;
}

/** The best of what was found, best first; `truncated` when there are more than the JSON of an answer has room for. */
export interface Answer {
  answers: { memory: StoredMemory; ranked: Ranked }[];
  truncated: boolean;
  /** How long it took, by stage. */
  stagesMs: Signals['stagesMs'] & { read: number };
}

/** A memory as it was when it was read: what is then written of it is refused where a client has written it since. */
export interface SeenMemory {
  ordinal: number;
  version: number;
}

/** A semantic memory that another memory is a source of, and how many sources it has. */
interface GroupSoFar {
  semantic: number;
  sourceCount: number;
}

/**
 * Which working memories are old enough to settle: those stored until a time. Those that lie ahead of `now` by as much
 * were stored before the clock was set back, nobody knows when, and are old enough too.
 */
export interface Settling {
  settledUntil: number;
  now: number;
}

/** Working memories that are old enough count as settled. */
export interface DistilCandidatesRequest extends Settling {
  namespace: string;
  /** Where the call before stopped. */
  after?: number;
  limit: number;
}

/** A memory near a candidate that can be distilled. */
export interface DistilNeighbour {
  ordinal: number;
  /** Of the nearest parts of both. */
  cosine: number;
  /** Words that count, that both hold and few memories of the namespace do. */
  sharedRareWords: number;
  group?: GroupSoFar;
}

/** A memory whose group is to be looked at; one that can itself be distilled no more has no neighbours. */
export interface DistilCandidate extends SeenMemory {
  group?: GroupSoFar;
  neighbours: DistilNeighbour[];
}

/** `next` is where the following call starts; absent where no more wait. */
export interface DistilCandidates {
  candidates: DistilCandidate[];
  next?: number;
}

/** Which memories belong together: the sources of a semantic memory, others, or both. */
export interface GroupRequest extends Settling {
  namespace: string;
  semantic?: number;
  joining: number[];
}

/** A group as it is now. */
export interface ReadGroup {
  /** Those that can be distilled, oldest first; of a long text only its beginning, 65,536 characters. */
  sources: (SeenMemory & { id: string; createdAt: number; content: string })[];
  /** Whether nothing is to be distilled from them: a client forgot or wrote what was, or it has left recall. */
  isClosed: boolean;
  /** Of the semantic memory that there is. */
  semanticId?: string;
}

/** A semantic memory that is about to be made. */
export interface DistilledMemory {
  id: string;
  content: string;
  sources: SeenMemory[];
  at: number;
}

/** Another text and other sources for a semantic memory. */
export interface RefreshedMemory {
  semantic: number;
  content: string;
  sources: SeenMemory[];
  at: number;
}

/** Two memories, one of which corrects the other. */
export interface SeenCorrection {
  corrected: SeenMemory;
  by: SeenMemory;
}

/** A memory that waits for its vectors. */
export interface PendingEmbedding {
  ordinal: number;
  /** Which of the memory's texts this is. */
  revision: number;
  content: string;
}

/** How many are wanted at most, and of how many characters, those of a first text that is longer aside. */
export interface EmbeddingBatch {
  limit: number;
  maxChars: number;
  /** Instead of `maxChars`, of those that wait behind others. */
  maxCharsAnew: number;
}

/**
 * Some that wait, in order of arrival. `isInUse`: the model is the one in use; none wait for another. `anew`: the texts
 * of these have had vectors, or consolidation wrote them; such ones come last, when no new text waits any more. `waiting`:
 * how many others wait, counted up to 1,000.
 */
export interface PendingEmbeddings {
  isInUse: boolean;
  memories: PendingEmbedding[];
  anew: boolean;
  waiting: number;
}

/** The vectors of a memory's parts, made from the text that has this revision. */
export interface MemoryVectors {
  ordinal: number;
  revision: number;
  vectors: Float32Array[];
}

export interface StorageStats extends TierCounts {
  /** Of the whole database on disk. */
  sizeBytes: number;
  /** Of texts in UTF-8, as a quota counts them. */
  textBytes: number;
  lastSleepAt: number | null;
  pendingEmbeddings: number;
  /**
   * The model in use, and how many of the memories in a tier, those hidden by their expiry included, do not wait for its
   * vectors. Null before any model was used.
   */
  embedding: { modelId: string; embedded: number; total: number } | null;
}

/** A namespace as an operator sees it. */
export interface NamespaceUsage {
  name: string;
  counts: TierCounts;
  /**
   * What clients stored and nobody has erased: memories, hidden ones included, and bytes of texts, earlier ones included.
   * Neither semantic memories nor the texts that consolidation gave them are counted.
   */
  used: Quota;
  quota: NamespaceQuota;
  /** API keys that have not been revoked. */
  keys: number;
}

/**
 * `undoing`: being taken back, which a crash may leave unfinished too. `undone`: taken back after it had ended.
 * `reverted`: taken back by itself before it had.
 */
export type RunState = 'running' | 'completed' | 'undoing' | 'undone' | 'reverted';

/**
 * What a run of consolidation may do to a memory, and what is recorded of it beside the memory's ordinal. A `version` is
 * the one that the memory had: the run cannot be undone once a client has written the memory.
 */
export interface ChangeDetails {
  /** It went from the working to the episodic tier. */
  settled: Record<string, never>;
  /** It left recall for its twin `into`. */
  merged: { into: number };
  /** Merged into `from` before, it followed that memory into `into`. */
  moved: { from: number; into: number };
  /** Before twins were merged into it, it had these; from them it gained so many uses, the last of them `lastUse`. */
  gained: {
    version: number;
    tags: string[];
    importance: number;
    accessedAt: number | null;
    uses: number;
    lastUse: number | null;
  };
  /** It was made of these memories. */
  distilled: { version: number; sources: number[] };
  /** It was distilled anew; before, it had this text of its history and these sources. */
  refreshed: { version: number; revision: number; sources: number[] };
  /** It came to rank below the memory `by`, which corrects it. */
  corrected: { by: number };
  /** It left recall because it had expired, or because its tier held more memories than it may. */
  evicted: { reason: 'expired' | 'maximum' };
}
export type ChangeKind = keyof ChangeDetails;

/** A run that is about to begin. `fence` is the one of the lease `SLEEP_LEASE`. */
export interface NewRun {
  id: string;
  startedAt: number;
  /** Working memories stored until then settle. */
  settledUntil: number;
  fence: number;
}

/** A run as its own writes name it; they reject with UNAVAILABLE once another process has taken the lease. */
export interface RunRef {
  namespace: string;
  no: number;
  id: string;
  fence: number;
}

/**
 * `resumed`: an earlier run had been left unfinished and goes on; it settles what either of the two was to, unless the
 * clock has been set back since.
 * `undoing`: an undo had been left unfinished and has to be finished first.
 */
export type BegunRun =
  | { outcome: 'begun' | 'resumed'; ref: RunRef; settledUntil: number }
  | { outcome: 'undoing'; ref: RunRef };

/** A run as it is kept. `counts` is changes by kind, as they were when it ended. */
export interface SleepRun {
  no: number;
  id: string;
  state: RunState;
  startedAt: number;
  endedAt: number | null;
  counts: Partial<Record<ChangeKind, number>>;
  notes: Record<string, unknown>;
}

/** One change of a run, with the ids of the memories that it names; null where one has been forgotten. */
export interface RunChange {
  seq: number;
  kind: ChangeKind;
  id: string;
  mergedInto?: string | null;
  reason?: ChangeDetails['evicted']['reason'];
  /** What a memory had before it gained from twins. */
  before?: { tags: string[]; importance: number };
  /** What it was distilled from: when it was made, or before it was made anew. */
  derivedFrom?: string[];
  supersededBy?: string | null;
}

/** Why a run cannot be undone: it is not `completed`; a newer run has to be undone first; clients wrote memories since. */
export type UndoOutcome =
  | { outcome: 'begun'; ref: RunRef }
  | { outcome: 'unknown' }
  | { outcome: 'not-completed'; state: RunState }
  | { outcome: 'too-old' }
  | { outcome: 'newer'; id: string }
  | { outcome: 'written'; ids: string[] };

/** What a run would do now: how many memories in all, and the first of them. */
export interface Planned<Item> {
  total: number;
  items: Item[];
}

/** How far a memory is retained, from 0 to 1. */
export interface RetainedMemory {
  ordinal: number;
  id: string;
  retention: number;
}

/** A text that a memory no longer has. */
interface EarlierText {
  revision: number;
  content: string;
  replacedAt: number;
}

/** What the next consolidation has to look at a memory for. */
export type Awaited = 'merging' | 'distilling';

/** Everything that is kept of a memory, hidden or not, but for vectors; other memories are named by their ids. */
export interface KeptMemory extends Omit<StoredMemory, 'ordinal'> {
  evictedAt: number | null;
  revision: number;
  /** The revision of the last text that consolidation gave it; null where it never did. */
  distilledRevision: number | null;
  /** Those that its earlier texts alone may tell of. */
  formerlyDerivedFrom: string[];
  /** Oldest first. */
  history: EarlierText[];
  awaits: Awaited[];
}

/**
 * What a namespace keeps: a memory, or a digest of a group of memories from which nothing is to be distilled, since a
 * client forgot what was.
 */
export type KeptRecord = { memory: KeptMemory } | { declinedGroup: string };

/** Records in order of arrival, but a semantic memory not before the first of its sources; declined groups last. */
export interface KeptRecords {
  count: number;
  /** To be read once. */
  records: AsyncIterable<KeptRecord>;
  /** Frees what they take on disk; they are not read after that. */
  discard(): Promise<void>;
}

/** A link that waits for the memory `id`, which the one at `ordinal` names, to be imported. */
export interface WaitingLink {
  ordinal: number;
  kind: 'supersedes' | 'supersededBy' | 'mergedInto' | 'source' | 'formerSource';
  id: string;
}

/**
 * `unchanged`: it is there with the same text, written as often. `different`: its id is taken by a memory of another
 * text, or written since. `rootless`: a semantic memory whose text no client gave it,
 * and none of whose sources is there or one of which is another's.
 */
export type ImportOutcome = 'imported' | 'unchanged' | 'different' | 'rootless' | OverQuota;

/** `waiting`: links to memories that are not there, beside those that waited before. */
export interface Imported {
  outcomes: ImportOutcome[];
  waiting: WaitingLink[];
}

/** A copy of everything that is kept, as it was at one moment. It takes room on disk until it is read or discarded. */
export interface StorageCopy {
  sizeBytes: number;
  /** SHA-256 of its bytes, in base64. */
  sha256: string;
  /** Its bytes, once; discards it at the end, or when it is left. */
  read(): AsyncIterable<Uint8Array>;
  discard(): Promise<void>;
}

/** What a step of consolidation did; `more` says that the same step has more to do. */
export interface StepResult {
  count: number;
  more: boolean;
}

/** Kept memories, their vectors and history. Every write is on disk when its promise resolves. */
export interface Storage {
  /**
   * Keeps a memory, unless a quota of its namespace would be exceeded, whoever else writes. Past three quarters of the
   * working maximum the namespace's oldest settle.
   */
  store(memory: NewMemory): Promise<StoreOutcome>;
  /**
   * Keeps some hundred memories as `store` does, one after the other in one commit, and answers what became of each.
   * When it rejects, none of them was kept.
   */
  storeMany(memories: NewMemory[]): Promise<StoreOutcome[]>;
  /**
   * Changes a live or merged memory; a replaced text goes into its history. A new text makes a twin a memory of its
   * own, and sets the twins of a memory free. Being added to the earlier ones, it may exceed a quota. A time before that
   * of the last change, of a clock that was set back, is taken for that one.
   */
  update(change: MemoryChange): Promise<UpdateOutcome>;
  /**
   * Removes a memory, hidden or not, with its twins, history, vectors and words, from the bytes of the file too. What was
   * distilled from it is distilled again from what is left, or removed with its last source.
   */
  forget(namespace: string, id: string, ifVersions?: number[]): Promise<ForgetOutcome>;
  forgetMany(namespace: string, selection: ForgetSelection): Promise<{ count: number } & Forgetting>;

  /** One memory that has not expired; merged twins are found too. */
  memory(namespace: string, id: string, now: number): Promise<StoredMemory | undefined>;
  /** The texts of a memory that `memory` answers, oldest first; undefined where there is none. A place is a revision. */
  history(
    namespace: string,
    id: string,
    page: PageRequest<number>,
    now: number,
  ): Promise<Page<MemoryText, number> | undefined>;
  /** The text that such a memory had at a time; undefined before it was stored. */
  textAt(namespace: string, id: string, at: number, now: number): Promise<MemoryText | undefined>;
  /** Live memories that pass, newest first. */
  memories(
    namespace: string,
    filter: MemoryFilter,
    page: PageRequest<Position>,
    now: number,
  ): Promise<Page<StoredMemory, Position>>;
  /** A session's memories, merged twins and what a maximum has evicted too, oldest first. */
  session(
    namespace: string,
    sessionId: string,
    page: PageRequest<Position>,
    now: number,
  ): Promise<Page<StoredMemory, Position>>;
  /** Sessions with live memories that pass, in the order of their ids. */
  sessions(
    namespace: string,
    filter: MemoryFilter,
    page: PageRequest<string>,
    now: number,
  ): Promise<Page<SessionSummaryRow, string>>;

  /** Most dimensions of vectors that it can search; no model of more may be used. */
  readonly mostDimensions: number;
  search(request: SearchRequest): Promise<Signals>;
  /** Searches, ranks what was found as `rank` in core does, and reads the texts of the best: a recall in one call. */
  answer(request: AnswerRequest): Promise<Answer>;
  /**
   * The live memories at these ordinals, in that order, superseded by nothing that has expired; `truncated` when the rest
   * would make the JSON of the answer larger than `maxBytes`.
   */
  read(
    namespace: string,
    ordinals: number[],
    now: number,
    maxBytes: number,
  ): Promise<{ memories: StoredMemory[]; truncated: boolean }>;
  /** Adds to access counts. */
  recordAccess(accesses: MemoryAccess[]): Promise<void>;

  /**
   * Makes this the model whose vectors every memory is to have; those without wait for them from now on. Answers how many
   * of them had vectors, of another model or layout, which are compared with nothing any more.
   */
  useModel(modelId: string): Promise<number>;
  /**
   * Memories that wait for vectors of the model in use, at least one where any waits: first those whose texts clients
   * wrote and which never had any, then the others; none where this is not the model in use.
   */
  pendingEmbeddings(modelId: string, batch: EmbeddingBatch): Promise<PendingEmbeddings>;
  /** Keeps vectors, except where the text has changed or gone meanwhile. A memory given none waits no longer. */
  putVectors(modelId: string, vectors: MemoryVectors[]): Promise<void>;

  stats(namespace: string, now: number): Promise<StorageStats>;
  /** What this database alone knows, wherever it is open: 32 hexadecimal digits. */
  secret(): Promise<string>;
  /** What `stats` answers, over all namespaces; the last run of consolidation is the last of any. */
  totals(now: number): Promise<StorageStats>;
  /** Those with memories in a tier or in the archive. */
  namespaces(): Promise<string[]>;
  /** Every namespace of which anything is kept, by name. */
  usage(now: number): Promise<NamespaceUsage[]>;
  /** Says what a namespace may hold; what it holds already stays. */
  setQuota(namespace: string, quota: NamespaceQuota): Promise<void>;
  /**
   * Removes all that is kept of a namespace, its API keys first, and its texts from the bytes of the database too. What is
   * stored meanwhile stays. Answers how many memories went; after a crash, the same call finishes the work.
   */
  deleteNamespace(namespace: string): Promise<{ count: number; purged: boolean }>;
  /**
   * What is wrong with what is kept, in words for an operator; empty where nothing is. It holds everything that recall
   * uses against the memories themselves, and takes long where they are many.
   */
  integrity(): Promise<string[]>;

  /** Begins a run of consolidation, or takes up the namespace's unfinished one. UNAVAILABLE for a fence that has passed. */
  beginRun(namespace: string, begin: NewRun): Promise<BegunRun>;
  /** Moves working memories that are old enough to the episodic tier, oldest first. */
  settle(run: RunRef, settling: Settling, limit: number): Promise<StepResult>;
  /** Merges memories of one session whose texts are equal after NFC and trimming; `count` is the twins merged. */
  mergeTwins(run: RunRef, limit: number): Promise<StepResult>;
  /**
   * Memories that are new, have changed or whose semantic memory has to change, each with its nearest neighbours; those
   * that have not settled, or wait for their vectors, are passed over.
   */
  distilCandidates(request: DistilCandidatesRequest): Promise<DistilCandidates>;

  /** Candidates that one such call is best asked for: few where recall waits for it. */
  readonly candidatesAtOnce: number;
  /** About the median cosine of memories of a namespace that have nothing to do with each other. */
  backgroundCosine(namespace: string): Promise<number>;
  readGroup(request: GroupRequest): Promise<ReadGroup>;
  /**
   * Makes a semantic memory of others, which then are no candidates any more. Answers its ordinal; undefined, and
   * nothing is done, where one of them has changed or gone, or has become a source elsewhere.
   */
  distil(run: RunRef, memory: DistilledMemory): Promise<number | undefined>;
  /**
   * Gives a semantic memory other sources, which then are no candidates any more, and another text; the one that it had
   * goes into its history. False, and nothing is done, where one of them has changed or gone, or a client has written it.
   */
  refresh(run: RunRef, memory: RefreshedMemory): Promise<boolean>;
  /** Lets a memory rank below one that corrects it; false where that one corrects another, or either has changed. */
  correct(run: RunRef, correction: SeenCorrection): Promise<boolean>;
  /** Takes memories that have not changed since out of those to be looked at. */
  dropCandidates(run: RunRef, memories: SeenMemory[]): Promise<void>;
  /** Takes expired memories out of the tiers; their rows stay. */
  evictExpired(run: RunRef, now: number, limit: number): Promise<StepResult>;
  /**
   * A tier's live memories that are retained least, the least first; of two that are retained alike, the older first.
   * See `retentionOf` in core.
   *
   * @param count at most 10,000
   */
  leastRetained(namespace: string, tier: Tier, count: number, now: number): Promise<RetainedMemory[]>;
  /** Takes memories out of a tier that holds too many, as far as they are in it; their rows stay. Answers how many. */
  evictExcess(run: RunRef, tier: Tier, ordinals: number[], now: number): Promise<number>;
  /**
   * Erases memories that were evicted until a time, as `forget` does, and drops records of runs that ended until then,
   * but of the newest; `count` is both.
   */
  clearArchive(run: RunRef, until: number, limit: number): Promise<StepResult>;
  /** Notes that a run has done all its work, with whatever notes, and answers what it came to. */
  endRun(run: RunRef, endedAt: number, notes?: Record<string, unknown>): Promise<SleepRun>;
  /** Drops idempotency keys used before a time. */
  dropIdempotencyKeys(usedBefore: number, limit: number): Promise<StepResult>;

  /** What `settle` would settle, oldest first; at most `most` items. */
  planSettle(namespace: string, settling: Settling, most: number): Promise<Planned<{ id: string }>>;
  /** What `mergeTwins` would merge of what does not expire until `now`. */
  planMerge(namespace: string, now: number, most: number): Promise<Planned<{ id: string; mergedInto: string }>>;
  /** What `evictExpired` would evict. */
  planEvict(
    namespace: string,
    now: number,
    most: number,
  ): Promise<Planned<{ id: string; reason: ChangeDetails['evicted']['reason'] }>>;

  /** Runs, newest first; a place is a run's `no`. */
  runs(namespace: string, page: PageRequest<number>): Promise<Page<SleepRun, number>>;
  run(namespace: string, id: string): Promise<SleepRun | undefined>;
  /** What a run did, in order, to memories that have not been forgotten since; a place is a change's `seq`. */
  changes(namespace: string, no: number, page: PageRequest<number>): Promise<Page<RunChange, number>>;
  /**
   * Checks that a completed run can be undone and begins that, or goes on where a crash left it: the newest that changed
   * anything, if it ended after `endedAfter` and no client has since written what it would take back.
   */
  beginUndo(namespace: string, id: string, options: { fence: number; endedAfter: number }): Promise<UndoOutcome>;
  /** Begins to undo a run that has not ended, with notes that say why. */
  beginRevert(run: RunRef, notes: Record<string, unknown>): Promise<void>;
  /**
   * Takes back the last changes of a run that is being undone; where no more are left, the run is undone. What was
   * forgotten since stays forgotten, and what clients wrote since stays written.
   */
  undoSome(run: RunRef, at: number, limit: number): Promise<StepResult>;

  /**
   * Copies everything that is kept into a database of its own, while reads and writes go on. UNAVAILABLE where there is
   * no room for it, or the signal gave it up; NOT_FOUND where the database's own server has the tools for that. While it
   * is made, what is forgotten is not purged.
   */
  backup(signal?: AbortSignal): Promise<StorageCopy>;
  /** What a namespace keeps, as it is at one moment. UNAVAILABLE as for `backup`. */
  kept(namespace: string, signal?: AbortSignal): Promise<KeptRecords>;
  /**
   * Keeps records as they were kept elsewhere, all or, when it rejects, none of them; their vectors are made anew. A link
   * is set once both memories are there, so those of `links` are that now find theirs.
   *
   * @param links those that wait for a memory of these records
   */
  importKept(namespace: string, records: KeptRecord[], links: WaitingLink[]): Promise<Imported>;

  /**
   * Notes that all that another database keeps is to be imported, and goes on where an earlier call with the same name left
   * that unfinished. False, and nothing is noted, where anything else is kept here.
   *
   * @param from a name that the other database alone has
   */
  beginMigration(from: string): Promise<boolean>;
  /** Whether a migration has begun and not ended. */
  isMigrating(): Promise<boolean>;
  /** Notes that all has been imported: what is kept is this database's own from now on. */
  endMigration(): Promise<void>;

  /** Finishes what was accepted and leaves one file without a log beside it. */
  close(): Promise<void>;
}
