import type { Answer, AnswerRequest } from '../../../ports/storage-search.ts';
import type { RecallIndex } from '../../../recall-index/recall-index.ts';
import { rankFound } from '../../rank-found.ts';
import type { Connection } from '../connection.ts';
import { readContents } from './read-contents.ts';
import { search } from './search.ts';

/** See `Storage.answer` and `search`. To be called inside a transaction, with the index as of its snapshot. */
export function answer(connection: Connection, index: RecallIndex, request: AnswerRequest): Answer {
  const { namespace, now, maxBytes } = request;
  const { ordinals, toAnswer } = rankFound(search(connection, index, request), request);
  return toAnswer(readContents(connection, namespace, ordinals, now, maxBytes));
}
