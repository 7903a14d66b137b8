import { wordShares } from '../../../core/ranking/bm25.ts';
import { dateMatch, speakerTerms, weighed } from '../../../core/ranking/query-terms.ts';
import type { MemoryFilter } from '../../../ports/storage-memories.ts';
import type { OwnerFilter } from '../../../ports/storage-owner.ts';
import type { QueryWordKinds, SearchRequest } from '../../../ports/storage-search.ts';
import type { Digest } from '../../../recall-index/entry.ts';
import type { Question, QuestionWords } from '../../../recall-index/question.ts';
import type { RecallIndex, Scope } from '../../../recall-index/recall-index.ts';
import {
  AGENT_LABEL,
  filteredAttributes,
  SESSION_LABEL,
  SOURCE_LABEL,
  SPEAKER_LABEL,
  USER_LABEL,
} from '../../attributes.ts';
import { labelDigest, namespaceDigest, termDigest } from '../../digests.ts';
import { MAX_PER_TEXT } from '../../gather.ts';
import { areTooMany, askedWords, kindsOfWords, rarestWords, synonymsAmong } from '../../recall-words.ts';

/** What words found, and what else of a query no vector changes. */
export interface FoundByWords {
  /** The best, best first. */
  rows: readonly number[];
  question: Question;
  words: QuestionWords;
  /** Synonyms with the places of the words that they are of. */
  synonyms: { word: number; weight: number }[];
  /** As the synonyms stand. */
  synonymWords: QuestionWords;
  /** For each word of the query, what names its speaker by it. */
  speakers: QuestionWords;
  kinds: QueryWordKinds;
  tookMs: number;
}

/** Looks for the query's words. The index is then asked for nothing else until the answer is there. */
export function searchWords(index: RecallIndex, request: SearchRequest): FoundByWords {
  const startedAt = performance.now();
  const { namespace, filter, now } = request;
  const question = index.ask({
    namespace: namespaceDigest(namespace),
    now,
    ...ownerLabels(namespace, filter),
    labels: getLabels(namespace, filter),
    filter,
  });
  const { memoryCount } = question;
  const digest = (term: string) => termDigest(namespace, term);
  const asked = askedWords(request.text);
  const taking = takingPart(question, asked.words, digest);
  const synonyms = synonymsAmong(taking, asked);
  const held = question.countDocuments(synonyms.map(({ term }) => [digest(term)]));
  const words = question.words(getDigests(taking, digest));
  const { documentFrequencies } = words;
  const kinds = kindsOfWords(request, taking, asked);
  const queryWords = { memoryCount, documentFrequencies, everyday: kinds.everyday };
  const weighedSynonyms = weighed(synonyms, held, queryWords);
  const shares = wordShares(queryWords);
  const byDate = request.date && {
    from: request.date.earliest,
    until: request.date.latest,
    match: dateMatch(shares, kinds.dated),
  };
  return {
    rows: words.best(shares, {
      count: request.poolSize + request.tailSize,
      maxOfText: MAX_PER_TEXT,
      dated: byDate,
    }),
    question,
    words,
    synonyms: weighedSynonyms,
    synonymWords: question.words(weighedSynonyms.map(({ term }) => [digest(term)])),
    speakers: question.words(
      getDigests(speakerTerms(request.text, taking), (term) => labelDigest(namespace, SPEAKER_LABEL, term)),
    ),
    kinds,
    tookMs: performance.now() - startedAt,
  };
}

/** The labels of the users and agents that a question is limited to. */
export function ownerLabels(namespace: string, { userIds, agentIds }: OwnerFilter): Pick<Scope, 'users' | 'agents'> {
  return {
    users: userIds?.map((id) => labelDigest(namespace, USER_LABEL, id)),
    agents: agentIds?.map((id) => labelDigest(namespace, AGENT_LABEL, id)),
  };
}

function getLabels(namespace: string, filter: MemoryFilter): Digest[] {
  const labels: [string, string][] = filteredAttributes(filter);
  if (filter.sessionId !== undefined) labels.push([SESSION_LABEL, filter.sessionId]);
  if (filter.source !== undefined) labels.push([SOURCE_LABEL, filter.source]);
  return labels.map(([name, value]) => labelDigest(namespace, name, value));
}

/** Those of a query's words that take part, each any of some terms: of many, the rarest. */
function takingPart(question: Question, words: string[][], digest: (term: string) => Digest): string[][] {
  return areTooMany(words) ? rarestWords(words, question.countDocuments(getDigests(words, digest))) : words;
}

function getDigests(words: readonly string[][], digest: (term: string) => Digest): Digest[][] {
  return words.map((terms) => terms.map(digest));
}
