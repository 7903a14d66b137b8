import type { BackgroundTask } from '@memoryd/core';
import { indexTask } from './maintenance-tasks.ts';
import type { Thread } from './storage-thread.ts';

interface Member {
  thread: Thread;
  index: BackgroundTask;
  /** Number of calls in progress, and of those that search for a recall. */
  calls: number;
  searches: number;
  /** Whether the index has been built. */
  isReady: boolean;
}

/** The calls of a recall. The others belong to consolidation, or are short. */
const SEARCHES: readonly string[] = ['search', 'searchAndRank'];

/**
 * The search threads of a file, used like one thread. Each has a connection and an index of its own, which takes the
 * time and memory of the first. So a further thread starts only when a search has to wait for another, and gets calls
 * once its index is built. Each call sees all acknowledged writes, because a thread updates its index before a search.
 */
export class SearchThreads implements Thread {
  readonly #start: () => Thread;
  readonly #maxThreads: number;
  readonly #members: Member[] = [];

  /**
   * Starts the first thread.
   *
   * @param start starts a search thread
   * @param maxThreads from 1
   */
  constructor(start: () => Thread, maxThreads: number) {
    this.#start = start;
    this.#maxThreads = maxThreads;
    this.#add();
  }

  /** Updates the indexes of the started threads between calls. The first time, builds the first index. */
  followWrites(): void {
    for (const member of this.#members) this.#follow(member);
  }

  /** See `Thread.call`. The thread with the fewest calls in progress runs the call. */
  async call<T>(name: string, argument?: unknown): Promise<T> {
    const member = this.#getLeastBusy();
    const isSearch = SEARCHES.includes(name);
    if (isSearch && member.searches > 0) this.#grow();
    member.calls++;
    member.searches += Number(isSearch);
    try {
      return await member.thread.call<T>(name, argument);
    } finally {
      member.calls--;
      member.searches -= Number(isSearch);
    }
  }

  /** Calls each thread that has an index. Returns the results. */
  callEach<T>(name: string): Promise<T[]> {
    const [first, ...others] = this.#members as [Member, ...Member[]];
    const called = [first, ...others.filter(({ isReady }) => isReady)];
    return Promise.all(called.map(({ thread }) => thread.call<T>(name)));
  }

  /** See `Thread.close`. Closes all threads, even if one fails. */
  async close(): Promise<void> {
    await this.#stopFollowing();
    const closed = await Promise.allSettled(this.#members.map(({ thread }) => thread.close()));
    const failed = closed.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#members.map(({ thread }) => thread.stop()));
    await this.#stopFollowing();
  }

  #getLeastBusy(): Member {
    const [first, ...others] = this.#members as [Member, ...Member[]];
    const ready = others.filter(({ isReady }) => isReady);
    return ready.reduce((least, member) => (member.calls < least.calls ? member : least), first);
  }

  /** Starts a further thread, unless one is building its index or there are enough. */
  #grow(): void {
    if (this.#members.length >= this.#maxThreads || this.#members.some(({ isReady }) => !isReady)) return;
    this.#follow(this.#add());
  }

  #add(): Member {
    const thread = this.#start();
    const member: Member = { thread, index: indexTask(thread), calls: 0, searches: 0, isReady: false };
    this.#members.push(member);
    return member;
  }

  #follow(member: Member): void {
    void member.index.request().then((isDone) => {
      member.isReady ||= isDone;
    });
  }

  async #stopFollowing(): Promise<void> {
    await Promise.all(this.#members.map(({ index }) => index.stop()));
  }
}
