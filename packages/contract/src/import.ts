import { ErrorBody } from './error-body.ts';
import { Count } from './field.ts';
import { LIMITS } from './limits.ts';
import { Redacted } from './redacted.ts';
import Type from './typebox.ts';

/** Result of an import: counts of lines, and errors of rejected lines. */
export const ImportResponse = Type.Object({
  imported_count: Type.Integer({ minimum: 0, description: 'Number of lines that were imported.' }),
  unchanged_count: Type.Integer({ minimum: 0, description: 'Number of lines that were already present.' }),
  refused_count: Count,
  refused: Type.Array(
    Type.Object({
      line: Type.Integer({ minimum: 1, description: 'Line number. The header is line 1.' }),
      error: ErrorBody,
    }),
    {
      maxItems: LIMITS.listedRejections,
      description: `The first ${LIMITS.listedRejections} rejected lines, with their errors.`,
    },
  ),
  unlinked_count: Type.Integer({
    minimum: 0,
    description: 'Number of links that were dropped because their target memory was not imported.',
  }),
  redacted: Redacted,
});
export type ImportResponse = Type.Static<typeof ImportResponse>;
