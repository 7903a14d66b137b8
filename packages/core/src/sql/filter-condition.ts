import type { FilterCondition, FilterTest } from '@memoryd/contract';
import { getMetadataPath } from '@memoryd/search';
import type { Dialect } from './queries.ts';
import { join, raw, type Sql, sql } from './sql.ts';
import { getBegin } from './validity.ts';

/** A test of the value of one field. `operator` and its value as in `FilterTest`. */
type FieldTest = { field: string } & FilterTest;

/**
 * Returns a condition on `memory m`: the memory matches a filter. The rule is the same as in `meetsTest` of search.
 *
 * @param getColumn returns a column of `memory m`
 */
export function meetsCondition(dialect: Dialect, condition: FilterCondition, getColumn: (name: string) => Sql): Sql {
  const toSql = (part: FilterCondition): Sql => {
    if ('all' in part) return sql`(${join(part.all.map(toSql), ' AND ')})`;
    if ('any' in part) return sql`(${join(part.any.map(toSql), ' OR ')})`;
    // A test of a missing value is null, which counts as false.
    if ('not' in part) return sql`NOT coalesce(${toSql(part.not)}, false)`;
    const path = getMetadataPath(part.field);
    if (path) return meetsMetadataTest(dialect, path, part);
    return part.field === 'tag'
      ? meetsTagTest(dialect, part)
      : meetsColumnTest(dialect, part.field === 'valid_from' ? getBegin('m') : getColumn(part.field), part);
  };
  return toSql(condition);
}

function meetsColumnTest(dialect: Dialect, column: Sql, test: FieldTest): Sql {
  if (test.operator === '$exists') return sql`${column} IS NOT NULL`;
  return meetsTest(dialect, test, { text: column, number: column, toNumber });
}

/** Integers have the type of times, so that the database can look up a time in an index. */
function toNumber(value: number): Sql {
  return Number.isInteger(value) ? sql`CAST(${value} AS bigint)` : sql`CAST(${String(value)} AS double precision)`;
}

function meetsTagTest(dialect: Dialect, test: FieldTest): Sql {
  switch (test.operator) {
    case '$exists':
      return raw(`m.tags <> '[]'`);
    case '$in':
      return dialect.hasTag(test.values as string[]);
    default: {
      const value = raw('t.value');
      const meets = meetsTest(dialect, test, { text: value, number: value, toNumber });
      return sql`EXISTS (SELECT 1 FROM ${dialect.tags} AS t WHERE ${meets})`;
    }
  }
}

function meetsMetadataTest(dialect: Dialect, path: readonly string[], test: FieldTest): Sql {
  const value = dialect.metadataValue(path);
  if (test.operator === '$exists') return value.exists;
  if (test.operator === '$contains') return value.contains(test.value);
  return test.operator === '$in' ? value.isIn(test.values) : meetsTest(dialect, test, value);
}

/** The value of a field as a text and as a number; null if it is of another type. */
interface TestedValue {
  text: Sql;
  number: Sql;
  toNumber: (value: number) => Sql;
}

const COMPARISONS = { $gt: raw('>'), $gte: raw('>='), $lt: raw('<'), $lte: raw('<=') };

function meetsTest(dialect: Dialect, test: FieldTest, value: TestedValue): Sql {
  switch (test.operator) {
    case '$in':
      return equalsOne(dialect, test.values, value);
    case '$prefix':
      return sql`substr(${value.text}, 1, ${[...test.value].length}) = ${test.value}`;
    case '$gt':
    case '$gte':
    case '$lt':
    case '$lte': {
      const comparison = COMPARISONS[test.operator];
      return typeof test.value === 'string'
        ? sql`${value.text} ${comparison} ${test.value}`
        : sql`${value.number} ${comparison} ${value.toNumber(test.value)}`;
    }
    default:
      throw new Error(`the field ${test.field} has no operator ${test.operator}`);
  }
}

/** Returns a condition: a field whose values are of one type equals one of `values`. */
function equalsOne(dialect: Dialect, values: readonly unknown[], { text, number, toNumber }: TestedValue): Sql {
  const numbers = values.filter((value) => typeof value === 'number');
  if (numbers.length > 0) return sql`${number} IN (${join(numbers.map(toNumber), ', ')})`;
  return isOne(dialect, text, values as string[]);
}

/** Returns a condition: a column has one of the values. Planners estimate a single value better than a list. */
export function isOne({ isIn }: Dialect, column: Sql, values: readonly string[]): Sql {
  return values.length === 1 ? sql`${column} = ${values[0]}` : isIn(column, values);
}
