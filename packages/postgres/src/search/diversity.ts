import { type Queries, type Sql, sql } from '@memoryd/core';
import { MAX_PER_TEXT } from '@memoryd/search';
import { memoriesBy } from '../dialect.ts';
import type { Scope } from './scope.ts';

/** A search result. Equal texts have equal digests. */
export interface FoundMemory {
  ordinal: number;
  textDigest: string;
}

/** SQL: the results of a statement, in the same order, with the digests of their texts. */
export function withTextDigests({ namespace }: Scope, found: Sql): Sql {
  return sql`
    SELECT found.*, encode(m.text_digest, 'base64') AS "textDigest"
    FROM (${found}) AS found CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = found.ordinal`)}`;
}

/**
 * Returns the best `count` results of a search, best first, with at most `MAX_PER_TEXT` results per text. Further
 * results with these texts only fill remaining slots. If a text exceeds the limit, the search is repeated without that
 * text, until enough results are found.
 *
 * @param search returns the best `count` memories of a scope, best first
 */
export async function findDiverse(
  queries: Queries,
  scope: Scope,
  count: number,
  search: (scope: Scope) => Promise<FoundMemory[]>,
): Promise<number[]> {
  let found = await search(scope);
  let split = splitByText(found);
  for (let excluded: readonly string[] = []; split.crowded.length > excluded.length && split.within.length < count; ) {
    excluded = split.crowded;
    const others = await search(await excludeTexts(queries, scope, excluded));
    const known = new Set(found.map(({ ordinal }) => ordinal));
    found = [...found, ...others.filter(({ ordinal }) => !known.has(ordinal))];
    split = splitByText(found);
  }
  return [...split.within, ...split.beyond].slice(0, count);
}

/**
 * Splits results into the results within and beyond the limit per text. `crowded` has the digests of the texts that
 * exceed the limit.
 */
function splitByText(found: readonly FoundMemory[]) {
  const counts = new Map<string, number>();
  const within: number[] = [];
  const beyond: number[] = [];
  for (const { ordinal, textDigest } of found) {
    const count = counts.get(textDigest) ?? 0;
    counts.set(textDigest, count + 1);
    (count < MAX_PER_TEXT ? within : beyond).push(ordinal);
  }
  return { within, beyond, crowded: [...counts.keys()].filter((text) => (counts.get(text) as number) > MAX_PER_TEXT) };
}

async function excludeTexts(queries: Queries, scope: Scope, textDigests: readonly string[]): Promise<Scope> {
  const { namespace, passing, few } = scope;
  const others = sql`m.text_digest NOT IN (SELECT decode(unnest(${textDigests}::text[]), 'base64'))`;
  const remaining =
    few &&
    (await queries.rows<Pick<FoundMemory, 'ordinal'>>(sql`
      SELECT m.ordinal FROM unnest(${few}::bigint[]) AS few(ordinal)
      CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = few.ordinal`)} WHERE ${others}`));
  return {
    ...scope,
    passing: sql`${passing} AND ${others}`,
    isOpen: false,
    few: remaining?.map(({ ordinal }) => ordinal),
  };
}
