import { EventEmitter, once } from 'node:events';
import type { Answer, AnswerRequest, QueryVector } from '../../ports/storage-search.ts';
import type { Thread } from './thread.ts';
import { TAKEN_WITHIN_MS, type VectorHandover } from './vector-handover.ts';

/** Longest that other work of the thread waits for a recall that is under way. */
const LONGEST_WAIT_MS = 20;

/** Answers recalls, each in one call of the search thread, and says when it is a good time for other work of the thread. */
export class Answerer {
  readonly #searcher: Thread;
  readonly #handover: VectorHandover;
  #underWay = 0;
  /** Whether the model made the last vector before the thread would have given it up. */
  #isQuick = true;
  readonly #ends = new EventEmitter();

  /** @param handover that the thread takes vectors from */
  constructor(searcher: Thread, handover: VectorHandover) {
    this.#searcher = searcher;
    this.#handover = handover;
  }

  async answer(request: AnswerRequest): Promise<Answer> {
    this.#underWay += 1;
    try {
      const { vector } = request;
      const isAhead = vector instanceof Promise && this.#underWay === 1 && this.#isQuick;
      if (vector instanceof Promise) void this.#timed(vector);
      return (isAhead && (await this.#answerAhead(request, vector))) || (await this.#answerWith(request, await vector));
    } finally {
      this.#underWay -= 1;
      this.#ends.emit('end');
    }
  }

  #answerWith(request: AnswerRequest, vector: QueryVector | undefined): Promise<Answer> {
    return this.#searcher.call('answer', { ...request, vector });
  }

  // A recall that is alone has its words looked for while its vector is being made, and the thread then waits for that;
  // beside others it would have them wait, too.
  async #answerAhead(request: AnswerRequest, making: Promise<QueryVector | undefined>): Promise<Answer | undefined> {
    const end = this.#handover.begin(making);
    try {
      return await this.#searcher.call('answerAhead', { ...request, vector: undefined });
    } finally {
      end();
    }
  }

  async #timed(making: Promise<unknown>): Promise<void> {
    const startedAt = performance.now();
    await making.catch(() => {});
    this.#isQuick = performance.now() - startedAt < TAKEN_WITHIN_MS;
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
