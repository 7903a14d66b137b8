import { hasRoomForThread } from '@memoryd/core/models';
import type { EmbeddedPart } from '@memoryd/minilm/parts';
import type { Lane } from './lanes.ts';
import type { Thread } from './thread.ts';

interface Member {
  thread: Thread;
  /** Number of calls in progress, and of those with queries. */
  calls: number;
  queries: number;
}

/**
 * The threads of a model, used like one thread. Each loads the model, so a further thread starts only when a query has
 * to wait for another, and gets calls once its model is loaded.
 */
export class ModelThreads implements Thread {
  readonly #start: (() => Promise<Thread>) | undefined;
  #maxThreads: number;
  readonly #members: Member[] = [];
  #starting: Promise<void> | undefined;

  /**
   * @param first a thread with a loaded model
   * @param further if present, `start` starts a further thread, and resolves when its model is loaded
   */
  constructor(first: Thread, further?: { start: () => Promise<Thread>; maxThreads: number }) {
    this.#start = further?.start;
    this.#maxThreads = further?.maxThreads ?? 1;
    this.#add(first);
  }

  /** Number of queries that can run at once. */
  get capacity(): number {
    return this.#members.length;
  }

  /**
   * Starts a further thread, unless one is starting, there are enough, or the memory does not suffice. Called when a
   * query has to wait.
   */
  grow(): void {
    if (!this.#start || this.#starting || this.#members.length >= this.#maxThreads || !hasRoomForThread()) return;
    this.#starting = this.#start()
      .then((thread) => this.#add(thread))
      // The machine allows no further thread. The running threads embed everything.
      .catch(() => {
        this.#maxThreads = this.#members.length;
      })
      .then(() => {
        this.#starting = undefined;
      });
  }

  /** See `Thread.embedParts`; at most `capacity` concurrent calls with queries. */
  async embedParts(windows: readonly string[], lane: Lane): Promise<EmbeddedPart[]> {
    const isQuery = lane === 'query';
    const member = isQuery ? this.#getThreadForQuery() : this.#getThreadForMemories();
    member.calls++;
    member.queries += Number(isQuery);
    try {
      return await member.thread.embedParts(windows, lane);
    } finally {
      member.calls--;
      member.queries -= Number(isQuery);
    }
  }

  async stop(): Promise<void> {
    this.#maxThreads = 0;
    await this.#starting;
    await Promise.all(this.#members.map(({ thread }) => thread.stop()));
  }

  #add(thread: Thread): void {
    this.#members.push({ thread, calls: 0, queries: 0 });
  }

  #getThreadForQuery(): Member {
    return this.#members.reduce((best, member) =>
      (member.queries - best.queries || member.calls - best.calls) < 0 ? member : best,
    );
  }

  // The last of equals, because the first runs the queries that come one at a time.
  #getThreadForMemories(): Member {
    return this.#members.reduce((best, member) => (member.calls <= best.calls ? member : best));
  }
}
