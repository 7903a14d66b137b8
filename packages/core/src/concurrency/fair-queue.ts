import { MemoryError } from '@memoryd/contract/errors';

export interface FairQueueLimits {
  /** Maximum number of callers that have a slot at the same time. */
  maxRunning: number;
  /** Maximum number of waiting callers. */
  maxWaiting: number;
  /** Maximum number of slots that a key may use or wait for; unlimited if absent. */
  maxPerKey?: number;
  /** Timeout of a waiting caller in ms. */
  timeoutMs: number;
}

/** Messages of the UNAVAILABLE errors for callers that get no slot. */
export interface FairQueueMessages {
  /** The queue is full, or the caller has disconnected. */
  full: string;
  timeout: string;
  /** The key has reached its limit. If absent, `full` is the message. */
  share?: string;
}

/** A waiting caller. `begin` grants a slot; `giveUp` rejects the caller. */
interface Waiter {
  begin(): void;
  giveUp(why: string): void;
}

/**
 * Limits concurrency with a fair queue. Keys are served round robin, and the callers of a key in FIFO order, so that a
 * key with many calls does not delay other keys. If the queue is full, the last caller of the key with the most waiting
 * callers is rejected. p-limit and p-queue support neither keys nor a limit of the queue.
 */
export class FairQueue {
  readonly #limits: FairQueueLimits;
  readonly #messages: FairQueueMessages;
  /** FIFO of waiters per key. The first key is served next. Empty queues are removed. */
  readonly #queues = new Map<string | undefined, Set<Waiter>>();
  /** Number of slots that each key uses or waits for. */
  readonly #shares = new Map<string, number>();
  #waiting = 0;
  #running = 0;

  constructor(limits: FairQueueLimits, messages: FairQueueMessages) {
    this.#limits = limits;
    this.#messages = messages;
  }

  /** Number of slots in use. */
  get running(): number {
    return this.#running;
  }

  /** Number of waiting callers. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Waits for a slot. Resolves with a function that releases the slot. Rejects with UNAVAILABLE if the queue is full,
   * the wait exceeds the timeout, the key has reached its limit, the caller has disconnected, or `close` is called
   * during the wait.
   *
   * @param key the key for fairness; undefined for a caller without a key
   * @param createSignal creates a signal that aborts when the caller disconnects; called only if the caller has to wait
   */
  async acquire(key?: string, createSignal?: () => AbortSignal): Promise<() => void> {
    const releaseShare = this.#acquireShare(key);
    if (this.#running < this.#limits.maxRunning) this.#running++;
    else {
      await this.#wait(key, createSignal?.()).catch((error) => {
        releaseShare();
        throw error;
      });
    }
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      releaseShare();
      this.#serveNext();
    };
  }

  /** Waits for a slot, runs `work`, and releases the slot. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const release = await this.acquire();
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Rejects all waiting callers with UNAVAILABLE and the message `why`. */
  close(why: string): void {
    for (const queue of [...this.#queues.values()]) for (const waiter of [...queue]) waiter.giveUp(why);
  }

  /**
   * Counts a slot for a key, and returns a function that subtracts the slot again. Throws UNAVAILABLE if the key has
   * reached its limit.
   */
  #acquireShare(key: string | undefined): () => void {
    const limit = this.#limits.maxPerKey;
    if (limit === undefined || key === undefined) return () => {};
    const own = this.#shares.get(key) ?? 0;
    if (own >= limit) throw new MemoryError('UNAVAILABLE', this.#messages.share ?? this.#messages.full);
    this.#shares.set(key, own + 1);
    return () => {
      const left = (this.#shares.get(key) ?? 0) - 1;
      if (left > 0) this.#shares.set(key, left);
      else this.#shares.delete(key);
    };
  }

  #wait(key: string | undefined, signal: AbortSignal | undefined): Promise<void> {
    const { full, timeout } = this.#messages;
    if (signal?.aborted || !this.#makeRoomFor(key)) return Promise.reject(new MemoryError('UNAVAILABLE', full));
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', giveUpWhenGone);
        this.#leave(key, waiter);
      };
      const waiter: Waiter = {
        begin() {
          leave();
          resolve();
        },
        giveUp(why) {
          leave();
          reject(new MemoryError('UNAVAILABLE', why));
        },
      };
      const giveUpWhenGone = () => waiter.giveUp(full);
      const timer = setTimeout(() => waiter.giveUp(timeout), this.#limits.timeoutMs);
      signal?.addEventListener('abort', giveUpWhenGone);
      this.#join(key, waiter);
    });
  }

  /**
   * Returns true if one more caller of a key may wait. If the queue is full, rejects the last waiter of the key with
   * the most waiters, or returns false if no other key would have more waiters than this key.
   */
  #makeRoomFor(key: string | undefined): boolean {
    if (this.#waiting < this.#limits.maxWaiting) return true;
    const own = this.#queues.get(key)?.size ?? 0;
    const longest = [...this.#queues.values()].reduce(
      (one, other) => (other.size > one.size ? other : one),
      NO_WAITERS,
    );
    if (longest.size <= own + 1) return false;
    [...longest].at(-1)?.giveUp(this.#messages.full);
    return true;
  }

  #join(key: string | undefined, waiter: Waiter): void {
    this.#queues.set(key, (this.#queues.get(key) ?? new Set()).add(waiter));
    this.#waiting++;
  }

  #leave(key: string | undefined, waiter: Waiter): void {
    const queue = this.#queues.get(key);
    if (!queue?.delete(waiter)) return;
    if (queue.size === 0) this.#queues.delete(key);
    this.#waiting--;
  }

  /** Passes a released slot to the next waiter. */
  #serveNext(): void {
    const [next] = this.#queues;
    if (!next) {
      this.#running--;
      return;
    }
    const [key, queue] = next;
    // The served key moves to the end of the order.
    this.#queues.delete(key);
    this.#queues.set(key, queue);
    const [waiter] = queue;
    waiter?.begin();
  }
}

const NO_WAITERS: ReadonlySet<Waiter> = new Set();
