import { memoryId, requestTime, timestamp } from './field.ts';
import Type from './typebox.ts';

/** Selects memories by the period in which they hold. Spread into request schemas. */
export const validityFields = {
  current: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'Only memories that hold now, or at `asked_at`. Cannot be combined with `as_of`.',
      'x-must': 'be true or false',
    }),
  ),
  as_of: Type.Optional(
    requestTime(
      'Only memories that held at this time. `superseded_by` then names the memory that had replaced a memory by that time.',
    ),
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
}
