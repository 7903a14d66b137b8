import { Content, MemoryId, requestTime, requestTimeZone, SessionId } from './field.ts';
import { FilterExpression } from './filter-expression.ts';
import { DEFAULTS, LIMITS } from './limits.ts';
import { placeFields } from './recall.ts';
import { scopeFields } from './scope.ts';
import Type from './typebox.ts';

function flag(description: string, options: { default?: boolean } = {}) {
  return Type.Optional(Type.Boolean({ ...options, description, 'x-must': 'be true or false' }));
}

const EXCLUDE_TEXTS_MUST = `be an array of at most ${LIMITS.excludedTexts} strings`;

/** Requests what an agent should know now, as a text for its prompt. */
export const ContextRequest = Type.Object(
  {
    query: Type.Optional(
      Type.String({
        description: `What the agent is asked, in natural language. Only the first ${LIMITS.queryChars} characters are used. A blank query is none.`,
        'x-must': 'be a string',
      }),
    ),
    ...scopeFields,
    filter: Type.Optional(FilterExpression),
    session_id: Type.Optional(
      Type.String({
        ...SessionId,
        description:
          'The session that asks, not a filter. Memories that were stored in it are left out, because the agent has them, until `reset`.',
      }),
    ),
    budget: Type.Optional(
      Type.Integer({
        minimum: LIMITS.minContextTokens,
        maximum: LIMITS.contextTokens,
        default: DEFAULTS.contextTokens,
        description: 'Maximum tokens of the text.',
        'x-must': `be a whole number from ${LIMITS.minContextTokens} to ${LIMITS.contextTokens}`,
      }),
    ),
    recent: flag(
      'Include the newest statements of the last sessions, if the budget has room. By default true without a query.',
    ),
    once: flag(
      'Give each memory once in the session, for a prompt that keeps what it was given. By default true with `session_id`.',
    ),
    reset: flag(
      'Forget what was given in the session, and give also what was stored in it so far: the agent has compacted or lost its prompt. Needs `session_id`.',
      { default: false },
    ),
    exclude_texts: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: LIMITS.excludedTexts,
        description: 'Texts that the prompt already contains. Memories that only repeat one of them are left out.',
        'x-must': EXCLUDE_TEXTS_MUST,
      }),
    ),
    timezone: Type.Optional(
      requestTimeZone(
        'IANA time zone of the dates in the text, and of relative dates in the query. Defaults to the time zone of the service.',
      ),
    ),
    asked_at: Type.Optional(
      requestTime(
        'The time at which memories must hold, and to which relative dates in the query refer. Defaults to now.',
      ),
    ),
    track: flag(
      'Count the relevant memories in the text as used, as a recall does. If false, access counts, the query log, events and recall metrics ignore the request.',
      { default: true },
    ),
  },
  { additionalProperties: false, examples: [{ query: 'Plan a dinner for Ada', user_id: 'ada', session_id: 'chat-7' }] },
);
export type ContextRequest = Type.Static<typeof ContextRequest>;

export const ContextReason = Type.Enum(['standing', 'relevant', 'recent'], {
  description:
    'Why the memory is in the text. `standing`: important at all times. `relevant`: it answers the query, or is the ' +
    'question that such a memory replies to. `recent`: one of the newest statements.',
});
export type ContextReason = Type.Static<typeof ContextReason>;

export const ContextMemory = Type.Object({
  id: MemoryId,
  content: Content,
  why: ContextReason,
  score: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'Relevance to the query, from 0 to 1. Present for memories that a recall of the query found.',
    }),
  ),
  highlight: Type.Optional(
    Type.String({ description: 'The part of a long content that the text shows. Absent if the text shows all of it.' }),
  ),
  ...placeFields,
});
export type ContextMemory = Type.Static<typeof ContextMemory>;

export const ContextResponse = Type.Object({
  text: Type.String({
    description:
      'The memories between two fence lines, for a prompt: standing notes, then relevant ones, then recent ones, each group ' +
      'in order of time. Empty if no memory is selected.',
  }),
  tokens: Type.Integer({
    minimum: 0,
    description: 'Estimated tokens of the text, at most `budget`. The estimate errs upwards against o200k_base.',
  }),
  memories: Type.Array(ContextMemory, { description: 'The memories in the text, in its order.' }),
  omitted: Type.Integer({
    minimum: 0,
    description: 'Number of further memories that were found for the text and did not fit into the budget.',
  }),
});
export type ContextResponse = Type.Static<typeof ContextResponse>;
