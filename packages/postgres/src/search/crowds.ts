import { MAX_PER_TEXT, type Queries, type Sql, sql } from '@memoryd/engine/storage-kit';
import { memoriesBy } from '../dialect.ts';
import type { Scope } from './scope.ts';

/** A memory that a search found; equal texts have equal digests. */
export interface FoundMemory {
  ordinal: number;
  textDigest: string;
}

/** Memories that a statement finds, in its order, with the digests of their texts. */
export function withTextDigests({ namespace }: Scope, found: Sql): Sql {
  return sql`
    SELECT found.*, encode(m.text_digest, 'base64') AS "textDigest"
    FROM (${found}) AS found CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = found.ordinal`)}`;
}

/**
 * The best `count` of what a search finds, best first, as long as no more than `MAX_PER_TEXT` of them have one text; in the
 * room that is left, others with these texts. A text that takes more room is left out of the scope, and the search is made
 * again: so often at the most as there is room for such texts.
 *
 * @param search finds the best `count` memories of a scope, best first
 */
export async function findWithoutCrowds(
  queries: Queries,
  scope: Scope,
  count: number,
  search: (scope: Scope) => Promise<FoundMemory[]>,
): Promise<number[]> {
  let found = await search(scope);
  let parted = getParted(found);
  for (let crowds: readonly string[] = []; parted.crowds.length > crowds.length && parted.among.length < count; ) {
    crowds = parted.crowds;
    const others = await search(await withoutTexts(queries, scope, crowds));
    const known = new Set(found.map(({ ordinal }) => ordinal));
    found = [...found, ...others.filter(({ ordinal }) => !known.has(ordinal))];
    parted = getParted(found);
  }
  return [...parted.among, ...parted.beyond].slice(0, count);
}

/** What is among the first of each text, what lies beyond them, and the texts of which something does. */
function getParted(found: readonly FoundMemory[]) {
  const counts = new Map<string, number>();
  const among: number[] = [];
  const beyond: number[] = [];
  for (const { ordinal, textDigest } of found) {
    const count = counts.get(textDigest) ?? 0;
    counts.set(textDigest, count + 1);
    (count < MAX_PER_TEXT ? among : beyond).push(ordinal);
  }
  return { among, beyond, crowds: [...counts.keys()].filter((text) => (counts.get(text) as number) > MAX_PER_TEXT) };
}

async function withoutTexts(queries: Queries, scope: Scope, textDigests: readonly string[]): Promise<Scope> {
  const { namespace, passing, few } = scope;
  const others = sql`m.text_digest NOT IN (SELECT decode(unnest(${textDigests}::text[]), 'base64'))`;
  const left =
    few &&
    (await queries.rows<Pick<FoundMemory, 'ordinal'>>(sql`
      SELECT m.ordinal FROM unnest(${few}::bigint[]) AS few(ordinal)
      CROSS JOIN ${memoriesBy('m', sql`namespace = ${namespace} AND ordinal = few.ordinal`)} WHERE ${others}`));
  return {
    ...scope,
    passing: sql`${passing} AND ${others}`,
    isOpen: false,
    few: left?.map(({ ordinal }) => ordinal),
  };
}
