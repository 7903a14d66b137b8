import { MemoryError } from '@memoryd/contract/errors';

export interface TurnLimits {
  /** Most works that are under way at a time. */
  atOnce: number;
  /** Most that wait for their turn, and longest that one may. */
  waiting: number;
  waitingMs: number;
}

/** Somebody who waits. */
interface Waiting {
  begin(): void;
  giveUp(why: string): void;
}

/** Lets only so many works be under way at a time; the others wait in order. UNAVAILABLE where too many do, or for too long. */
export class Turns {
  readonly #limits: TurnLimits;
  readonly #waiting = new Set<Waiting>();
  #underWay = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#underWay < this.#limits.atOnce) this.#underWay++;
    else await this.#passedOn();
    try {
      return await work();
    } finally {
      this.#passOn();
    }
  }

  /** Gives up what waits. */
  close(): void {
    for (const waiting of this.#waiting) waiting.giveUp('the database is being closed');
  }

  #passedOn(): Promise<void> {
    if (this.#waiting.size >= this.#limits.waiting) {
      return Promise.reject(new MemoryError('UNAVAILABLE', 'too many calls wait for the database'));
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        this.#waiting.delete(waiting);
      };
      const waiting: Waiting = {
        begin() {
          leave();
          resolve();
        },
        giveUp(why) {
          leave();
          reject(new MemoryError('UNAVAILABLE', why));
        },
      };
      const timer = setTimeout(() => waiting.giveUp(TOO_LONG), this.#limits.waitingMs);
      this.#waiting.add(waiting);
    });
  }

  // The turn goes to who waits, not to who comes meanwhile.
  #passOn(): void {
    const [next] = this.#waiting;
    if (next) next.begin();
    else this.#underWay--;
  }
}

const TOO_LONG = 'the database cannot be used now (all connections for writing are in use)';
