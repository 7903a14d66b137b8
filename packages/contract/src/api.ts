import type { ConsolidateRequest, ConsolidateResponse } from './consolidate.ts';
import type {
  ConsolidationRequest,
  ConsolidationResponse,
  ConsolidationsRequest,
  ConsolidationsResponse,
  UndoResponse,
} from './consolidations.ts';
import type { EventsRequest, MemoryEvent } from './events.ts';
import type { ForgetManyRequest, ForgetManyResponse, ForgetResponse } from './forget.ts';
import type { HistoryRequest, HistoryResponse } from './history.ts';
import type { ImportResponse } from './import.ts';
import type { MemoriesRequest, MemoriesResponse } from './memories.ts';
import type { Memory } from './memory.ts';
import type { RecallRequest, RecallResponse } from './recall.ts';
import type { OwnScopeRequest, ScopeRequest } from './scope.ts';
import type { SessionRequest, SessionResponse, SessionsRequest, SessionsResponse } from './session.ts';
import type { StatsResponse } from './stats.ts';
import type { StoreRequest, StoreResponse } from './store.ts';
import type { StoreBatchRequest, StoreBatchResponse } from './store-batch.ts';
import type { UpdateRequest, UpdateResponse } from './update.ts';
import type { UsersRequest, UsersResponse } from './users.ts';

/** What makes a store safe to send again. */
export interface StoreOptions {
  /** 1 to 255 characters; the same key with the same request within 24 hours stores once. */
  idempotencyKey?: string;
}

/** Conditions of a write. A memory of another user or agent is not found. */
export interface WriteCondition extends OwnScopeRequest {
  /** Versions of the memory that the caller has seen, any of which will do; absent, any version will do. */
  ifVersions?: number[];
}

/**
 * What a caller may ask of one namespace's memories: the verbs of the REST interface under the same names. The
 * engine, the HTTP server and every client speak it.
 *
 * Every method rejects with a `MemoryError`: INVALID_REQUEST for a request that its schema refuses, UNAVAILABLE when
 * the database or a queue cannot take it now.
 */
export interface MemoryApi {
  /** Keeps a memory; resolved when it is on disk. CONFLICT when the idempotency key was used with another request. */
  store(request: StoreRequest, options?: StoreOptions): Promise<StoreResponse>;
  /**
   * Keeps many memories, each on its own: what is answered as stored is on disk, whatever became of the others. With
   * an idempotency key, each memory has that key and its place in the batch. INVALID_REQUEST for what is no array or
   * too long; everything else is told in the results.
   */
  storeBatch(requests: StoreBatchRequest, options?: StoreOptions): Promise<StoreBatchResponse>;
  /** The memories that answer a query best, best first. */
  recall(request: RecallRequest): Promise<RecallResponse>;
  /** A session's transcript, oldest first. A session nobody stored into is empty. */
  session(request: SessionRequest): Promise<SessionResponse>;
  /** The sessions, in the order of their ids and users. */
  sessions(request: SessionsRequest): Promise<SessionsResponse>;
  /** The users of whom anything is kept, in the order of their ids. */
  users(request?: UsersRequest): Promise<UsersResponse>;
  /** One memory whole. NOT_FOUND when it does not exist, was forgotten, has expired, or is outside of the scope. */
  memory(memoryId: string, scope?: ScopeRequest): Promise<Memory>;
  /**
   * The texts that a memory has had, oldest first, or the one of a time. NOT_FOUND as above, and for a time before it
   * was stored.
   */
  history(memoryId: string, request?: HistoryRequest): Promise<HistoryResponse>;
  /** Memories that pass a filter, newest first. */
  memories(request: MemoriesRequest): Promise<MemoriesResponse>;
  /** Changes a memory. NOT_FOUND as above; PRECONDITION_FAILED when the condition does not hold. */
  update(memoryId: string, request: UpdateRequest, condition?: WriteCondition): Promise<UpdateResponse>;
  /**
   * Removes a memory and its merged duplicates for good, their words from what was distilled from them, and what was distilled
   * from them alone. Errors as `update`.
   */
  forget(memoryId: string, condition?: WriteCondition): Promise<ForgetResponse>;
  /** Removes every memory that all given conditions select, merged duplicates included. */
  forgetMany(request: ForgetManyRequest): Promise<ForgetManyResponse>;
  /**
   * Promotes, merges, distils and expires; waits for a run under way and then makes, or shares, a new one. A dry run answers at
   * once what would happen.
   */
  consolidate(request?: ConsolidateRequest): Promise<ConsolidateResponse>;
  /** The runs of consolidation, newest first, as far back as the archive goes. */
  consolidations(request: ConsolidationsRequest): Promise<ConsolidationsResponse>;
  /** One run with what it did, in order. NOT_FOUND when there is no such run. */
  consolidation(request: ConsolidationRequest): Promise<ConsolidationResponse>;
  /**
   * Takes a run back. NOT_FOUND as above; CONFLICT when it has not ended or has been undone, is older than the archive
   * goes, a newer run has to be undone first, or clients have since written memories that it changed, which the details
   * name.
   */
  undo(consolidationId: string): Promise<UndoResponse>;
  /**
   * What happens in this namespace, in order and without end: what the process does that is asked and, on PostgreSQL, what
   * others do that share the database. It ends when the signal says so, when the engine closes, and for a reader who
   * falls too far behind or may have missed something. Errors are thrown at once or at the first step; UNAVAILABLE too
   * when too many streams are open.
   */
  events(request?: EventsRequest, signal?: AbortSignal): AsyncIterable<MemoryEvent>;
  /**
   * Everything that is kept of the memories, as it is at one moment, line by line without line ends: an `ExportHeader`,
   * then an `ExportedMemory` or `ExportedDecline` each, as JSON. Errors as `events`; UNAVAILABLE too when the disk has no
   * room, or a memory has had more text than a line may hold.
   */
  exportMemories(request?: ScopeRequest, signal?: AbortSignal): AsyncIterable<string>;
  /**
   * Keeps what an export holds, its lines as UTF-8: each memory is kept whole or refused, and what is there already stays
   * as it is, so that an import that was cut off is made again from the beginning. INVALID_REQUEST where the first line is
   * no header that is known here.
   *
   * @param scope the user and agent of what names none; what names another is refused
   */
  importMemories(lines: AsyncIterable<Uint8Array>, scope?: OwnScopeRequest): Promise<ImportResponse>;
  /** Counts by tier, database size and the last consolidation; within a scope, of its memories alone. */
  stats(request?: ScopeRequest): Promise<StatsResponse>;
}

/** A user, an agent, or one agent for one user. One of them at least is given. */
export interface MemoryScope {
  /** 1 to 256 characters. */
  userId?: string;
  /** 1 to 256 characters. */
  agentId?: string;
  /** Whether reads see memories without a user, or without an agent, too where they do not say otherwise. */
  shared?: boolean;
}

/** Memories of which those of one scope can be had alone. */
export type Scopable<Api extends MemoryApi> = Pick<Api, keyof MemoryApi> & {
  /**
   * Returns the same methods for the memories of one user, of one agent, or of one agent for one user. Everything that is
   * stored through them belongs to that scope, and nothing else is found, counted or changed; `shared: true` lets reads
   * see memories without a user or agent too. What names another user or agent is FORBIDDEN, a batch as a whole, and so is
   * what is about the whole namespace: consolidation and the list of users. INVALID_REQUEST for a scope without a user and
   * an agent, and for a request that is no object. Of a scope within a scope, the inner one decides on `shared`.
   */
  scope(scope: MemoryScope): Scopable<Api>;
};
