import { ErrorBody } from './error-body.ts';
import { Count } from './field.ts';
import { LIMITS } from './limits.ts';
import { Redacted } from './redacted.ts';
import Type from './typebox.ts';

/** What became of an export that was imported. */
export const ImportResponse = Type.Object({
  imported_count: Type.Integer({ minimum: 0, description: 'Lines that are kept now.' }),
  unchanged_count: Type.Integer({ minimum: 0, description: 'Lines of which the same was there already.' }),
  refused_count: Count,
  refused: Type.Array(
    Type.Object({ line: Type.Integer({ minimum: 1, description: 'Counted from 1, the header.' }), error: ErrorBody }),
    { maxItems: LIMITS.toldRefusals, description: `The first ${LIMITS.toldRefusals} that were refused, and why.` },
  ),
  unlinked_count: Type.Integer({
    minimum: 0,
    description: 'Links that were left out, since the memory that they name did not come.',
  }),
  redacted: Redacted,
});
export type ImportResponse = Type.Static<typeof ImportResponse>;
