import { MemoryError } from '@memoryd/contract';
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
    /** Who does heavy work, and who waits for it, by its kind. */
    heavyWork: Readonly<Record<Heavy, Turns>>;
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
  const turns = turnsOfAll();
  const longestWaitMs = slowClientMs * WAITED;
  app.decorate('heavyWork', turns);
  app.decorate('takeTurn', (kind, namespace, gone) => turns[kind].take(namespace, () => gone, longestWaitMs));
  const ends = new WeakMap<FastifyReply, () => void>();
  const takeTurn = (bodyUnread: boolean) => async (request: FastifyRequest, reply: FastifyReply) => {
    const kind = request.routeOptions.config.heavy;
    if (kind === undefined || HEAVY[kind].bodyUnread !== bodyUnread) return;
    const whenGone = () => goneSignal(reply.raw);
    const end = await turns[kind].take(sharerOf(request), whenGone, longestWaitMs);
    ends.set(reply, end);
    // Also where the answer was sent past `onSend`, as downloads are.
    reply.raw.once('close', end);
    if (reply.raw.destroyed) end();
  };
  app.addHook('onRequest', takeTurn(true));
  app.addHook('preHandler', takeTurn(false));
  app.addHook('onSend', async (_request, reply) => ends.get(reply)?.());
}

function turnsOfAll(): Record<Heavy, Turns> {
  const entries = Object.entries(HEAVY).map(([kind, limit]) => [kind, new Turns(limit)]);
  return Object.fromEntries(entries) as Record<Heavy, Turns>;
}

/**
 * The namespace whose share a request takes of; none for operators' routes, such as that of a copy of all namespaces, which
 * readers of the operator's own would keep from it.
 */
function sharerOf({ caller, routeOptions }: FastifyRequest): string | undefined {
  return routeOptions.config.access === 'operate' ? undefined : caller.namespace;
}

/** Somebody who waits: what is called when it is their turn, and when they are to wait no longer. */
interface Waiter {
  begin(): void;
  giveUp(): void;
}

/**
 * Turns at something: those who wait come namespace by namespace, in the order of asking within each, so that whoever asks
 * for much keeps no other waiting.
 */
export class Turns {
  readonly #limit: Omit<Limit, 'bodyUnread'>;
  /** By namespace, the next one first. None has nobody. */
  readonly #queues = new Map<string | undefined, Set<Waiter>>();
  #waiting = 0;
  /** How many are taken by each namespace, or waited for. */
  readonly #of = new Map<string, number>();
  #taken = 0;

  constructor(limit: Omit<Limit, 'bodyUnread'>) {
    this.#limit = limit;
  }

  /** How many have their turn. */
  get taken(): number {
    return this.#taken;
  }

  /** How many wait for theirs. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Resolves when it is the turn of a namespace, or of somebody who acts for none, with what ends it. UNAVAILABLE when too
   * many wait, the last of the namespace that most wait for among them, the wait is too long, the namespace has its share,
   * or the signal, which is made only for who has to wait, says that nobody waits any more.
   */
  async take(namespace: string | undefined, whenGone: () => AbortSignal, longestWaitMs: number): Promise<() => void> {
    const giveBack = this.#takeShare(namespace);
    if (this.#taken < this.#limit.atOnce) this.#taken++;
    else {
      await this.#wait(namespace, whenGone(), longestWaitMs).catch((error) => {
        giveBack();
        throw error;
      });
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      giveBack();
      this.#pass();
    };
  }

  /** Answers what gives it back. UNAVAILABLE where the namespace has as much as it may. */
  #takeShare(namespace: string | undefined): () => void {
    const most = this.#limit.ofNamespace;
    if (most === undefined || namespace === undefined) return () => {};
    const own = this.#of.get(namespace) ?? 0;
    if (own >= most) {
      throw new MemoryError(
        'UNAVAILABLE',
        'as many requests of this kind as a namespace may make at a time are under way',
      );
    }
    this.#of.set(namespace, own + 1);
    return () => {
      const left = (this.#of.get(namespace) ?? 0) - 1;
      if (left > 0) this.#of.set(namespace, left);
      else this.#of.delete(namespace);
    };
  }

  #wait(namespace: string | undefined, gone: AbortSignal, longestWaitMs: number): Promise<void> {
    if (gone.aborted || !this.#makeRoomFor(namespace)) return Promise.reject(tooMuch());
    return new Promise((resolve, reject) => {
      const stopWaiting = () => {
        clearTimeout(late);
        gone.removeEventListener('abort', giveUp);
        this.#leave(namespace, waiter);
      };
      const giveUp = () => {
        stopWaiting();
        reject(tooMuch());
      };
      const begin = () => {
        stopWaiting();
        resolve();
      };
      const waiter = { begin, giveUp };
      const late = setTimeout(giveUp, longestWaitMs);
      gone.addEventListener('abort', giveUp);
      this.#join(namespace, waiter);
    });
  }

  /** Answers whether one more of a namespace may wait, if need be in the place of another's. */
  #makeRoomFor(namespace: string | undefined): boolean {
    if (this.#waiting < this.#limit.waiting) return true;
    const own = this.#queues.get(namespace)?.size ?? 0;
    const longest = [...this.#queues.values()].reduce((one, other) => (other.size > one.size ? other : one), NOBODY);
    if (longest.size <= own + 1) return false;
    [...longest].at(-1)?.giveUp();
    return true;
  }

  #join(namespace: string | undefined, waiter: Waiter): void {
    const queue = this.#queues.get(namespace) ?? new Set();
    this.#queues.set(namespace, queue.add(waiter));
    this.#waiting++;
  }

  #leave(namespace: string | undefined, waiter: Waiter): void {
    const queue = this.#queues.get(namespace);
    if (!queue?.delete(waiter)) return;
    if (queue.size === 0) this.#queues.delete(namespace);
    this.#waiting--;
  }

  /** Gives a turn that has ended to whoever has waited longest in the namespace whose turn it is. */
  #pass(): void {
    const [next] = this.#queues;
    if (!next) {
      this.#taken--;
      return;
    }
    const [namespace, queue] = next;
    // The namespace goes behind the others.
    this.#queues.delete(namespace);
    this.#queues.set(namespace, queue);
    const [waiter] = queue;
    waiter?.begin();
  }
}

const NOBODY: ReadonlySet<Waiter> = new Set();

function tooMuch(): MemoryError {
  return new MemoryError('UNAVAILABLE', 'too many requests of this kind wait for their turn');
}
