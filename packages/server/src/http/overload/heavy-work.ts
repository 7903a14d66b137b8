import { MemoryError } from '@memoryd/contract';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { goneSignal } from '../gone-signal.ts';

interface Limit {
  /** Requests that are worked on at a time. */
  atOnce: number;
  /** Requests that may wait for their turn, bodies unread. */
  waiting: number;
}

/**
 * Work that takes much memory or time, and how much of it is done at a time: what a route names as `config.heavy`. Ahead
 * of each stands a single thread, so that more at once would not be sooner done, and only hold more.
 */
const HEAVY = {
  /** Bodies of up to 64 MiB, read whole. */
  batch: { atOnce: 4, waiting: 64 },
  /** Answers of up to 64 MiB of content. */
  list: { atOnce: 8, waiting: 256 },
  /** The same, but mostly short; as many as there may be connections wait. */
  recall: { atOnce: 32, waiting: 1024 },
  /** One is made at a time, by a process of its own. */
  copy: { atOnce: 4, waiting: 16 },
  /** Each may hold a line as long as a memory with all the texts that it has had. */
  import: { atOnce: 2, waiting: 0 },
  /** Callers share runs, so that all but one only wait. */
  consolidation: { atOnce: 64, waiting: 256 },
} as const satisfies Record<string, Limit>;

declare module 'fastify' {
  interface FastifyContextConfig {
    heavy?: keyof typeof HEAVY;
  }
  interface FastifyInstance {
    /** Who does heavy work, and who waits for it, by its kind. */
    heavyWork: ReadonlyMap<string, Turns>;
  }
}

/** Longest wait for a turn: this part of the time in which a body has to arrive, which goes on meanwhile. */
const WAITED = 1 / 3;

/**
 * Lets requests of routes with `config.heavy` wait for their turn. UNAVAILABLE when too many wait, or one did for too
 * long. A turn ends with the work, before its answer is taken.
 */
export function limitHeavyWork(app: FastifyInstance, slowClientMs: number): void {
  const turns = new Map(Object.entries(HEAVY).map(([kind, limit]) => [kind, new Turns(limit)]));
  app.decorate('heavyWork', turns);
  const ends = new WeakMap<FastifyReply, () => void>();
  app.addHook('onRequest', async (request, reply) => {
    const kind = request.routeOptions.config.heavy;
    if (kind === undefined) return;
    const end = await turns.get(kind)?.take(() => goneSignal(reply.raw), slowClientMs * WAITED);
    if (!end) return;
    ends.set(reply, end);
    // Also where the answer was sent past `onSend`, as downloads are.
    reply.raw.once('close', end);
    if (reply.raw.destroyed) end();
  });
  app.addHook('onSend', async (_request, reply) => ends.get(reply)?.());
}

/** Turns at something, in the order of asking. */
export class Turns {
  readonly #limit: Limit;
  readonly #waiting = new Set<() => void>();
  #taken = 0;

  constructor(limit: Limit) {
    this.#limit = limit;
  }

  /** How many have their turn. */
  get taken(): number {
    return this.#taken;
  }

  /** How many wait for theirs. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Resolves when it is the caller's turn, with what ends it. UNAVAILABLE when too many wait, the wait is too long, or
   * the signal, which is made only for who has to wait, says that nobody waits any more.
   */
  async take(whenGone: () => AbortSignal, longestWaitMs: number): Promise<() => void> {
    if (this.#taken >= this.#limit.atOnce) await this.#wait(whenGone(), longestWaitMs);
    else this.#taken++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#pass();
    };
  }

  #wait(gone: AbortSignal, longestWaitMs: number): Promise<void> {
    if (this.#waiting.size >= this.#limit.waiting || gone.aborted) return Promise.reject(tooMuch());
    return new Promise((resolve, reject) => {
      const stopWaiting = () => {
        clearTimeout(late);
        gone.removeEventListener('abort', giveUp);
      };
      const begin = () => {
        stopWaiting();
        resolve();
      };
      const giveUp = () => {
        stopWaiting();
        this.#waiting.delete(begin);
        reject(tooMuch());
      };
      const late = setTimeout(giveUp, longestWaitMs);
      gone.addEventListener('abort', giveUp);
      this.#waiting.add(begin);
    });
  }

  /** Gives a turn that has ended to whoever has waited longest. */
  #pass(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#taken--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}

function tooMuch(): MemoryError {
  return new MemoryError('UNAVAILABLE', 'too many requests of this kind wait for their turn');
}
