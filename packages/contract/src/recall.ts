import { Content, Count, MemoryId, memoryId, requestTime, SessionIdOrNull, Tags, Timestamp } from './field.ts';
import { filterFields } from './filter.ts';
import { DEFAULTS, LIMITS } from './limits.ts';
import { ownerFields } from './scope.ts';
import Type from './typebox.ts';

/** The rule for a time zone, as it completes "timezone must …". */
export const TIME_ZONE_MUST = 'be the name of a time zone (IANA), such as Europe/Berlin or UTC';

export const RecallRequest = Type.Object(
  {
    query: Type.String({
      minLength: 1,
      description: `What to look for, in natural language; 1 to ${LIMITS.queryChars} characters after trimming.`,
      'x-must': `be a string of 1 to ${LIMITS.queryChars} characters after trimming`,
    }),
    top_k: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.topK,
        default: DEFAULTS.topK,
        description: 'Most results to answer.',
        'x-must': `be a whole number from 1 to ${LIMITS.topK}`,
      }),
    ),
    ...filterFields,
    min_score: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: 'Leave out results that score less.',
        'x-must': 'be a number from 0 to 1',
      }),
    ),
    only_relevant: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Return only results that are likely to answer the query, and none if nothing does.',
        'x-must': 'be true or false',
      }),
    ),
    timezone: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description:
          'The time zone (IANA name) of dates in the query, such as "yesterday"; by default that of the service.',
        'x-must': TIME_ZONE_MUST,
      }),
    ),
    asked_at: Type.Optional(
      requestTime('When the query is asked, from which dates such as "last week" count; now if absent.'),
    ),
    superseded: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Whether to return memories that another one supersedes; they rank below it.',
        'x-must': 'be true or false',
      }),
    ),
    track: Type.Optional(
      Type.Boolean({
        default: true,
        description:
          'Whether the recall is a use of the memories that it returns. If false, access counts, the query log, events and recall metrics leave it out.',
        'x-must': 'be true or false',
      }),
    ),
    explain: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Say of each result how its score comes about.',
        'x-must': 'be true or false',
      }),
    ),
    highlight: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Add to each result the part of its content that fits the query best.',
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
    words: value('How well its own words match; synonyms of what was asked count a little'),
    meaning: value('How near its own meaning is'),
    tokens: value(
      'How much nearer its words, as the model sees them in their context, are to those of the query than is usual',
    ),
    neighbour: value('How relevant the better of the memories before and after it in its session is'),
    passage: value('How relevant it and what was found around it are together'),
    session: value('How relevant all memories of its session that were found are together'),
    reply: value('How relevant the question is that another asked just before it'),
    date: value('Whether it is of the date that the query names'),
    wish: value(
      'How relevant it is where it is an instruction that stands, and the query does not ask what was, or a preference, and the query asks for advice',
    ),
    question: value('That it asks itself'),
    brevity: value('That it is short'),
    length: value('That it is long: ln((words + 1) / 100) from a hundred words on'),
    age: value('That it was created long ago: ln(1 + years)'),
    repeat: value('That a better result has the same text'),
    retention: value('How far it is retained'),
    crowd: value('How much speaks for the twentieth best of what was found, at least .6; the same for all results'),
    missing: value('Which part of the query names and numbers make that no memory holds; the same for all results'),
  });
}

export const Explanation = Type.Object(
  {
    evidence: perEvidence('.'),
    evidence_of_another: Type.Optional(
      Type.Literal(true, {
        description:
          'There where the evidence is that of another memory, whose score this one has: a better match that it corrects, a worse one that corrects it, or the worst match of what it was distilled from.',
      }),
    ),
    weights: perEvidence(': its weight in the sum.'),
    even: Type.Number({ description: 'The sum at which the score is .5.' }),
    slope: Type.Number({ description: 'How steeply the score rises with the sum.' }),
    matched: Type.Array(Type.String(), {
      description: `Words of the memory, as they are written there, that match words of the query; looked for in the first ${LIMITS.matchedUnits} characters of all results.`,
    }),
  },
  {
    description: 'The score is 1 / (1 + exp(slope * (even - sum))), where sum adds up each weight times its evidence.',
  },
);
export type Explanation = Type.Static<typeof Explanation>;

export const RecallResult = Type.Object({
  id: MemoryId,
  content: Content,
  score: Type.Number({ minimum: 0, maximum: 1, description: 'Relevance to the query, from 0 to 1.' }),
  tags: Tags,
  session_id: SessionIdOrNull,
  ...ownerFields,
  created_at: Timestamp,
  superseded_by: Type.Optional(memoryId('The memory that corrects this one.')),
  explanation: Type.Optional(Explanation),
  highlight: Type.Optional(
    Type.String({
      description: `Up to ${LIMITS.highlightChars} characters of the content, unchanged, around the part that fits the query best, looked for in the first ${LIMITS.highlightedUnits} characters of all results; else its beginning.`,
    }),
  ),
});
export type RecallResult = Type.Static<typeof RecallResult>;

export const RecallResponse = Type.Object({
  results: Type.Array(RecallResult, { description: 'Best first.' }),
  total: Count,
  truncated: Type.Optional(
    Type.Literal(true, { description: 'There when the largest answer size cut the results short.' }),
  ),
});
export type RecallResponse = Type.Static<typeof RecallResponse>;
