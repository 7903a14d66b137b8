import { LIMITS } from '@memoryd/contract/limits';
import { createTimeZone } from '@memoryd/contract/time-zone';
import { isOpen, type MemoryFilter } from '@memoryd/search';
import { DAY_MS, Periods } from '../periods.ts';
import type { GrowthSelection, GrowthSteps } from '../ports/storage-memories.ts';
import { toMoment } from '../validity.ts';
import { IS_COUNTED, selectNewestValues } from './field-values.ts';
import { liveAndPassing } from './filters.ts';
import { fromMemory } from './known.ts';
import type { Queries } from './queries.ts';
import { join, raw, type Sql, sql } from './sql.ts';
import { countLive } from './usage.ts';

/** Number of a day before all times, which makes all days positive: integer division rounds toward zero. */
const FIRST_DAY = -720_000;

/**
 * See `Storage.growthSteps`. Must run in a snapshot. The database counts the memories of parts of UTC days, which the
 * periods consist of, because databases do not know the same time zones.
 */
export async function growthSteps(
  queries: Queries,
  namespace: string,
  filter: MemoryFilter,
  { step, timezone, field }: GrowthSelection,
  now: number,
): Promise<GrowthSteps> {
  const { dialect } = queries;
  const passing = liveAndPassing(dialect, namespace, filter, now);
  const matching = sql`${fromMemory(dialect, toMoment({ filter, now }))} WHERE ${passing}`;
  const { total, first, last } = await getRange(queries, namespace, { filter, matching, now });
  if (total === 0 || first === null || last === null) return { steps: [], total, ...(field && { values: [] }) };
  const periods = new Periods(step, createTimeZone(timezone));
  const cuts = periods.getDayStarts(first, last).filter((time) => time > 0);
  const partsOfDay = cuts.length + 1;
  const getBegin = (part: number) =>
    periods.getStart((Math.floor(part / partsOfDay) + FIRST_DAY) * DAY_MS + (cuts[(part % partsOfDay) - 1] ?? 0));
  const limit = LIMITS.growthDays * partsOfDay;
  const rows = await queries.rows<{ part: number; count: number }>(sql`
    SELECT part, count(*) AS count FROM (SELECT ${selectPart(cuts)} AS part FROM ${matching}) AS m
    GROUP BY part ORDER BY part DESC LIMIT ${limit + 1}`);
  const counts = new Map<number, number>();
  for (const { part, count } of rows) add(counts, getBegin(part), count);
  const oldest = [...counts.keys()].at(-1);
  // Memories of the oldest period may be missing.
  if (rows.length > limit && oldest !== undefined) counts.delete(oldest);
  const begins = [...counts.keys()].slice(0, LIMITS.growthDays).reverse();
  const steps = begins.map((from) => ({ from, count: counts.get(from) ?? 0 }));
  if (field === undefined) return { steps, total };
  const found = await queries.rows<{ value: string; rank: number; part: number; count: number }>(sql`
    WITH counted AS MATERIALIZED (
        SELECT coalesce(value, '') AS value, ${selectPart(cuts)} AS part
        FROM (${selectNewestValues(dialect, namespace, { field, filter, now })}) AS m WHERE ${IS_COUNTED}),
      frequent AS (
        SELECT value, row_number() OVER (ORDER BY count(*) DESC, value) AS rank FROM counted GROUP BY value
        ORDER BY count(*) DESC, value LIMIT ${LIMITS.growthValues})
    SELECT f.value, f.rank, c.part, count(*) AS count FROM frequent f JOIN counted c ON c.value = f.value
    GROUP BY f.value, f.rank, c.part`);
  const values: string[] = [];
  const ofValues = new Map<number, number[]>();
  for (const { value, rank, part, count } of found) {
    values[rank - 1] = value;
    const begin = getBegin(part);
    const row = ofValues.get(begin) ?? Array.from({ length: LIMITS.growthValues }, () => 0);
    row[rank - 1] = (row[rank - 1] ?? 0) + count;
    ofValues.set(begin, row);
  }
  return {
    steps: steps.map((each) => ({ ...each, values: values.map((_, i) => ofValues.get(each.from)?.[i] ?? 0) })),
    values,
    total,
  };
}

/** The number of the memories of a growth, and times between which they were created, if there are any. */
interface Range {
  total: number;
  first: number | null;
  last: number | null;
}

async function getRange(
  queries: Queries,
  namespace: string,
  { filter, matching, now }: { filter: MemoryFilter; matching: Sql; now: number },
): Promise<Range> {
  if (!isOpen(filter)) {
    const range = await queries.row<Range>(sql`
      SELECT count(*) AS total, min(m.created_at) AS first, max(m.created_at) AS last FROM ${matching}`);
    return range ?? { total: 0, first: null, last: null };
  }
  // Each subquery reads one row of the index by time.
  const select = (of: string) =>
    sql`(SELECT ${raw(of)}(m.created_at) FROM memory m WHERE m.namespace = ${namespace}) AS ${raw(`"${of}"`)}`;
  const times = await queries.row<{ min: number | null; max: number | null }>(
    sql`SELECT ${select('min')}, ${select('max')}`,
  );
  return { total: await countLive(queries, namespace, now), first: times?.min ?? null, last: times?.max ?? null };
}

/** Returns the number of the part of a UTC day that contains `created_at` of `m`. Parts begin at midnight and at `cuts`. */
function selectPart(cuts: readonly number[]): Sql {
  const sinceFirst = `(m.created_at - CAST(${FIRST_DAY * DAY_MS} AS bigint))`;
  const passed = cuts.map((cut) => sql`CASE WHEN ${raw(`${sinceFirst} % ${DAY_MS}`)} >= ${cut} THEN 1 ELSE 0 END`);
  return join([raw(`${sinceFirst} / ${DAY_MS} * ${cuts.length + 1}`), ...passed], ' + ');
}

function add(counts: Map<number, number>, key: number, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}
