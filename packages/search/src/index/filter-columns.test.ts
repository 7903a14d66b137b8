import { describe, expect, it } from 'vitest';
import { type FieldReader, FilterColumns } from './filter-columns.ts';

/** Rows of memories with the ordinals 1 to 6, whose fields a reader counts. */
function openColumns(maxBytes?: number) {
  const rows = { rowCount: 6, getRow: (ordinal: number) => ordinal - 1 };
  const values = new Map<number, string | null>([1, 2, 3, 4, 5, 6].map((ordinal) => [ordinal, `${ordinal * 10}`]));
  const reads: number[] = [];
  const read: FieldReader = (_field, ordinals = [...values.keys()]) => {
    reads.push(ordinals.length);
    return ordinals.map((ordinal) => [ordinal, values.get(ordinal) ?? null] as const);
  };
  const columns = new FilterColumns(rows, maxBytes);
  const match = (value: number) => [...columns.match({ field: 'metadata.n', operator: '$gte', value }, read)];
  return { columns, values, reads, match };
}

describe('columns of filters', () => {
  it('columns of filters are read once, and then only for changed memories', () => {
    const { columns, values, reads, match } = openColumns();
    expect(match(30)).toEqual([0, 0, 1, 1, 1, 1]);
    expect(match(50)).toEqual([0, 0, 0, 0, 1, 1]);
    values.set(2, '70').set(6, null);
    columns.noteChange(2);
    columns.noteChange(6);
    expect(match(50)).toEqual([0, 1, 0, 0, 1, 0]);
    expect(reads).toEqual([6, 2]);
  });

  it('columns of filters are read again as a whole after many changes', () => {
    const { columns, values, reads, match } = openColumns();
    match(30);
    values.set(1, '90');
    for (let ordinal = 1; ordinal < 2000; ordinal++) columns.noteChange(ordinal);
    expect(match(50)).toEqual([1, 0, 0, 0, 1, 1]);
    expect(reads).toEqual([6, 6]);
  });

  it('values that exceed the limit of the columns are tested without a column', () => {
    const { reads, match } = openColumns(4096 + 300);
    expect(match(50)).toEqual([0, 0, 0, 0, 1, 1]);
    expect(match(60)).toEqual([0, 0, 0, 0, 0, 1]);
    expect(reads).toEqual([6, 6, 6, 6]);
  });
});
