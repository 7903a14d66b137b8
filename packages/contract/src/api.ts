import type { MemoryChanges, MemorySelection, UndoChangeResponse, UpdateManyResponse } from './changes.ts';
import type { ConsolidateRequest, ConsolidateResponse } from './consolidate.ts';
import type {
  ConsolidationRequest,
  ConsolidationResponse,
  ConsolidationsRequest,
  ConsolidationsResponse,
  UndoRequest,
  UndoResponse,
} from './consolidations.ts';
import type { ContextRequest, ContextResponse } from './context.ts';
import type {
  CorrectionsRequest,
  CorrectionsResponse,
  DecideCorrectionRequest,
  DecideCorrectionResponse,
} from './corrections.ts';
import type { EventsRequest, MemoryEvent } from './events.ts';
import type { ExportRequest } from './export.ts';
import type { FacetsRequest, FacetsResponse } from './facets.ts';
import type { ForgetManyRequest, ForgetManyResponse, ForgetResponse } from './forget.ts';
import type { GrowthRequest, GrowthResponse } from './growth.ts';
import type { HistoryRequest, HistoryResponse } from './history.ts';
import type { ImportResponse } from './import.ts';
import type {
  ImportedText,
  ImportsRequest,
  ImportsResponse,
  ImportTextsRequest,
  ImportTextsResponse,
  UndoImportResponse,
} from './imports.ts';
import type { MapRequest, MapResponse } from './map.ts';
import type { MemoriesRequest, MemoriesResponse } from './memories.ts';
import type { Memory } from './memory.ts';
import type { RecallRequest, RecallResponse } from './recall.ts';
import type { RecallsRequest, RecallsResponse } from './recalls.ts';
import type { RelatedRequest, RelatedResponse } from './related.ts';
import type { OwnScopeRequest, ScopeRequest } from './scope.ts';
import type { SessionRequest, SessionResponse, SessionsRequest, SessionsResponse } from './session.ts';
import type { StatsResponse } from './stats.ts';
import type { StoreRequest, StoreResponse } from './store.ts';
import type { StoreBatchRequest, StoreBatchResponse } from './store-batch.ts';
import type { UpdateRequest, UpdateResponse } from './update.ts';
import type { UsersRequest, UsersResponse } from './users.ts';

/** Options of `store` and `storeBatch`. */
export interface StoreOptions {
  /** 1 to 255 characters. The same key with the same request within 24 hours stores only once, so retries are safe. */
  idempotencyKey?: string;
  /**
   * 1 to 10: adds up to this number of similar memories to each stored memory. They belong to the same user and agent,
   * hold now, and speak of the same thing in other words. `storeBatch` then takes at most 1,000 memories. A repeated
   * request finds what the first request found, unless memories were forgotten since. A failed search leaves out
   * `similar`; the memory is stored nevertheless.
   */
  similar?: number;
}

/**
 * Scope and version conditions of a write. The write rejects with NOT_FOUND if the memory belongs to another user or
 * agent.
 */
export interface WriteCondition extends OwnScopeRequest {
  /**
   * Accepted versions of the memory. The write fails if the current version is not in the list. Absent: any version.
   */
  ifVersions?: number[];
}

/**
 * Operations on the memories of one namespace, with the same names as in the REST API. Implemented by the engine and by
 * every client.
 *
 * Every method rejects with a `MemoryError`: INVALID_REQUEST if the request does not match its schema, UNAVAILABLE if
 * the database or a queue cannot accept the request now.
 */
