import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { MemoryError } from '@memoryd/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Maximum total bytes of request bodies in progress: four times the largest `maxBatchBodyBytes`. */
const MAX_BODY_BYTES = 256 * 1024 * 1024;
/** Maximum total bytes of unread responses: four times the largest `maxAnswerBytes`. */
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024;

/** Maximum share of one namespace, so that a caller with large or slow requests cannot block other namespaces. */
const MAX_NAMESPACE_SHARE = 1 / 2;

/** Responses up to this size are not counted, because they fit into the system's socket buffer. */
const SMALL_RESPONSE_BYTES = 64 * 1024;

/** Maximum time for reading a large response: 64 MiB at 220 KiB per second. */
const MAX_RESPONSE_MS = 300_000;

/** Methods without side effects: their responses can be dropped, because clients can send the request again. */
const SAFE_METHODS = new Set(['GET', 'HEAD']);

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route changes nothing although its method may, so that its response may be refused. */
    isRead?: boolean;
  }
  interface FastifyInstance {
    /** The budget for responses that are generated in parts; each part is counted from its creation. */
    responseBudget: ResponseBudget;
  }
}

interface ResponseBudget {
  /** Throws UNAVAILABLE if the budget of the namespace, or of all namespaces, is exhausted. */
  assert(namespace: string): void;
  /** Counts a part of a response until the response is read or aborted. */
  hold(namespace: string, response: ServerResponse, bytes: number): void;
}

/**
 * Refuses a request as UNAVAILABLE if its body would make the bodies of pending requests exceed the limit in total, or
 * half of the limit in its namespace. Bodies of heavy requests have a separate budget, so that a few slow heavy
 * requests do not block other requests.
 */
export function limitBodies(app: FastifyInstance, limitBytes = MAX_BODY_BYTES): void {
  const budgets = { heavy: new ByteBudget(limitBytes), other: new ByteBudget(limitBytes) };
  app.addHook('onRequest', (request, { raw }, done) => {
    const kind = request.routeOptions.config.heavy === undefined ? 'other' : 'heavy';
    const bytes = getMaxBodyBytes(request);
    // If the client disconnected while waiting for a slot, `close` already fired and would release nothing.
    if (bytes === 0 || raw.destroyed) return done();
    const release = budgets[kind].tryReserve(request.caller.namespace, bytes);
    if (!release) return done(createBudgetError('request bodies in progress'));
    raw.once('close', release);
    done();
  });
}

/** Bytes reserved per namespace, with a total limit. Bytes above a namespace's share do not count toward the total. */
class ByteBudget {
  readonly #limit: number;
  readonly #share: number;
  readonly #byNamespace = new Map<string, number>();
  #total = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#share = limit * MAX_NAMESPACE_SHARE;
  }

  /** Reserves bytes and returns the function that releases them; `undefined` if the budget is exhausted. */
  tryReserve(namespace: string, bytes: number): (() => void) | undefined {
    const own = this.#get(namespace);
    // A single pending request of a namespace may exceed the share.
    if (own > 0 && own + bytes > this.#share) return undefined;
    if (this.#total + this.#capAtShare(own + bytes) - this.#capAtShare(own) > this.#limit) return undefined;
    return this.reserve(namespace, bytes);
  }

  /** Reserves bytes even if the budget is exhausted, and returns the function that releases them. */
  reserve(namespace: string, bytes: number): () => void {
    this.#add(namespace, bytes);
    return () => this.#add(namespace, -bytes);
  }

  /** Returns whether a namespace cannot reserve more bytes. */
  isFull(namespace: string): boolean {
    return this.#total >= this.#limit || this.#get(namespace) >= this.#share;
  }

  #get(namespace: string): number {
    return this.#byNamespace.get(namespace) ?? 0;
  }

  #capAtShare(own: number): number {
    return Math.min(own, this.#share);
  }

  #add(namespace: string, bytes: number): void {
    const before = this.#get(namespace);
    const own = before + bytes;
    if (own > 0) this.#byNamespace.set(namespace, own);
    else this.#byNamespace.delete(namespace);
    this.#total += this.#capAtShare(own) - this.#capAtShare(before);
  }
}

/** Returns the Content-Length of a request, or the route's body limit if the length is unknown or larger. */
function getMaxBodyBytes({ raw: { headers }, routeOptions: { bodyLimit } }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return bodyLimit;
  return Math.min(Number(headers['content-length'] ?? 0), bodyLimit);
}

/**
 * Refuses heavy requests, and large responses to reads, as UNAVAILABLE if unread responses reach the limit in
 * total, or half of the limit in one namespace. Closes the connection of a client that reads nothing for `idleMs`, or
 * does not finish reading a large response within `MAX_RESPONSE_MS`.
 */
export function limitResponses(app: FastifyInstance, idleMs: number, limitBytes = MAX_RESPONSE_BYTES): void {
  const budget = new ByteBudget(limitBytes);
  app.decorate('responseBudget', createResponseBudget(budget));
  app.addHook('onRequest', ({ caller, routeOptions }, _reply, done) => {
    const isRefused = routeOptions.config.heavy !== undefined && budget.isFull(caller.namespace);
    done(isRefused ? createBudgetError('unread responses') : undefined);
  });
  app.addHook('onSend', ({ caller, method, routeOptions }, { raw }, payload, done) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
    // An injected request has no real socket.
    if (raw.socket instanceof Socket) raw.setTimeout(idleMs);
    // If the client has disconnected, `close` already fired and would release nothing.
    if (bytes <= SMALL_RESPONSE_BYTES || raw.destroyed) return done();
    // The response to a write is always sent: otherwise the client would repeat the write.
    const { namespace } = caller;
    const isRead = SAFE_METHODS.has(method) || routeOptions.config.isRead === true;
    const release = isRead ? budget.tryReserve(namespace, bytes) : budget.reserve(namespace, bytes);
    if (!release) return done(createBudgetError('unread responses'));
    const deadline = setTimeout(() => raw.destroy(), MAX_RESPONSE_MS);
    raw.once('close', () => {
      release();
      clearTimeout(deadline);
    });
    done();
  });
}

function createResponseBudget(budget: ByteBudget): ResponseBudget {
  /** Functions that release the parts of each unread response. */
  const releases = new WeakMap<ServerResponse, (() => void)[]>();
  return {
    assert(namespace) {
      if (budget.isFull(namespace)) throw createBudgetError('unread responses');
    },
    hold(namespace, response, bytes) {
      // If the client has disconnected, `close` already fired and would release nothing.
      if (response.destroyed) return;
      const parts = releases.get(response) ?? [];
      parts.push(budget.reserve(namespace, bytes));
      if (parts.length > 1) return;
      releases.set(response, parts);
      response.once('close', () => {
        for (const release of parts) release();
      });
    },
  };
}

function createBudgetError(what: string): MemoryError {
  return new MemoryError('UNAVAILABLE', `${what} hold too much memory; retry later`);
}
