import type { Answer, AnswerRequest, SearchRequest } from '../../../ports/storage-search.ts';
import type { RecallIndex } from '../../../recall-index/recall-index.ts';
import { rankFound } from '../../rank-found.ts';
import type { Connection } from '../connection.ts';
import { readContents } from './read-contents.ts';
import { search } from './search.ts';
import type { FoundByWords } from './words.ts';

/** What an answer is made of when its vector is there. */
export type SearchedAnswer = Omit<AnswerRequest, 'vector'> & Pick<SearchRequest, 'vector'>;

/** See `Storage.answer` and `search`. To be called inside a transaction, with the index as of its snapshot. */
export function answer(
  connection: Connection,
  index: RecallIndex,
  request: SearchedAnswer,
  byWords?: FoundByWords,
): Answer {
  const { namespace, now, maxBytes } = request;
  const { ordinals, toAnswer } = rankFound(search(connection, index, request, byWords), request);
  return toAnswer(readContents(connection, namespace, ordinals, now, maxBytes));
}
