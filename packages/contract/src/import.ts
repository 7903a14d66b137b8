import { ErrorBody } from './error-body.ts';
import { Count, MemoryId } from './field.ts';
import { ImportId } from './imports.ts';
import { LIMITS } from './limits.ts';
import { Redacted } from './redacted.ts';
import Type from './typebox.ts';

/** A line of an export that could not be imported. */
export const RefusedLine = Type.Object({
  line: Type.Integer({
    minimum: 1,
    description: 'Number of the line, or of the item of a JSON array. The header is number 1.',
  }),
  error: ErrorBody,
});
export type RefusedLine = Type.Static<typeof RefusedLine>;

/** Result of an import: counts of lines, and errors of rejected lines. */
export const ImportResponse = Type.Object({
  import_id: Type.Optional(
    Type.String({ ...ImportId, description: 'The id of the import, to undo it. Absent if no line was imported.' }),
  ),
  imported_count: Type.Integer({ minimum: 0, description: 'Number of lines that were imported.' }),
  unchanged_count: Type.Integer({ minimum: 0, description: 'Number of lines that were already present.' }),
  refused_count: Count,
  refused: Type.Array(RefusedLine, {
    maxItems: LIMITS.listedRejections,
    description: `The first ${LIMITS.listedRejections} rejected lines, with their errors.`,
  }),
  unlinked_count: Type.Integer({
    minimum: 0,
    description: 'Number of links that were dropped because their target memory was not imported.',
  }),
  new_ids: Type.Optional(
    Type.Record(Type.String(), MemoryId, {
      description:
        'New ids, by the id on the line, of the memories whose id belongs to another user or agent. Links of the same ' +
        'user and agent to the old id lead to the new one. A repeated import finds the memories under their new ids. ' +
        'If lines of several users or agents have the same id, the new id is that of the last of them.',
    }),
  ),
  redacted: Redacted,
});
export type ImportResponse = Type.Static<typeof ImportResponse>;
