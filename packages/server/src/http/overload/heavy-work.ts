import { FairQueue } from '@memoryd/engine';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createDisconnectSignal } from '../disconnect-signal.ts';

interface Limit {
  /** Maximum number of requests that run concurrently. */
  maxRunning: number;
  /** Maximum number of queued requests. */
  maxQueued: number;
  /**
   * Maximum number of running and queued requests per namespace; unlimited if omitted. Further requests are refused.
   */
  maxPerNamespace?: number;
  /** Whether the slot is acquired before the body is read; otherwise after the body has been parsed. */
  isBeforeBody: boolean;
}

/**
 * Concurrency limits for each kind of expensive work; a route names its kind as `config.heavy` or `config.heavyWith`. With a database file, a
 * single thread or process does the work of each kind, so more concurrency would use more memory without finishing
 * sooner.
 */
const HEAVY = {
  /** Bodies of up to 64 MiB, read completely before the slot is acquired: a slow sender must not occupy a slot. */
  batch: { maxRunning: 4, maxQueued: 64, isBeforeBody: false },
  /** Responses with up to 64 MiB of content. */
  list: { maxRunning: 8, maxQueued: 256, isBeforeBody: true },
  /**
   * Responses that are mostly small. The queue is as long as the default limit of connections. A slow sender of `POST
   * /recall` must not occupy a slot.
   */
  recall: { maxRunning: 32, maxQueued: 1024, isBeforeBody: false },
  /**
   * Backups and exports. With a database file, a separate process creates one copy at a time; the client decides how
   * long reading a copy takes.
   */
  copy: { maxRunning: 4, maxQueued: 16, maxPerNamespace: 2, isBeforeBody: true },
  /** Each import buffers one line, up to a memory with its whole history; the client decides how long sending takes. */
  import: { maxRunning: 2, maxQueued: 0, maxPerNamespace: 1, isBeforeBody: true },
  /** Concurrent callers share one consolidation run, so most of these requests only wait for that run. */
  consolidation: { maxRunning: 64, maxQueued: 256, isBeforeBody: true },
} as const satisfies Record<string, Limit>;

type HeavyKind = keyof typeof HEAVY;

declare module 'fastify' {
  interface FastifyContextConfig {
    heavy?: HeavyKind;
    /** The kind of work of requests with this query parameter. The slot is acquired after the body has been read. */
    heavyWith?: { parameter: string; kind: 'recall' };
  }
  interface FastifyInstance {
    /** The queues of running and waiting requests, by kind of work. */
    heavyWork: Readonly<Record<HeavyKind, FairQueue>>;
    /**
     * Acquires a slot for heavy work that is not a whole HTTP request, such as a tool call. Resolves with the function
     * that releases the slot.
     *
     * @param signal aborted when the client disconnects
     */
    acquireSlot(kind: HeavyKind, namespace: string, signal: AbortSignal): Promise<() => void>;
  }
}

/**
 * Maximum time in a queue, as a share of the body deadline: a request may be queued before its body is received, and
 * that deadline is already running.
 */
const MAX_QUEUE_SHARE = 1 / 3;

/**
 * Queues requests to routes with `config.heavy`. Throws UNAVAILABLE if the queue is full, a request waited too long, or
 * the namespace of the request has reached its limit. A slot is released when the response is ready, before the client
 * reads the response; the slot of a download is released at the end of the download. Must be called after the hook that
 * sets the caller.
 */
export function limitHeavyWork(app: FastifyInstance, slowClientMs: number): void {
  const queues = createQueues(slowClientMs * MAX_QUEUE_SHARE);
  app.decorate('heavyWork', queues);
  app.decorate('acquireSlot', (kind, namespace, signal) => queues[kind].acquire(namespace, () => signal));
  const releases = new WeakMap<FastifyReply, () => void>();
  const acquireSlot = (isBeforeBody: boolean) => async (request: FastifyRequest, reply: FastifyReply) => {
    const kind = getKind(request, isBeforeBody);
    if (kind === undefined || HEAVY[kind].isBeforeBody !== isBeforeBody) return;
    const release = await queues[kind].acquire(getQueueKey(request), () => createDisconnectSignal(reply.raw));
    releases.set(reply, release);
    // Downloads bypass `onSend`, so the slot is also released on `close`.
    reply.raw.once('close', release);
    if (reply.raw.destroyed) release();
  };
  app.addHook('onRequest', acquireSlot(true));
  app.addHook('preHandler', acquireSlot(false));
  app.addHook('onSend', async (_request, reply) => releases.get(reply)?.());
}

function getKind({ routeOptions, query }: FastifyRequest, isBeforeBody: boolean): HeavyKind | undefined {
  const { heavy, heavyWith } = routeOptions.config;
  // The query has not been validated before the body is read.
  if (heavy !== undefined || !heavyWith || isBeforeBody) return heavy;
  return Object.hasOwn(query as object, heavyWith.parameter) ? heavyWith.kind : undefined;
}

function createQueues(timeoutMs: number): Record<HeavyKind, FairQueue> {
  const queues = Object.entries<Limit>(HEAVY).map(([kind, { maxRunning, maxQueued, maxPerNamespace }]) => {
    const limits = {
      maxRunning,
      maxWaiting: maxQueued,
      timeoutMs,
      ...(maxPerNamespace !== undefined && { maxPerKey: maxPerNamespace }),
    };
    return [kind, new FairQueue(limits, MESSAGES)];
  });
  return Object.fromEntries(queues) as Record<HeavyKind, FairQueue>;
}

const TOO_MANY = 'too many requests for this operation are queued; retry later';
const MESSAGES = {
  full: TOO_MANY,
  timeout: TOO_MANY,
  share: 'the concurrency limit of the namespace for this operation is reached; retry later',
};

/**
 * Returns the namespace whose limit applies to a request; `undefined` for routes with the scope `operate`, so that
 * readers in the operator's own namespace cannot block, for example, a backup of all namespaces.
 */
function getQueueKey({ caller, routeOptions }: FastifyRequest): string | undefined {
  return routeOptions.config.access === 'operate' ? undefined : caller.namespace;
}