export interface MemoryApi {
  /**
   * Stores a memory. Resolves when the memory is on disk. CONFLICT if the idempotency key was used with another
   * request, or for `supersedes` as in `update`. NOT_FOUND if `supersedes` does not exist in the scope.
   */
  store(request: StoreRequest, options?: StoreOptions): Promise<StoreResponse>;
  /**
   * Stores many memories independently of each other. Memories that are reported as stored are on disk. An idempotency
   * key applies to each memory together with its index in the batch. INVALID_REQUEST if `requests` is not an array or
   * is too long, or if the idempotency key is invalid. The results contain the errors of individual memories.
   */
  storeBatch(requests: StoreBatchRequest, options?: StoreOptions): Promise<StoreBatchResponse>;
  /** Returns the memories that answer a query best, best first. */
  recall(request: RecallRequest): Promise<RecallResponse>;
  /**
   * Returns what an agent should know now, as a text of at most `budget` tokens. With `once`, remembers for a day what
   * was given in the session. INVALID_REQUEST for `once` or `reset` without `session_id`.
   */
  context(request: ContextRequest): Promise<ContextResponse>;
  /** Returns the transcript of a session, oldest first. An unknown session is empty. */
  session(request: SessionRequest): Promise<SessionResponse>;
  /** Lists sessions, ordered by id and user. */
  sessions(request: SessionsRequest): Promise<SessionsResponse>;
  /** Lists the users that have stored data, ordered by id. */
  users(request?: UsersRequest): Promise<UsersResponse>;
  /**
   * Returns one memory. NOT_FOUND if it does not exist, was forgotten or evicted, has expired, or is outside the scope.
   */
  memory(memoryId: string, scope?: ScopeRequest): Promise<Memory>;
  /**
   * Returns the text history of a memory, oldest first, or its text at one time. NOT_FOUND as for `memory`, and for a
   * time before the memory was stored.
   */
  history(memoryId: string, request?: HistoryRequest): Promise<HistoryResponse>;
  /**
   * Lists the memories that match a filter, by default newest first. INVALID_REQUEST for `offset` with `cursor`, and for
   * `cursor` in a list that is not ordered by `created`.
   */
  memories(request: MemoriesRequest): Promise<MemoriesResponse>;
  /** Lists the values of a field among the memories that match a filter, most frequent first. */
  facets(request: FacetsRequest): Promise<FacetsResponse>;
  /** Counts the memories that match a filter by the period in which they were created. */
  growth(request: GrowthRequest): Promise<GrowthResponse>;
  /**
   * Returns places for the memories that match a filter, so that memories of similar meaning are near each other. The
   * places are computed in the background; the response has those of the last computation.
   */
  map(request?: MapRequest): Promise<MapResponse>;
  /** Lists the memories that speak of the same thing as one memory, best first. NOT_FOUND as for `memory`. */
  related(memoryId: string, request?: RelatedRequest): Promise<RelatedResponse>;
  /** Lists the last recalls and the contexts that agents were given, newest first, as far as they are remembered. */
  recalls(request?: RecallsRequest): Promise<RecallsResponse>;
  /**
   * Changes a memory. NOT_FOUND as for `memory`, and if `supersedes` does not exist in the scope. CONFLICT if the memory
   * would supersede itself through others, or a memory from which it was distilled. PRECONDITION_FAILED if the current
   * version is not in `ifVersions`.
   */
  update(memoryId: string, request: UpdateRequest, condition?: WriteCondition): Promise<UpdateResponse>;
  /**
   * Deletes a memory and its merged duplicates for good. Removes their words from semantic memories that were distilled
   * from them, and deletes semantic memories that have no other source. Errors as for `update`.
   */
  forget(memoryId: string, condition?: WriteCondition): Promise<ForgetResponse>;
  /**
   * Changes all memories that meet every condition of the selection. Memories that were changed are on disk. A call that
   * was interrupted can be repeated with its `change_id`. INVALID_REQUEST for a selection without a condition. CONFLICT
   * for a `change_id` that was used for another change in the last hour, or whose change was undone.
   */
  updateMany(selection: MemorySelection, changes: MemoryChanges): Promise<UpdateManyResponse>;
  /**
   * Takes a change of many memories back, except what was changed since. Of tags and metadata that were changed since, a
   * tag that the change added goes, a tag that it removed returns, and a field that still has its new value gets its
   * earlier one, as far as the limits for tags and metadata allow. An undo that was interrupted can be repeated; the
   * response to a repeated undo is the same. NOT_FOUND if the change does not exist in the scope or is older than an
   * hour. A change belongs to the user and agent that its selection names: a change without them cannot be undone in the
   * scope of a user.
   */
  undoChange(changeId: string, scope?: OwnScopeRequest): Promise<UndoChangeResponse>;
  /** Deletes all memories that match every condition of the request, including merged duplicates. */
  forgetMany(request: ForgetManyRequest): Promise<ForgetManyResponse>;
  /**
   * Runs consolidation: promotes, merges, distils and evicts memories. If a run is in progress, waits for it and then
   * starts a new run, which concurrent callers share. A dry run returns the plan immediately. May reject with NOT_FOUND if
   * the namespace is deleted during the run.
   */
  consolidate(request?: ConsolidateRequest): Promise<ConsolidateResponse>;
  /** Lists consolidation runs within the archive's retention, newest first. */
  consolidations(request: ConsolidationsRequest): Promise<ConsolidationsResponse>;
  /** Returns one run with its changes, in order. NOT_FOUND if the run does not exist. */
  consolidation(request: ConsolidationRequest): Promise<ConsolidationResponse>;
  /**
   * Undoes a run, and with `with_later` first the later runs that changed something. Each run is undone completely, and
   * no run starts in between. With `memory_id`, undoes only the changes that the run made to this memory. NOT_FOUND if
   * the run does not exist, or if it has no change of the memory that is not undone. CONFLICT if the run has not ended or
   * was undone already, if it is older than the archive's retention, if a later run must be undone first, or if clients
   * have since changed memories of the run; `details` lists these memories. If a later run cannot be undone, CONFLICT
   * names it; `details` lists the runs that were undone before, and a repeated call continues there.
   */
  undo(consolidationId: string, request?: UndoRequest): Promise<UndoResponse>;
  /** Lists the corrections that consolidation has suggested, in one state, latest first. */
  corrections(request?: CorrectionsRequest): Promise<CorrectionsResponse>;
  /**
   * Accepts or declines a suggested correction. Accepting makes the later memory supersede the earlier one. Declining an
   * accepted correction undoes the acceptance. NOT_FOUND if the correction does not exist in the scope, or if it is
   * pending and one of its memories has changed. CONFLICT if it can no longer be accepted.
   */
  decideCorrection(
    correctionId: string,
    request: DecideCorrectionRequest,
    scope?: OwnScopeRequest,
  ): Promise<DecideCorrectionResponse>;
  /**
   * Streams the events of the namespace in order: events of this process and, on PostgreSQL, of all processes that
   * share the database. The stream ends when the signal is aborted, when the engine closes, or when the reader falls
   * too far behind or may have missed events. Errors are thrown by the call or by the first iteration; UNAVAILABLE also
   * if too many streams are open.
   */
  events(request?: EventsRequest, signal?: AbortSignal): AsyncIterable<MemoryEvent>;
  /**
   * Exports a consistent snapshot of the memories as lines of JSON without line terminators: first an `ExportHeader`,
   * then one `ExportedMemory` or `ExportedDecline` per line. Errors as for `events`; UNAVAILABLE also if the disk is
   * full, or if the text history of a memory exceeds the maximum line length.
   */
  exportMemories(request?: ExportRequest, signal?: AbortSignal): AsyncIterable<string>;
  /**
   * Imports the lines of an export. Each memory is either imported completely or rejected. Memories that already exist
   * are left unchanged, so an interrupted import can be repeated from the beginning. INVALID_REQUEST if the first line
   * is not a supported header.
   *
   * @param lines lines in UTF-8, without line terminators
   * @param scope user and agent for lines without a user and agent; lines with a different user or agent are rejected
   */
  importMemories(lines: AsyncIterable<Uint8Array>, scope?: OwnScopeRequest): Promise<ImportResponse>;
  /**
   * Stores texts of another program as memories, in their order. Each text is either stored completely or refused; a
   * refused text is listed with its external id, or as `text 3` by its number from 1. Texts that already exist are not
   * stored again: a text that changed in the source since it was imported is updated, unless someone changed its
   * memory. So an interrupted import can be repeated from the beginning. An error that `texts` throws ends the
   * import; the texts before it stay stored. INVALID_REQUEST if the request is invalid, before a text is read.
   * CONFLICT if the undo of the import with this content was interrupted; repeat the undo first.
   *
   * @param texts any number of texts, read as fast as they are stored
   * @param request the source, the owner of texts without a user and agent, and options; texts of a different user or
   *   agent are refused
   */
  importTexts(texts: AsyncIterable<ImportedText>, request: ImportTextsRequest): Promise<ImportTextsResponse>;
  /** Lists imports of texts and of exports, newest first. */
  imports(request?: ImportsRequest): Promise<ImportsResponse>;
  /**
   * Forgets the memories that an import created, as `forget` does, and the import. Memories that were changed since stay.
   * A memory that a later import changed then belongs to that import. NOT_FOUND if the import does not exist, was undone
   * already, or belongs to another user or agent. CONFLICT while the import is running. A call that was interrupted can be
   * repeated.
   */
  undoImport(importId: string, scope?: OwnScopeRequest): Promise<UndoImportResponse>;
  /** Returns counts by tier, the database size and the time of the last consolidation. A scope limits the counts. */
  stats(request?: ScopeRequest): Promise<StatsResponse>;
}

/** Limits an API to a user, an agent, or one agent of one user. At least one of `userId` and `agentId` is required. */
export interface MemoryScope {
  /** 1 to 256 characters. */
  userId?: string;
  /** 1 to 256 characters. */
  agentId?: string;
  /** Default of `shared` for reads: whether to include memories without a user or without an agent. */
  shared?: boolean;
}

/** An API that can be limited to one scope. */
export type Scopable<Api extends MemoryApi> = Pick<Api, keyof MemoryApi> & {
  /**
   * Returns the same methods, limited to the memories of one user, one agent, or one agent of one user. Stored memories
   * belong to the scope, and calls return, count and change only memories of the scope. With `shared: true`, reads also
   * include memories without a user or agent. In nested scopes, `shared` of the inner scope wins.
   *
   * FORBIDDEN for a request (or batch) that names another user or agent, for a write with `shared: true`, and for
   * operations on the whole namespace: consolidation and the list of users. INVALID_REQUEST for a scope without user
   * and agent, and for a request that is not an object.
   */
  scope(scope: MemoryScope): Scopable<Api>;
};
