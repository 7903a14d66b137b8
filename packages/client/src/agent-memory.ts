import type {
  MemoryApi,
  MemoryScope,
  SessionMemory,
  StoreOptions,
  StoreRequest,
  StoreResponse,
} from '@memoryd/contract';
import { getOrigin } from '@memoryd/contract/scoped';
import { createTimeZone } from '@memoryd/contract/time-zone';
import { Circuit } from './circuit.ts';
import type { MemoryClient } from './client.ts';
import { isRequestError } from './failure.ts';
import { createIdempotencyKey } from './idempotency-key.ts';
import { toJsonBody } from './json-body.ts';
import { createFieldError, MemoryError } from './memory-error.ts';
import { RecallCache } from './recall-cache.ts';
import { MAX_WAITING, MAX_WAITING_BYTES, StoreQueue } from './store-queue.ts';
import { withTimeout } from './timer.ts';
import type { CallOptions } from './transport.ts';
import { scopeToUser, type UserScope } from './user-scope.ts';
import { withScope } from './with-scope.ts';

const DEFAULT_TIMEOUT_MS = 1500;
const MAX_TIMEOUT_MS = 60_000;
/** Timeout of one attempt to store memories in the background. */
const STORE_TIMEOUT_MS = 10_000;
/** Time for which the service may wait for the vectors of a memory before it responds. */
const EMBEDDING_WAIT_MS = 5000;
const DEFAULT_FLUSH_TIMEOUT_MS = 10_000;

/** An operation of an agent: the recall for a prompt, the read of a transcript, or a store in the background. */
export type AgentOperation = 'recall' | 'read' | 'store';

/** Limits the time that an agent spends on its memory. */
export interface AgentMemoryOptions {
  /**
   * Timeout in ms of a recall and of the read of a transcript, from 1 to 60,000. Defaults to 1,500. Each is tried once.
   * After a failure of the service, the operation is left out for 30 seconds.
   */
  timeoutMs?: number | undefined;
  /**
   * Time zone of the user, an IANA name such as `Europe/Berlin`. Recalls resolve words such as "yesterday" in this zone,
   * and models read times in it. Defaults to the time zone of the process.
   */
  timezone?: string | undefined;
  /**
   * Receives the first error of an outage, for each operation, and the errors of memories that could not be stored.
   * Defaults to `console.warn`.
   */
  onError?: ((error: unknown, operation: AgentOperation) => void) | undefined;
}

export interface FlushOptions {
  /** Timeout in ms. Longer than 24 days means 24 days. Defaults to 10,000. */
  timeoutMs?: number;
}

/** State of one service in this process. */
interface Service {
  circuits: Record<'recall' | 'read' | 'write', Circuit>;
  queue: StoreQueue;
  recalls: RecallCache;
}

/** Keyed by the API without scope: programs may create a scope for each request. */
const services = new WeakMap<MemoryApi, Service>();

function getService(api: MemoryApi): Service {
  let service = services.get(api);
  if (!service) {
    const circuits = { recall: new Circuit(), read: new Circuit(), write: new Circuit() };
    service = { circuits, queue: new StoreQueue(), recalls: new RecallCache() };
    services.set(api, service);
  }
  return service;
}

/**
 * Waits until the memories that this process stores in the background are stored, for all users and sessions of the
 * API. For programs that end. Rejects with UNAVAILABLE if some are not stored in time.
 */
export async function flushStores(api: MemoryApi, { timeoutMs = DEFAULT_FLUSH_TIMEOUT_MS }: FlushOptions = {}) {
  await getService(getOrigin(api).api).queue.flush(timeoutMs);
}

/**
 * The memories of one user as an agent uses them: an unavailable service costs little time and never fails a turn.
 * Objects for the same API share failures and waiting stores.
 */
export class AgentMemory {
  /** Name of the time zone of the user. */
  readonly timezone: string;
  readonly #memory: MemoryApi;
  readonly #service: Service;
  readonly #timeoutMs: number;
  readonly #onError: NonNullable<AgentMemoryOptions['onError']>;
  readonly #scope: MemoryScope;

  /** @throws TypeError if `userId` is missing, and RangeError for an invalid `timeoutMs` or `timezone` */
  constructor(api: MemoryApi, options: AgentMemoryOptions & UserScope) {
    const memory = scopeToUser(api, options);
    const { timeoutMs = DEFAULT_TIMEOUT_MS, onError = warn } = options;
    if (!(timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS)) {
      throw new RangeError(`timeoutMs must be a number of ms from 1 to ${MAX_TIMEOUT_MS}`);
    }
    this.timezone = createTimeZone(options.timezone).name;
    this.#memory = withTimeZone(memory, this.timezone);
    const origin = getOrigin(memory);
    this.#scope = origin.scope;
    this.#service = getService(origin.api);
    this.#timeoutMs = timeoutMs;
    this.#onError = onError;
  }

