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
import type { SessionRequest, SessionResponse, SessionsRequest, SessionsResponse } from './session.ts';
import type { StatsResponse } from './stats.ts';
import type { StoreRequest, StoreResponse } from './store.ts';
import type { StoreBatchRequest, StoreBatchResponse } from './store-batch.ts';
import type { UpdateRequest, UpdateResponse } from './update.ts';

/** What makes a store safe to send again. */
export interface StoreOptions {
  /** 1 to 255 characters; the same key with the same request within 24 hours stores once. */
  idempotencyKey?: string;
}

/** What must hold of a memory for a write to happen. */
export interface WriteCondition {
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
  /** The sessions, in the order of their ids. */
  sessions(request: SessionsRequest): Promise<SessionsResponse>;
  /** One memory whole. NOT_FOUND when it does not exist, was forgotten or has expired. */
  memory(memoryId: string): Promise<Memory>;
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
   * Removes a memory and its merged twins for good, their words from what was distilled from them, and what was distilled
   * from them alone. Errors as `update`.
   */
  forget(memoryId: string, condition?: WriteCondition): Promise<ForgetResponse>;
  /** Removes every memory that all given conditions select, merged twins included. */
  forgetMany(request: ForgetManyRequest): Promise<ForgetManyResponse>;
  /**
   * Settles, merges, distils and expires; waits for a run under way and then makes, or shares, a new one. A dry run answers at
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
  exportMemories(signal?: AbortSignal): AsyncIterable<string>;
  /**
   * Keeps what an export holds, its lines as UTF-8: each memory is kept whole or refused, and what is there already stays
   * as it is, so that an import that was cut off is made again from the beginning. INVALID_REQUEST where the first line is
   * no header that is known here.
   */
  importMemories(lines: AsyncIterable<Uint8Array>): Promise<ImportResponse>;
  /** Counts by tier, database size and the last consolidation. */
  stats(): Promise<StatsResponse>;
}
