import type { Answer, AnswerRequest } from '../../../ports/storage.ts';
import type { RecallIndex } from '../../../recall-index/recall-index.ts';
import { rankFound } from '../../rank-found.ts';
import type { Connection } from '../connection.ts';
import { readContents } from './read-contents.ts';
import { search } from './search.ts';

/** See `Storage.answer`. To be called inside a transaction, with the index as of its snapshot. */
export function answer(connection: Connection, index: RecallIndex, request: AnswerRequest): Answer {
  const { namespace, now, ranking, maxBytes } = request;
  const { ordinals, toAnswer } = rankFound(search(connection, index, request), ranking);
  return toAnswer(readContents(connection, namespace, ordinals, now, maxBytes));
}
