import { UsageError } from '../usage-error.ts';

/** A field of a memory and `=`, which begins the next pair. A comma elsewhere belongs to the name of a column. */
const NEXT_PAIR = /,(?=[a-z_]+=)/;
const PAIR = /^([a-z_]+)=(.+)$/s;

/**
 * Parses the values of `--map`, such as `content=text,created_at=date`: for each field of a memory, the column that it
 * comes from.
 *
 * @throws UsageError for a value without `=`, and for a field that is given twice
 */
export function parseMap(values: readonly string[]): Record<string, string> {
  const columns = new Map<string, string>();
  for (const pair of values.flatMap((value) => value.split(NEXT_PAIR))) {
    const [, field, column] = PAIR.exec(pair) ?? [];
    if (field === undefined || column === undefined) {
      throw new UsageError(
        '--map must be fields and columns with = between them, such as content=text,created_at=date',
      );
    }
    if (columns.has(field)) throw new UsageError(`--map must have the field ${field} only once`);
    columns.set(field, column);
  }
  return Object.fromEntries(columns);
}
