import { EventEmitter, once } from 'node:events';
import type { Answer, AnswerRequest } from '../../ports/storage-search.ts';
import type { Thread } from './thread.ts';

/** Longest that other work of the thread waits for a recall that is under way. */
const LONGEST_WAIT_MS = 20;

/** Answers recalls, each in one call of the search thread, and says when it is a good time for other work of the thread. */
export class Answerer {
  readonly #searcher: Thread;
  #underWay = 0;
  #turns = 0;
  readonly #ends = new EventEmitter();

  constructor(searcher: Thread) {
    this.#searcher = searcher;
  }

  async answer(request: AnswerRequest): Promise<Answer> {
    this.#underWay += 1;
    try {
      return await this.#inTurn(request);
    } finally {
      this.#underWay -= 1;
      this.#ends.emit('end');
    }
  }

  // A recall that is alone has its words looked for while its vector is being made; beside others that would often be
  // undone, and done again, by those that come between.
  async #inTurn({ vector, ...request }: AnswerRequest): Promise<Answer> {
    this.#turns += 1;
    const own = { ...request, turn: this.#turns };
    // What fails here fails in the answer, too, which tells of it.
    if (vector instanceof Promise && this.#underWay === 1) this.#searcher.call('lookAhead', own).catch(() => {});
    return this.#searcher.call('answer', { ...own, vector: await vector });
  }

  /**
   * Resolves where no recall is under way, and else when one ends, since the next has its vector made at first; or after
   * some milliseconds.
   */
  async between(): Promise<void> {
    if (this.#underWay === 0) return;
    // Rejects where none ends in time.
    await once(this.#ends, 'end', { signal: AbortSignal.timeout(LONGEST_WAIT_MS) }).catch(() => {});
  }
}
