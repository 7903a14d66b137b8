import { FairQueue } from '@memoryd/engine';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createDisconnectSignal } from '../disconnect-signal.ts';

interface Limit {
  /** Maximum number of requests that run concurrently. */
  maxRunning: number;
  /** Maximum number of queued requests. */
  maxQueued: number;
  /** Maximum number of running and queued requests per namespace or user; unlimited if omitted. Further ones are refused. */
  maxPerKey?: number;
  /** Whether the users of a namespace have queues of their own. */
  isPerUser?: true;
  /** Maximum time in the queue, in ms; a share of the body deadline if omitted. */
  timeoutMs?: number;
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
  copy: { maxRunning: 4, maxQueued: 16, maxPerKey: 2, isBeforeBody: true },
  /** Each import buffers one line, up to a memory with its whole history; the client decides how long sending takes. */
  import: { maxRunning: 8, maxQueued: 64, maxPerKey: 1, isPerUser: true, timeoutMs: 300_000, isBeforeBody: true },
  /** Uploads of files, from the first byte until the end of the import. Each has a file on the disk. */
  upload: { maxRunning: 16, maxQueued: 64, maxPerKey: 1, isPerUser: true, timeoutMs: 300_000, isBeforeBody: true },
  /** Uploads that have been received, and are read and stored. Each has a process. */
  reading: { maxRunning: 4, maxQueued: 16, isPerUser: true, timeoutMs: 540_000, isBeforeBody: false },
  /** Concurrent callers share one consolidation run, so most of these requests only wait for that run. */
  consolidation: { maxRunning: 64, maxQueued: 256, isBeforeBody: true },
} as const satisfies Record<string, Limit>;

type HeavyKind = keyof typeof HEAVY;

declare module 'fastify' {
  interface FastifyContextConfig {
    heavy?: HeavyKind;
    /** The kind of work of requests with this query parameter, instead of `heavy`. */
    heavyWith?: { parameter: string; kind: HeavyKind };
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
    /** Acquires a slot for a later part of a request. Otherwise as `acquireSlot`. */
    acquireRequestSlot(kind: HeavyKind, request: FastifyRequest, signal: AbortSignal): Promise<() => void>;
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
  app.decorate('acquireRequestSlot', (kind, request, signal) =>
    queues[kind].acquire(getQueueKey(kind, request), () => signal),
  );
  const releases = new WeakMap<FastifyReply, () => void>();
  const acquireSlot = (isBeforeBody: boolean) => async (request: FastifyRequest, reply: FastifyReply) => {
    const kind = getKind(request);
    if (kind === undefined || HEAVY[kind].isBeforeBody !== isBeforeBody) return;
    const release = await queues[kind].acquire(getQueueKey(kind, request), () => createDisconnectSignal(reply.raw));
    releases.set(reply, release);
    // Downloads bypass `onSend`, so the slot is also released on `close`.
    reply.raw.once('close', release);
    if (reply.raw.destroyed) release();
  };
  app.addHook('onRequest', acquireSlot(true));
  app.addHook('preHandler', acquireSlot(false));
  app.addHook('onSend', async (_request, reply) => releases.get(reply)?.());
}

function getKind({ routeOptions, url }: FastifyRequest): HeavyKind | undefined {
  const { heavy, heavyWith } = routeOptions.config;
  return heavyWith && getParameters(url).has(heavyWith.parameter) ? heavyWith.kind : heavy;
}

/** Returns the parameters of a request, which are decoded only after its slot has been acquired. */
function getParameters(url: string): URLSearchParams {
  const start = url.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : url.slice(start));
}

function createQueues(defaultTimeoutMs: number): Record<HeavyKind, FairQueue> {
  const queues = Object.entries<Limit>(HEAVY).map(([kind, limit]) => {
    const { maxRunning, maxQueued, maxPerKey, timeoutMs = defaultTimeoutMs } = limit;
    const limits = { maxRunning, maxWaiting: maxQueued, timeoutMs, ...(maxPerKey !== undefined && { maxPerKey }) };
    return [kind, new FairQueue(limits, MESSAGES)];
  });
  return Object.fromEntries(queues) as Record<HeavyKind, FairQueue>;
}

const TOO_MANY = 'too many requests for this operation are queued; retry later';
const MESSAGES = {
  full: TOO_MANY,
  timeout: TOO_MANY,
  share: 'the concurrency limit of the namespace or user for this operation is reached; retry later',
};

/**
 * Returns the namespace or the user whose limit applies to a request; `undefined` for routes with the scope `operate`, so
 * that readers in the operator's own namespace cannot block, for example, a backup of all namespaces.
 */
function getQueueKey(kind: HeavyKind, { caller, url, routeOptions }: FastifyRequest): string | undefined {
  if (routeOptions.config.access === 'operate') return undefined;
  const { isPerUser }: Limit = HEAVY[kind];
  if (!isPerUser) return caller.namespace;
  const user = caller.userId ?? getParameters(url).get('user_id') ?? '';
  return `${caller.namespace}\0${user}`;
}
