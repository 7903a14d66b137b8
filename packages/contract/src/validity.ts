import { memoryId, requestTime, timestamp } from './field.ts';
import Type from './typebox.ts';

/** Returns the schema of a field `current`. */
export function currentField(description: string, isDefault: boolean) {
  return Type.Optional(Type.Boolean({ default: isDefault, description, 'x-must': 'be true or false' }));
}

/** Selects memories by the period in which they hold, and by what was stored. Spread into request schemas. */
export const validityFields = {
  current: currentField('Only memories that hold now, or at `asked_at`. Cannot be combined with `as_of`.', false),
  as_of: Type.Optional(
    requestTime(
      'Only memories that held at this time. `superseded_by` then names the memory that had replaced a memory by that time.',
    ),
  ),
  known_at: Type.Optional(
    requestTime(
      'Only what had been stored by this time: the memories that had arrived, each with the text, tags, metadata, importance and links that it had then. Forgotten, expired and evicted memories are left out, and merged duplicates are separate memories until they were merged. A time in the future has no effect.',
    ),
  ),
};

/**
 * The revision of a text that is not the current one. Spread into responses to requests with `known_at`.
 */
export const revisionField = {
  revision: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        'The revision of `content` in the history of the memory. Present only with `known_at`, if the memory has another text now.',
    }),
  ),
};

/** Tell that a memory does not hold, or until when it holds. Spread into response schemas. */
export const outdatedFields = {
  valid_to: Type.Optional(timestamp('Time from which the memory no longer holds.')),
  superseded_by: Type.Optional(memoryId('The memory that replaces this one at present, or at the time in `as_of`.')),
};

/** The fields of `validityFields` in a request. */
export interface ValidityRequest {
  current?: boolean;
  as_of?: string;
  known_at?: string;
}
