import {
  Content,
  Count,
  ExternalId,
  MemoryId,
  requestTime,
  requestTimeZone,
  SessionIdOrNull,
  Tags,
  Timestamp,
} from './field.ts';
import { filterFields } from './filter.ts';
import { DEFAULTS, LIMITS } from './limits.ts';
import { ownerFields } from './scope.ts';
import Type from './typebox.ts';
import { outdatedFields, revisionField, validityFields } from './validity.ts';

export const RecallRequest = Type.Object(
  {
    query: Type.String({
      pattern: '\\S',
      description: `The search query in natural language, 1 to ${LIMITS.queryChars} characters after trimming.`,
      'x-must': `be a string of 1 to ${LIMITS.queryChars} characters after trimming`,
    }),
    top_k: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.topK,
        default: DEFAULTS.topK,
        description: 'Maximum number of results.',
        'x-must': `be a whole number from 1 to ${LIMITS.topK}`,
      }),
    ),
    ...filterFields,
    ...validityFields,
    min_score: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: 'Exclude results with a lower score.',
        'x-must': 'be a number from 0 to 1',
      }),
    ),
    only_relevant: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          'Return only results that are likely to answer the query. The list is empty if no memory is likely to.',
        'x-must': 'be true or false',
      }),
    ),
    timezone: Type.Optional(
      requestTimeZone(
        'IANA time zone for relative dates in the query, such as "yesterday". Defaults to the time zone of the service.',
      ),
    ),
    asked_at: Type.Optional(
      requestTime('Reference time for relative dates in the query, such as "last week". Defaults to now.'),
    ),
    superseded: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Include superseded memories. Each ranks below the memory that supersedes it.',
        'x-must': 'be true or false',
      }),
    ),
    track: Type.Optional(
      Type.Boolean({
        default: true,
        description:
          'Count this recall as a use of the returned memories. If false, access counts, the query log, events and recall metrics ignore it.',
        'x-must': 'be true or false',
      }),
    ),
    explain: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Add to each result an explanation of its score.',
        'x-must': 'be true or false',
      }),
    ),
    highlight: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Add to each result the passage of its content that matches the query best.',
        'x-must': 'be true or false',
      }),
    ),
  },
  { additionalProperties: false },
);
export type RecallRequest = Type.Static<typeof RecallRequest>;

function perEvidence(range: string) {
  const value = (description: string) => Type.Number({ description: `${description}${range}` });
  return Type.Object({
    words: value('Word match between the memory and the query; synonyms count with a low weight'),
    meaning: value('Similarity between the embeddings of the memory and the query'),
    tokens: value(
      'Similarity between the contextual token embeddings of the memory and the query, above the usual level',
    ),
    rerank: value(
      'Probability from the reranker that the memory answers the query; the mean of the reranked memories for others, and 0 if the recall was not reranked',
    ),
    neighbor: value(
      'Relevance of the memory before or the memory after in the same session, whichever is more relevant',
    ),
    passage: value('Combined relevance of the memory and the candidates around it in its session'),
    session: value('Combined relevance of all candidates in the same session'),
    reply: value('Relevance of the question that another speaker asked directly before this memory'),
    date: value('1 if the memory matches the date in the query; less for a match in another time zone'),
    period: value(
      'If the query consists of a date: 1 if the memory was created at that date; less for a match in another time zone',
    ),
    wish: value(
      'Relevance of a standing instruction, unless the query asks about the past, or of a preference, if the query asks for advice',
    ),
    question: value('How far the memory is itself a question'),
    silent: value('1 if the text states nothing: a short question, or an answer such as "I don\'t know"'),
    brevity: value('Shortness of the text, for texts below 12 words'),
    length: value('Length of the text: ln((words + 1) / 100), from 100 words'),
    age: value('Age of the memory: ln(1 + years)'),
    repeat: value('1 if a better result has the same text'),
    retention: value('The `retention` of the memory'),
    crowd: value('Weighted evidence of the 20th best candidate, at least 0.6; equal for all results'),
    missing: value('Share of the query that consists of names and numbers found in no memory; equal for all results'),
  });
}

export const Explanation = Type.Object(
  {
    evidence: perEvidence('.'),
    evidence_of_another: Type.Optional(
      Type.Literal(true, {
        description:
          'True if evidence and score were inherited from another memory: a better match that this memory supersedes, a worse match that supersedes this memory, or the worst match among its sources. Otherwise absent.',
      }),
    ),
    weights: perEvidence(': its weight in the sum.'),
    even: Type.Number({ description: 'The sum at which the score is 0.5.' }),
    slope: Type.Number({ description: 'Steepness of the score as a function of the sum.' }),
    matched: Type.Array(Type.String(), {
      description: `Words of the memory, as written there, that match words of the query. Only the first ${LIMITS.matchedUnits} characters of all results together are searched.`,
    }),
  },
  {
    description: 'The score is 1 / (1 + exp(slope * (even - sum))), where sum is the sum of weight times evidence.',
  },
);
export type Explanation = Type.Static<typeof Explanation>;

/** Where a memory in the response to a query belongs, when it was created, and whether it holds. */
export const placeFields = {
  tags: Tags,
  session_id: SessionIdOrNull,
  ...ownerFields,
  external_id: Type.Optional(ExternalId),
  created_at: Timestamp,
  ...outdatedFields,
};

export const RecallResult = Type.Object({
  id: MemoryId,
  content: Content,
  score: Type.Number({ minimum: 0, maximum: 1, description: 'Relevance to the query, from 0 to 1.' }),
  ...placeFields,
  ...revisionField,
  explanation: Type.Optional(Explanation),
  highlight: Type.Optional(
    Type.String({
      description: `Up to ${LIMITS.highlightChars} unchanged characters of the content, around the passage that matches the query best. Only the first ${LIMITS.highlightedUnits} characters of all results together are searched; beyond them, the highlight is the beginning of the content.`,
    }),
  ),
});
export type RecallResult = Type.Static<typeof RecallResult>;

export const RecallResponse = Type.Object({
  results: Type.Array(RecallResult, { description: 'Best first.' }),
  total: Count,
  truncated: Type.Optional(
    Type.Literal(true, {
      description: 'True if results were dropped to stay within the maximum response size. Otherwise absent.',
    }),
  ),
  reranked: Type.Optional(
    Type.Boolean({
      description:
        'Whether a reranker contributed to the scores. False if it failed or took too long, if nothing was found, and for a recall of several users. Absent if the service has no reranker.',
    }),
  ),
});
export type RecallResponse = Type.Static<typeof RecallResponse>;
