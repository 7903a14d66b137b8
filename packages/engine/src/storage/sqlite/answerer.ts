import type { Answer, AnswerRequest } from '../../ports/storage.ts';
import type { Thread } from './thread.ts';

/**
 * Answers recalls, each in one call of the search thread. Where no other recall is under way, its words are looked for
 * while its vector is being made; beside others that would often be undone, and done again, by those that come between.
 */
export function answerer(searcher: Thread): (request: AnswerRequest) => Promise<Answer> {
  let underWay = 0;
  let turn = 0;
  return async ({ vector, ...request }) => {
    turn += 1;
    const own = { ...request, turn };
    underWay += 1;
    try {
      // What fails here fails in the answer, too, which tells of it.
      if (vector instanceof Promise && underWay === 1) searcher.call('lookAhead', own).catch(() => {});
      const made = await vector;
      return await searcher.call<Answer>('answer', { ...own, ...(made && { vector: made }) });
    } finally {
      underWay -= 1;
    }
  };
}