  /**
   * Makes the call once, within the timeout. Returns undefined if the service fails, and for 30 seconds after a
   * failure. Rejects with errors that the request causes.
   */
  async read<T>(operation: 'recall' | 'read', call: (memory: MemoryApi) => Promise<T>): Promise<T | undefined> {
    const circuit = this.#service.circuits[operation];
    try {
      return await circuit.call(() => callOnce(this.#memory, this.#timeoutMs, call));
    } catch (error) {
      if (isRequestError(error)) throw error;
      circuit.reportOnce((failure) => this.report(failure, operation));
      return undefined;
    }
  }

  /**
   * Returns the result of `recall` for a message, and calls `recall` only once while the message is being answered.
   *
   * @param message identifies the message within the scope
   */
  recallOnce<T>(message: string, recall: () => Promise<T>): Promise<T> {
    return this.#service.recalls.get(this.#toRecallKey(message), recall);
  }

  /** Ends the turn of a message. If the message is sent again, `recallOnce` makes a new recall. */
  endTurn(message: string): void {
    this.#service.recalls.delete(this.#toRecallKey(message));
  }

  /**
   * Returns the API for tools that a model calls: each call is made once, within `timeoutMs`, and writes within 5 more
   * seconds, because the service may wait for vectors. After a failure of the service, calls reject at once for 30
   * seconds.
   */
  getToolApi(): MemoryApi {
    const { circuits } = this.#service;
    const reading = <T>(call: (memory: MemoryApi) => Promise<T>) =>
      circuits.recall.call(() => callOnce(this.#memory, this.#timeoutMs, call));
    const writing = <T>(call: (memory: MemoryApi) => Promise<T>) =>
      circuits.write.call(() => callOnce(this.#memory, this.#timeoutMs + EMBEDDING_WAIT_MS, call));
    return {
      ...withScope(this.#memory),
      recall: (request) => reading((memory) => memory.recall(request)),
      session: (request) => reading((memory) => memory.session(request)),
      store: (request, options) => writing((memory) => memory.store(request, options)),
      update: (id, request, options) => writing((memory) => memory.update(id, request, options)),
      forget: (id, options) => writing((memory) => memory.forget(id, options)),
    };
  }

  /**
   * Stores memories in the background. `store` makes one attempt with the bounded API and must be idempotent.
   *
   * @throws MemoryError INVALID_REQUEST if the memories exceed the limits of the queue, or are not JSON
   */
  store(sessionId: string, requests: readonly StoreRequest[], store: (memory: MemoryApi) => Promise<unknown>): void {
    const bytes = new TextEncoder().encode(toJsonBody(requests)).length;
    if (requests.length > MAX_WAITING || bytes > MAX_WAITING_BYTES) {
      throw createFieldError('messages', `be at most ${MAX_WAITING} and 8 MiB; use storeBatch for more`);
    }
    if (requests.length === 0) return;
    this.#service.queue.add({
      session: this.#toSessionKey(sessionId),
      requests,
      bytes,
      store: () => callOnce(this.#memory, STORE_TIMEOUT_MS, store),
      report: (error) => this.report(error, 'store'),
    });
  }

  /** Returns the memories of a session that have not been stored yet, oldest first. */
  getUnstored(sessionId: string): StoreRequest[] {
    return this.#service.queue.getUnstored(this.#toSessionKey(sessionId));
  }

  /** Waits until all memories of the session are stored. Rejects with UNAVAILABLE if some are not stored in time. */
  flush(sessionId: string, { timeoutMs = DEFAULT_FLUSH_TIMEOUT_MS }: FlushOptions = {}): Promise<void> {
    return this.#service.queue.flush(timeoutMs, this.#toSessionKey(sessionId));
  }

  /** Forgets all memories of the session, including memories that wait to be stored. Rejects like `forgetMany`. */
  async forgetSession(sessionId: string): Promise<void> {
    await this.#service.queue.clear(this.#toSessionKey(sessionId));
    await this.#memory.forgetMany({ session_id: sessionId });
  }

  /** Passes an error to `onError`. Errors of `onError` never fail a turn. */
  async report(error: unknown, operation: AgentOperation): Promise<void> {
    try {
      await this.#onError(error, operation);
    } catch (thrown) {
      warn(thrown, operation);
    }
  }

  #toSessionKey(sessionId: string): string {
    const { userId, agentId } = this.#scope;
    return JSON.stringify([userId, agentId, sessionId]);
  }

  #toRecallKey(message: string): string {
    const { userId, agentId, shared } = this.#scope;
    return JSON.stringify([userId, agentId, shared, message]);
  }
}

let lastTimeMs = 0;

/**
 * Returns the requests with the current time as `created_at`, unless a request has its own. A memory that waits to be
 * stored so keeps the time at which it was said. No two calls use the same time, so the time identifies a message.
 */
export function withTime(requests: readonly StoreRequest[]): StoreRequest[] {
  lastTimeMs = Math.max(Date.now(), lastTimeMs + 1);
  const created_at = new Date(lastTimeMs).toISOString();
  return requests.map((request) => ({ ...request, created_at: request.created_at ?? created_at }));
}

/**
 * Returns the unstored memories that a transcript does not contain. An attempt in progress may have stored some of
 * them. Memories are equal if their role and time are equal, or their role and text if they have no time.
 */
export function withoutStored(
  unstored: readonly StoreRequest[],
  transcript: readonly Pick<SessionMemory, 'content' | 'created_at' | 'tags'>[],
): StoreRequest[] {
  const toKey = ({ tags }: { tags?: readonly string[] | null }, id: string | number) => JSON.stringify([tags?.[0], id]);
  const stored = new Set(
    transcript.flatMap((memory) => [toKey(memory, Date.parse(memory.created_at)), toKey(memory, memory.content)]),
  );
  return unstored.filter((memory) => {
    const { created_at: time, content } = memory;
    return !stored.has(toKey(memory, typeof time === 'string' ? Date.parse(time) : content));
  });
}

/** Returns a function that stores the requests as one batch and returns their ids. The function is idempotent. */
export function createBatchStore(
  requests: readonly StoreRequest[],
  { idempotencyKey = createIdempotencyKey() }: Pick<StoreOptions, 'idempotencyKey'> = {},
): (memory: MemoryApi) => Promise<string[]> {
  return async (memory) => {
    const { results, failed_count } = await memory.storeBatch([...requests], { idempotencyKey });
    const errors = results.flatMap((result) => ('error' in result ? [result.error] : []));
    // An error of the service comes first, because the batch is then stored again.
    const error = errors.find(({ code }) => !isRequestError(new MemoryError(code, ''))) ?? errors[0];
    if (error) {
      const message = `${failed_count} of ${results.length} messages were not stored: ${error.message}`;
      throw new MemoryError(error.code, message, { details: error.details, results });
    }
    return (results as StoreResponse[]).map(({ id }) => id);
  };
}

/** Makes a call without retries. Rejects with UNAVAILABLE, and aborts the call, if it takes longer than the timeout. */
async function callOnce<T>(memory: MemoryApi, timeoutMs: number, call: (memory: MemoryApi) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const createError = () => {
    const advice = 'check the service, or raise timeoutMs';
    const error = new MemoryError(
      'UNAVAILABLE',
      `the memory service did not respond within ${timeoutMs} ms; ${advice}`,
    );
    controller.abort(error);
    return error;
  };
  return withTimeout(timeoutMs, call(withCallOptions(memory, { retries: 0, signal: controller.signal })), createError);
}

/** Adds a time zone to recalls and contexts without one. */
function withTimeZone(memory: MemoryApi, timezone: string): MemoryApi {
  const { recall, context, ...others } = withScope(memory);
  const toRequest = <Request extends { timezone?: string }>(request: Request) => {
    return { ...request, timezone: request.timezone ?? timezone };
  };
  // Forwards the options of `MemoryClient`, which `MemoryApi` does not have.
  return {
    ...others,
    recall: (request, ...options: []) => recall(toRequest(request), ...options),
    context: (request, ...options: []) => context(toRequest(request), ...options),
  };
}

/** Adds options to all calls with which an agent reads and stores. APIs other than `MemoryClient` ignore the options. */
function withCallOptions(memory: MemoryApi, call: CallOptions): MemoryApi {
  const api = withScope(memory);
  const client = api as unknown as MemoryClient;
  return {
    ...api,
    recall: (request) => client.recall(request, call),
    context: (request) => client.context(request, call),
    session: (request) => client.session(request, call),
    memories: (request) => client.memories(request, call),
    store: (request, options) => client.store(request, { ...options, ...call }),
    storeBatch: (requests, options) => client.storeBatch(requests, { ...options, ...call }),
    update: (id, request, options) => client.update(id, request, { ...options, ...call }),
    forget: (id, options) => client.forget(id, { ...options, ...call }),
  };
}

const CONSEQUENCES: Readonly<Record<AgentOperation, string>> = {
  recall: 'memory recall failed, so no memories are recalled for at most 30 s',
  read: 'memory read failed, so the conversation has only messages that wait to be stored, for at most 30 s',
  store: 'memory store failed',
};

function warn(error: unknown, operation: AgentOperation): void {
  // biome-ignore lint/suspicious/noConsole: errors go to the console if no handler is set
  console.warn(CONSEQUENCES[operation], error);
}
