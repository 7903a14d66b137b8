import {
  type Dialect,
  join,
  namespaceBeside,
  type Queries,
  raw,
  type Transaction as SharedTransaction,
  type Sql,
  sql,
} from '@memoryd/core';
import type { ListWords } from '@memoryd/search';

export const POSTGRES: Dialect = {
  isIn: (column, values) => sql`${column} = ANY(${values}::text[])`,
  isMemory: (column, namespace, ordinals) =>
    sql`${namespaceBeside(column)} = ${namespace} AND ${raw(column)} = ANY(${ordinals}::bigint[])`,
  isAmong: (ordinals) => sql`m.ordinal = ANY(ARRAY(${ordinals}))`,
  records(name, columns, values) {
    const typed = Object.entries(columns).map(([column, type]) => raw(`"${column}" ${type}`));
    return sql`json_to_recordset(${JSON.stringify(values)}::json) AS ${raw(name)}(${join(typed, ', ')})`;
  },
  isRecord(table, columns, values) {
    const isSame = Object.keys(columns).map((column) => raw(`r.${column} = k.${column}`));
    return sql`${raw(table)}.ctid = ANY(ARRAY(
      SELECT found.row FROM ${POSTGRES.records('k', columns, values)},
        LATERAL (SELECT r.ctid AS row FROM ${raw(table)} r WHERE ${join(isSame, ' AND ')} OFFSET 0) AS found))`;
  },
  ordinals: (name, values) => sql`unnest(${values}::bigint[]) WITH ORDINALITY AS ${raw(name)}(ordinal, place)`,
  joinMemory(name, key) {
    const conditions = Object.entries(key).map(([column, value]) => sql`${raw(column)} = ${value}`);
    return sql`JOIN ${memoriesBy(name, join(conditions, ' AND '))} ON true`;
  },
  joinSelected(name, key, select) {
    const conditions = Object.entries(key).map(([column, value]) => sql`${raw(`k.${column}`)} = ${value}`);
    return sql`JOIN LATERAL (${select(join(conditions, ' AND '))}) AS ${raw(name)} ON true`;
  },
  knownColumns: [raw('CASE WHEN f.until IS NULL THEN k.fields ELSE f.metadata::jsonb END AS fields')],
  indexedBy: () => raw(''),
  unindexed: (column) => column,
  fence: raw('OFFSET 0'),
  least: raw('least'),
  greatest: raw('greatest'),
  memoryKey: raw('(namespace, ordinal)'),
  linkKey: raw('(namespace, ordinal, successor, linked_at)'),
  firstSlot: -1,
  countsWith: (namespace) => sql`namespace = ${namespace}`,
  forShare: raw('FOR SHARE'),
  skipLocked: raw('FOR UPDATE SKIP LOCKED'),
  metadataValue(path) {
    const value = sql`(m.fields${join([raw(''), ...path.map((key) => sql`${key}::text`)], ' -> ')})`;
    const ofType = (type: string, expression: Sql) =>
      sql`(CASE jsonb_typeof${value} WHEN ${raw(`'${type}'`)} THEN ${expression} END)`;
    const toJsonb = (scalar: unknown) => sql`${JSON.stringify(scalar)}::jsonb`;
    return {
      exists: sql`${value} IS NOT NULL`,
      text: sql`(${ofType('string', sql`${value} #>> '{}'`)} COLLATE "C")`,
      number: ofType('number', value),
      toNumber: toJsonb,
      isIn: (values) => sql`${value} = ANY(${values.map((scalar) => JSON.stringify(scalar))}::jsonb[])`,
      contains: (element) => ofType('array', sql`${value} @> ${toJsonb(element)}`),
    };
  },
  selectByWords: (words) => sql`SELECT w.ordinal FROM memory_words w WHERE ${hasWords(words)}`,
  hasWords,
  tags: raw(`(SELECT value COLLATE "C" AS value FROM jsonb_array_elements_text(m.tags::jsonb))`),
  joinTags: raw(`LEFT JOIN LATERAL (
    SELECT value COLLATE "C" AS value FROM jsonb_array_elements_text(m.tags::jsonb)) AS t ON true`),
  hasTag: (tags) => sql`m.tags::jsonb ?| ${tags}::text[]`,
  metadataText: (field) => sql`(${toScalarText(field, raw('NULL'))} COLLATE "C")`,
  beginsWith: (text, characters) => sql`${text} ~ ${`^${characters.map(toRegex).join('')}`}`,
  hasMetadata: (field, value) => sql`${toScalarText(field, raw("'null'"))} = ${value}`,
  jsonField: (column, field) => sql`(${column}::json ->> ${field}::text)`,
  jsonArray: (value, order) => sql`coalesce(json_agg(${value} ORDER BY ${order}), '[]')::text`,
  jsonObject: (key, value) => sql`coalesce(json_object_agg(${key}, ${value}), '{}')::text`,
};

/**
 * Returns the text of a scalar in a field of the metadata of `memory m`; SQL null for another value.
 *
 * @param ofNull the result for the value null
 */
function toScalarText(field: string, ofNull: Sql): Sql {
  const json = sql`(m.metadata::json -> ${field}::text)`;
  return sql`CASE json_typeof${json} WHEN 'string' THEN ${json} #>> '{}'
    WHEN 'array' THEN NULL WHEN 'object' THEN NULL WHEN 'null' THEN ${ofNull} ELSE ${json}::text END`;
}

/** Returns the regular expression of one character, by code points. */
function toRegex(alternatives: readonly string[]): string {
  const escapes = alternatives.map((one) => `\\U${one.codePointAt(0)?.toString(16).padStart(8, '0')}`);
  return `[${escapes.join('')}]`;
}

function hasWords({ whole, beginnings }: ListWords): Sql {
  const query = [...whole.map((word) => `'${word}'`), ...beginnings.map((word) => `'${word}':*`)].join(' & ');
  return sql`w.words @@ ${query}::tsquery`;
}

/** Creates the statement of `Queries.insert`: one statement for all rows. */
export function createInsert(...[table, columns, rows, onConflict = raw('')]: Parameters<Queries['insert']>): Sql {
  const types = Object.entries(columns);
  const names = join(
    types.map(([name]) => raw(name)),
    ', ',
  );
  const values = types.map(([name, type]) => raw(type === 'bytea' ? `decode(${name}, 'hex')` : name));
  const typed = types.map(([name, type]) => raw(`${name} ${type === 'bytea' ? 'text' : type}`));
  const json = JSON.stringify(rows.map((row) => Object.fromEntries(types.map(([name]) => [name, toJson(row[name])]))));
  return sql`INSERT INTO ${raw(table)} (${names})
    SELECT ${join(values, ', ')} FROM json_to_recordset(${json}::json) AS row(${join(typed, ', ')}) ${onConflict}`;
}

// JSON has no binary type, so bytes are encoded as hexadecimal digits.
function toJson(value: unknown): unknown {
  return Buffer.isBuffer(value) ? value.toString('hex') : value;
}

/**
 * SQL to join the memories with a key, under the alias `name`. `OFFSET 0` forces a lookup by the key, because without
 * statistics the planner may choose another index.
 */
export function memoriesBy(name: string, key: Sql): Sql {
  return sql`LATERAL (SELECT * FROM memory WHERE ${key} OFFSET 0) AS ${raw(name)}`;
}

/** Queries of one of the processes that share the database. */
export interface OwnQueries extends Queries {
  /** Unique id of the process. */
  readonly process: string;
}

/** Queries in a transaction that writes. */
export interface Transaction extends OwnQueries, SharedTransaction {}
