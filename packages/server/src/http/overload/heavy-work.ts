import { FairQueue } from '@memoryd/engine';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { goneSignal } from '../gone-signal.ts';

interface Limit {
  /** Requests that are worked on at a time. */
  atOnce: number;
  /** Requests that may wait for their turn. */
  waiting: number;
  /** Of those at a time, how many may be of one namespace; any where it is not given. Nobody waits for it. */
  ofNamespace?: number;
  /** Whether it is its turn before the body comes, unless it is when the body has arrived. */
  bodyUnread: boolean;
}

/**
 * Work that takes much memory or time, and how much of it is done at a time: what a route names as `config.heavy`. Ahead
 * of each stands a single thread, so that more at once would not be sooner done, and only hold more.
 */
const HEAVY = {
  /** Bodies of up to 64 MiB, read whole: who sends one slowly holds no turn meanwhile. */
  batch: { atOnce: 4, waiting: 64, bodyUnread: false },
  /** Answers of up to 64 MiB of content. */
  list: { atOnce: 8, waiting: 256, bodyUnread: true },
  /** The same, but mostly short; as many as there may be connections wait. */
  recall: { atOnce: 32, waiting: 1024, bodyUnread: true },
  /** One is made at a time, by a process of its own; each may take as long as its client likes to be read. */
  copy: { atOnce: 4, waiting: 16, ofNamespace: 2, bodyUnread: true },
  /** Each may hold a line as long as a memory with all the texts that it has had, and take as long as its client likes. */
  import: { atOnce: 2, waiting: 0, ofNamespace: 1, bodyUnread: true },
  /** Callers share runs, so that all but one only wait. */
  consolidation: { atOnce: 64, waiting: 256, bodyUnread: true },
} as const satisfies Record<string, Limit>;

type Heavy = keyof typeof HEAVY;

declare module 'fastify' {
  interface FastifyContextConfig {
    heavy?: Heavy;
  }
  interface FastifyInstance {
    /** The requests that do heavy work, and those that wait for it, by its kind. */
    heavyWork: Readonly<Record<Heavy, FairQueue>>;
    /** Resolves when it is a namespace's turn at work that is heavy, but no request of its own, with what ends it. */
    takeTurn(kind: Heavy, namespace: string, gone: AbortSignal): Promise<() => void>;
  }
}

/** Longest wait for a turn: this part of the time in which a body has to arrive, which may go on meanwhile. */
const WAITED = 1 / 3;

/**
 * Lets requests of routes with `config.heavy` wait for their turn. UNAVAILABLE when too many wait, or one did for too
 * long, or its namespace has its share. A turn ends with the work, before its answer is taken. To be called when hooks
 * tell who calls.
 */
export function limitHeavyWork(app: FastifyInstance, slowClientMs: number): void {
  const turns = newQueues(slowClientMs * WAITED);
  app.decorate('heavyWork', turns);
  app.decorate('takeTurn', (kind, namespace, gone) => turns[kind].take(namespace, () => gone));
  const ends = new WeakMap<FastifyReply, () => void>();
  const takeTurn = (bodyUnread: boolean) => async (request: FastifyRequest, reply: FastifyReply) => {
    const kind = request.routeOptions.config.heavy;
    if (kind === undefined || HEAVY[kind].bodyUnread !== bodyUnread) return;
    const whenGone = () => goneSignal(reply.raw);
    const end = await turns[kind].take(getSharer(request), whenGone);
    ends.set(reply, end);
    // Also where the answer was sent past `onSend`, as downloads are.
    reply.raw.once('close', end);
    if (reply.raw.destroyed) end();
  };
  app.addHook('onRequest', takeTurn(true));
  app.addHook('preHandler', takeTurn(false));
  app.addHook('onSend', async (_request, reply) => ends.get(reply)?.());
}

function newQueues(waitingMs: number): Record<Heavy, FairQueue> {
  const queues = Object.entries<Limit>(HEAVY).map(([kind, { atOnce, waiting, ofNamespace }]) => {
    const limits = { atOnce, waiting, waitingMs, ...(ofNamespace !== undefined && { ofKey: ofNamespace }) };
    return [kind, new FairQueue(limits, REFUSALS)];
  });
  return Object.fromEntries(queues) as Record<Heavy, FairQueue>;
}

const TOO_MANY = 'too many requests of this kind wait for their turn';
const REFUSALS = {
  full: TOO_MANY,
  late: TOO_MANY,
  share: 'as many requests of this kind as a namespace may make at a time are under way',
};

/**
 * The namespace whose share a request takes of; none for operators' routes, such as that of a copy of all namespaces, which
 * readers of the operator's own would keep from it.
 */
function getSharer({ caller, routeOptions }: FastifyRequest): string | undefined {
  return routeOptions.config.access === 'operate' ? undefined : caller.namespace;
}
