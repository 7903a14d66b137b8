import type { FilterCondition, FilterTest } from '@memoryd/contract';
import { getMetadataPath } from '../filter.ts';
import { meetsFieldTest } from '../filter-match.ts';
import { NO_ROW } from '../ranking/signals.ts';

/** The value of a field in the database: a text or a number, or JSON (see `toValue`). */
type StoredValue = string | number;

/**
 * Yields the values of a field, null for a memory without a value: of all memories, or of the memories with the given
 * ordinals.
 */
export type FieldReader = (
  field: string,
  ordinals?: readonly number[],
) => Iterable<readonly [ordinal: number, value: StoredValue | null]>;

/** The part of an index that columns need. */
interface Rows {
  /** Number of rows. Row numbers are lower. */
  readonly rowCount: number;
  /** Returns the row of a memory; `NO_ROW` if the memory is not indexed. */
  getRow(ordinal: number): number;
}

/** Approximate maximum bytes of all columns together: about 16 fields of a million memories. */
const MAX_BYTES = 128 * 2 ** 20;

/**
 * A column with more changed memories than this share of its rows is read again as a whole, which then takes less time.
 */
const MAX_CHANGED_SHARE = 1 / 8;
/** Changed memories that a column of any size may have. */
const MIN_CHANGED = 1024;

/**
 * The values of the fields that filters have named, by row. A filter is evaluated once for each distinct value of a
 * field. The first filter on a field reads the values of all memories.
 */
export class FilterColumns {
  readonly #rows: Rows;
  readonly #maxBytes: number;
  /** Columns by field, in the order of their last use. */
  readonly #columns = new Map<string, Column>();

  constructor(rows: Rows, maxBytes = MAX_BYTES) {
    this.#rows = rows;
    this.#maxBytes = maxBytes;
  }

  /** Notes that fields or the row of a memory may have changed. */
  noteChange(ordinal: number): void {
    for (const [field, { changed }] of this.#columns) {
      changed.add(ordinal);
      if (changed.size > MIN_CHANGED + this.#rows.rowCount * MAX_CHANGED_SHARE) this.#columns.delete(field);
    }
  }

  /** Returns a byte for each row: 1 if the memory of the row matches the filter, or else 0. */
  match(condition: FilterCondition, read: FieldReader): Uint8Array {
    const matches = this.#match(condition, read);
    this.#evict();
    return matches;
  }

  #match(condition: FilterCondition, read: FieldReader): Uint8Array {
    if ('not' in condition) {
      const matches = this.#match(condition.not, read);
      for (let row = 0; row < matches.length; row++) matches[row] = 1 - (matches[row] as number);
      return matches;
    }
    if ('all' in condition) return this.#combine(condition.all, read, 1);
    if ('any' in condition) return this.#combine(condition.any, read, 0);
    return this.#getColumn(condition.field, read)?.match(condition, this.#rows.rowCount) ?? this.#test(condition, read);
  }

  /** Tests the values of a field that are too large for a column, one after the other. */
  #test(test: { field: string } & FilterTest, read: FieldReader): Uint8Array {
    const matches = new Uint8Array(this.#rows.rowCount);
    for (const [ordinal, value] of read(test.field)) {
      const row = this.#rows.getRow(ordinal);
      if (row !== NO_ROW) matches[row] = Number(meetsFieldTest(test.field, toValue(test.field, value), test));
    }
    return matches;
  }

  /** Combines conditions: those rows keep the byte `replaced` whose byte is `replaced` for every condition. */
  #combine(conditions: readonly FilterCondition[], read: FieldReader, replaced: 0 | 1): Uint8Array {
    const [first, ...others] = conditions.map((condition) => this.#match(condition, read)) as [Uint8Array];
    for (const other of others as Uint8Array[]) {
      for (let row = 0; row < first.length; row++) if (first[row] === replaced) first[row] = other[row] as number;
    }
    return first;
  }

  /** Returns the column of a field, updated to the index; undefined if the values are too large. */
  #getColumn(field: string, read: FieldReader): Column | undefined {
    const known = this.#columns.get(field);
    this.#columns.delete(field);
    const column = known && !known.hasManyUnused ? known : new Column(field);
    if (column === known) {
      const changed = [...column.changed];
      column.changed.clear();
      if (changed.length > 0) for (const [ordinal, value] of read(field, changed)) this.#set(column, ordinal, value);
    } else if (!this.#fill(column, read(field))) return undefined;
    this.#columns.set(field, column);
    return column;
  }

  /** Returns false, and stops, once the values are too large. */
  #fill(column: Column, values: ReturnType<FieldReader>): boolean {
    for (const [ordinal, value] of values) {
      this.#set(column, ordinal, value);
      if (column.bytes > this.#maxBytes) return false;
    }
    return true;
  }

  #set(column: Column, ordinal: number, value: StoredValue | null): void {
    const row = this.#rows.getRow(ordinal);
    if (row !== NO_ROW) column.set(row, value);
  }

  /** Drops the columns that were not used for the longest time, until the others fit. */
  #evict(): void {
    let bytes = 0;
    for (const [field, column] of [...this.#columns].reverse()) {
      bytes += column.bytes;
      if (bytes > this.#maxBytes) this.#columns.delete(field);
    }
  }
}

/** Approximate bytes of a distinct value, besides its characters, and per character. */
const BYTES_PER_VALUE = 128;
const BYTES_PER_CHAR = 4;

/** The values of a field by row, as numbers of distinct values. Number 0 means that the memory has no value. */
class Column {
  readonly changed = new Set<number>();
  readonly #field: string;
  readonly #numbers = new Map<StoredValue, number>();
  readonly #values: unknown[] = [undefined];
  #rows = new Uint32Array(1024);
  #chars = 0;

  constructor(field: string) {
    this.#field = field;
  }

  get bytes(): number {
    return this.#rows.byteLength + this.#values.length * BYTES_PER_VALUE + this.#chars * BYTES_PER_CHAR;
  }

  /** Whether the column has so many distinct values that most of them belong to no row. */
  get hasManyUnused(): boolean {
    return this.#values.length > 2 * this.#rows.length;
  }

  set(row: number, value: StoredValue | null): void {
    this.#grow(row + 1);
    this.#rows[row] = value === null ? 0 : this.#getNumber(value);
  }

  match(test: FilterTest, rowCount: number): Uint8Array {
    this.#grow(rowCount);
    const byNumber = new Uint8Array(this.#values.length);
    for (let number = 0; number < byNumber.length; number++) {
      byNumber[number] = Number(meetsFieldTest(this.#field, this.#values[number], test));
    }
    const matches = new Uint8Array(rowCount);
    for (let row = 0; row < rowCount; row++) matches[row] = byNumber[this.#rows[row] as number] as number;
    return matches;
  }

  #getNumber(value: StoredValue): number {
    const known = this.#numbers.get(value);
    if (known !== undefined) return known;
    const number = this.#values.length;
    this.#numbers.set(value, number);
    this.#values.push(toValue(this.#field, value));
    this.#chars += typeof value === 'string' ? value.length : 0;
    return number;
  }

  #grow(count: number): void {
    if (count <= this.#rows.length) return;
    const grown = new Uint32Array(Math.max(count, this.#rows.length * 2));
    grown.set(this.#rows);
    this.#rows = grown;
  }
}

/** Converts a stored value. Tags and metadata are stored as JSON. */
function toValue(field: string, value: StoredValue | null): unknown {
  if (value === null) return undefined;
  return field === 'tag' || getMetadataPath(field) ? JSON.parse(value as string) : value;
}
