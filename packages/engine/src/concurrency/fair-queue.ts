import { MemoryError } from '@memoryd/contract/errors';

export interface FairQueueLimits {
  /** Turns that are taken at a time. */
  atOnce: number;
  /** Callers that may wait for one. */
  waiting: number;
  /** Turns that one key may take or wait for; any number where absent. */
  ofKey?: number;
  /** Milliseconds that a caller may wait. */
  waitingMs: number;
}

/** Messages of UNAVAILABLE for callers without a turn. */
export interface FairQueueRefusals {
  /** Too many callers wait, or the caller has gone. */
  full: string;
  late: string;
  /** The key has its share. */
  share?: string;
}

/** A caller that waits: what is called when it is its turn, and when it is to wait no longer. */
interface Waiter {
  begin(): void;
  giveUp(why: string): void;
}

/**
 * Turns at something of which only so much is done at a time. Callers that wait come key by key, in the order of asking
 * within each, so that a key with many calls keeps no other waiting. Where too many wait, the last of the key that has most
 * gives way. It is our own, since p-limit and p-queue know neither keys nor a limit of what waits.
 */
export class FairQueue {
  readonly #limits: FairQueueLimits;
  readonly #refusals: FairQueueRefusals;
  /** By key, the next one first. None is empty. */
  readonly #queues = new Map<string | undefined, Set<Waiter>>();
  /** How many turns each key has taken or waits for. */
  readonly #shares = new Map<string, number>();
  #waiting = 0;
  #taken = 0;

  constructor(limits: FairQueueLimits, refusals: FairQueueRefusals) {
    this.#limits = limits;
    this.#refusals = refusals;
  }

  /** How many turns are taken. */
  get taken(): number {
    return this.#taken;
  }

  /** How many callers wait for one. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Resolves when it is the turn of a caller, with what ends the turn. UNAVAILABLE when too many wait, the wait is too long,
   * the key has its share, or the signal says that nobody waits any more.
   *
   * @param key what turns are shared among; undefined for a caller that acts for none
   * @param whenGone makes the signal; called only for a caller that has to wait
   */
  async take(key?: string, whenGone?: () => AbortSignal): Promise<() => void> {
    const giveBack = this.#takeShare(key);
    if (this.#taken < this.#limits.atOnce) this.#taken++;
    else {
      await this.#wait(key, whenGone?.()).catch((error) => {
        giveBack();
        throw error;
      });
    }
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      giveBack();
      this.#passOn();
    };
  }

  /** Does work when it is its turn. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const end = await this.take();
    try {
      return await work();
    } finally {
      end();
    }
  }

  /** Gives up what waits. */
  close(why: string): void {
    for (const queue of [...this.#queues.values()]) for (const waiter of [...queue]) waiter.giveUp(why);
  }

  /** Returns what gives the share back. UNAVAILABLE where the key has as much as it may. */
  #takeShare(key: string | undefined): () => void {
    const most = this.#limits.ofKey;
    if (most === undefined || key === undefined) return () => {};
    const own = this.#shares.get(key) ?? 0;
    if (own >= most) throw new MemoryError('UNAVAILABLE', this.#refusals.share ?? this.#refusals.full);
    this.#shares.set(key, own + 1);
    return () => {
      const left = (this.#shares.get(key) ?? 0) - 1;
      if (left > 0) this.#shares.set(key, left);
      else this.#shares.delete(key);
    };
  }

  #wait(key: string | undefined, gone: AbortSignal | undefined): Promise<void> {
    const { full, late } = this.#refusals;
    if (gone?.aborted || !this.#makeRoomFor(key)) return Promise.reject(new MemoryError('UNAVAILABLE', full));
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        gone?.removeEventListener('abort', giveUpGone);
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
      const giveUpGone = () => waiter.giveUp(full);
      const timer = setTimeout(() => waiter.giveUp(late), this.#limits.waitingMs);
      gone?.addEventListener('abort', giveUpGone);
      this.#join(key, waiter);
    });
  }

  /** Returns whether one more of a key may wait, if need be in the place of another's. */
  #makeRoomFor(key: string | undefined): boolean {
    if (this.#waiting < this.#limits.waiting) return true;
    const own = this.#queues.get(key)?.size ?? 0;
    const longest = [...this.#queues.values()].reduce((one, other) => (other.size > one.size ? other : one), NOBODY);
    if (longest.size <= own + 1) return false;
    [...longest].at(-1)?.giveUp(this.#refusals.full);
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

  /** Gives a turn that has ended to the caller that has waited longest of the key whose turn it is. */
  #passOn(): void {
    const [next] = this.#queues;
    if (!next) {
      this.#taken--;
      return;
    }
    const [key, queue] = next;
    // The key goes behind the others.
    this.#queues.delete(key);
    this.#queues.set(key, queue);
    const [waiter] = queue;
    waiter?.begin();
  }
}

const NOBODY: ReadonlySet<Waiter> = new Set();
