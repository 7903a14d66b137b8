import { DISTILLING_RULES } from '../distil/bounds.ts';
import type { RunRef, StepResult } from '../ports/storage-consolidation.ts';
import { queueForDistilling } from './consolidation-queue.ts';
import { fromJson } from './corruption.ts';
import { getProperty, setProperty } from './database-marks.ts';
import { DISTILLABLE } from './filters.ts';
import type { Queries, Transaction } from './queries.ts';
import { assertRunning } from './runs.ts';
import { raw, sql } from './sql.ts';

/**
 * The distilling rules by which the memories of a namespace have been or are being queued. `before` is the position of
 * the last memory that was looked at; absent once all have been looked at.
 */
interface DistillingMark {
  rules: number;
  before?: Position;
}

/** A position in the order of creation. */
interface Position {
  createdAt: number;
  ordinal: number;
}

/** Returns the name of the property with the `DistillingMark` of a namespace. The property is absent before a run. */
function getMarkName(namespace: string): string {
  return `distilled_by ${namespace}`;
}

/** Requires that the next runs look at all memories of a namespace again. */
export function forgetDistillingRules(queries: Queries, namespace: string): Promise<void> {
  return setProperty(queries, getMarkName(namespace), undefined);
}

/** Queues memories that earlier rules did not distil. See `Storage.requeuePassedOver`. */
export async function requeuePassedOver(transaction: Transaction, run: RunRef, limit: number): Promise<StepResult> {
  await assertRunning(transaction, run);
  const { namespace } = run;
  const name = getMarkName(namespace);
  const value = await getProperty(transaction, name);
  const mark = value === undefined ? undefined : fromJson<DistillingMark>(value, 'the property', name);
  const isStarted = mark !== undefined && mark.rules >= DISTILLING_RULES;
  if (isStarted && !mark.before) return { count: 0, more: false };
  const passed = await readBefore(transaction, namespace, isStarted ? mark.before : undefined, limit);
  const ordinals = passed.filter(({ isPassedOver }) => isPassedOver).map(({ ordinal }) => ordinal);
  const count = await queueForDistilling(transaction, namespace, ordinals);
  const last = passed.at(-1);
  const more = last !== undefined && passed.length === limit;
  const before = more ? { createdAt: last.createdAt, ordinal: last.ordinal } : undefined;
  const next: DistillingMark = { rules: DISTILLING_RULES, ...(before && { before }) };
  await setProperty(transaction, name, JSON.stringify(next));
  return { count, more };
}

/** Returns the newest memories before a position, newest first. */
function readBefore(
  queries: Queries,
  namespace: string,
  { createdAt, ordinal }: Position = { createdAt: Number.MAX_SAFE_INTEGER, ordinal: 0 },
  limit: number,
): Promise<(Position & { isPassedOver: boolean | number })[]> {
  return queries.rows(sql`
    SELECT m.created_at AS "createdAt", m.ordinal, m.tier <> 'semantic' AND ${raw(DISTILLABLE)} AND NOT EXISTS (
      SELECT 1 FROM memory_source l WHERE l.namespace = m.namespace AND l.source = m.ordinal) AS "isPassedOver"
    FROM memory m ${queries.dialect.indexedBy('memory_by_time')}
    WHERE m.namespace = ${namespace}
      AND (m.created_at, m.ordinal) < (CAST(${createdAt} AS bigint), CAST(${ordinal} AS bigint))
    ORDER BY m.created_at DESC, m.ordinal DESC LIMIT ${limit}`);
}
