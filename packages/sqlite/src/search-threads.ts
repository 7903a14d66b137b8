import { type BackgroundTask, hasRoomForThread } from '@memoryd/core';
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
 * time and memory of the first. So a further thread starts only when a search has to wait for another and the machine
 * has the memory, and gets calls once its index is built. Each call sees all acknowledged writes, because a thread
 * updates its index before a search.
 */
export class SearchThreads implements Thread {
  readonly #start: (isFirst: boolean) => Thread;
  #maxThreads: number;
  /** In the order of their last calls, the last one last. */
  readonly #members: Member[] = [];

  /**
   * Starts the first thread.
   *
   * @param start starts a search thread
   * @param maxThreads from 1
   */
  constructor(start: (isFirst: boolean) => Thread, maxThreads: number) {
    this.#start = start;
    this.#maxThreads = maxThreads;
    this.#add();
  }

  /** Updates the indexes of the started threads between calls. The first time, builds the first index. */
  followWrites(): void {
    for (const member of this.#members) this.#follow(member);
  }

  /**
   * See `Thread.call`. Of the threads with the fewest calls in progress, the one that has waited longest runs the call,
   * so that no index falls behind the writes of other processes.
   */
  async call<T>(name: string, argument?: unknown): Promise<T> {
    const member = this.#takeLeastBusy();
    const isSearch = SEARCHES.includes(name);
    if (isSearch && member.searches > 0) this.#grow();
    member.calls++;
    member.searches += Number(isSearch);
    try {
      const result = await member.thread.call<T>(name, argument);
      member.isReady ||= isSearch;
      return result;
    } finally {
      member.calls--;
      member.searches -= Number(isSearch);
    }
  }

  /** Calls each thread that has an index. Returns the results. */
  callEach<T>(name: string): Promise<T[]> {
    return Promise.all(this.#getCallable().map(({ thread }) => thread.call<T>(name)));
  }

  /** See `Thread.close`. Closes all threads, even if one fails. */
  async close(): Promise<void> {
    this.#maxThreads = 0;
    await this.#stopFollowing();
    const closed = await Promise.allSettled(this.#members.map(({ thread }) => thread.close()));
    const failed = closed.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  async stop(): Promise<void> {
    this.#maxThreads = 0;
    await Promise.all(this.#members.map(({ thread }) => thread.stop()));
    await this.#stopFollowing();
  }

  #takeLeastBusy(): Member {
    const callable = this.#getCallable();
    const member = callable.reduce((least, other) => (other.calls < least.calls ? other : least));
    this.#members.push(...this.#members.splice(this.#members.indexOf(member), 1));
    return member;
  }

  /** Returns the threads with an index; the first thread while it builds its index, since calls wait for that. */
  #getCallable(): Member[] {
    const ready = this.#members.filter(({ isReady }) => isReady);
    return ready.length > 0 ? ready : this.#members;
  }

  /** Starts a further thread, unless one is building its index, there are enough, or the memory does not suffice. */
  #grow(): void {
    if (this.#members.length >= this.#maxThreads || this.#members.some(({ isReady }) => !isReady)) return;
    if (!hasRoomForThread()) return;
    try {
      this.#follow(this.#add());
    } catch {
      // The machine allows no further thread. The running threads search everything.
      this.#maxThreads = this.#members.length;
    }
  }

  #add(): Member {
    const thread = this.#start(this.#members.length === 0);
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
