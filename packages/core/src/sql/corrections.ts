import type { Owner, OwnerFilter } from '@memoryd/search';
import type { RunRef } from '../ports/storage-consolidation.ts';
import type {
  ComparedMemory,
  CorrectionDecision,
  CorrectionState,
  DecisionOutcome,
  NewCorrection,
  SuggestedCorrection,
} from '../ports/storage-corrections.ts';
import type { Page, PageRequest } from '../ports/storage-memories.ts';
import { fromJson } from './corruption.ts';
import { BEFORE_THE_LAST, DISTILLABLE, isOfOwners } from './filters.ts';
import { findByOrdinal, toFilterFields } from './find-memory.ts';
import { takePage } from './memory-row.ts';
import { count, type Queries, type Transaction } from './queries.ts';
import { assertRunning } from './runs.ts';
import { raw, type Sql, sql } from './sql.ts';
import { canReplace } from './succession.ts';
import { setSuperseded } from './update-memory.ts';
import { getBegin } from './validity.ts';

/** See `Storage.comparedMemories`. */
export async function comparedMemories(
  queries: Queries,
  namespace: string,
  ordinals: readonly number[],
  chars: number,
): Promise<ComparedMemory[]> {
  const rows = await queries.rows<Omit<ComparedMemory, 'tags'> & { tags: string }>(sql`
    SELECT m.ordinal, m.version, m.tags, substr(m.content, 1, ${chars}) AS content, ${getBegin('m')} AS "beginsAt"
    FROM memory m
    WHERE ${queries.dialect.isMemory('m.ordinal', namespace, ordinals)} AND m.tier <> 'semantic' AND ${raw(DISTILLABLE)}`);
  return rows.map((row) => ({ ...row, tags: fromJson<string[]>(row.tags, 'the tags of memory', row.ordinal) }));
}

/**
 * Condition on `correction c`: the suggestion can be accepted. Both memories have the compared texts, have no end, and are
 * not superseded. The later one begins to hold last, and supersedes no other, because a memory can supersede at most one.
 */
const IS_OPEN = sql`EXISTS (
    SELECT 1 FROM memory m WHERE m.namespace = c.namespace AND m.ordinal = c.earlier
      AND m.revision = c.earlier_revision AND ${raw(DISTILLABLE)})
  AND EXISTS (
    SELECT 1 FROM memory m WHERE m.namespace = c.namespace AND m.ordinal = c.later
      AND m.revision = c.later_revision AND m.supersedes IS NULL AND ${raw(DISTILLABLE)} AND ${getBegin('m')} >= (
        SELECT ${getBegin('e')} FROM memory e WHERE e.namespace = c.namespace AND e.ordinal = c.earlier))`;

const SUGGESTED_COLUMNS = {
  id: 'text',
  earlier: 'bigint',
  later: 'bigint',
  reason: 'text',
  earlierVersion: 'integer',
  laterVersion: 'integer',
} as const;

/** See `Storage.suggestCorrections`. */
export async function suggestCorrections(
  transaction: Transaction,
  run: RunRef,
  { userId, agentId }: Owner,
  suggested: readonly NewCorrection[],
  { at, maxPending }: { at: number; maxPending: number },
): Promise<number> {
  await assertRunning(transaction, run);
  const { namespace } = run;
  const isPending = sql`c.namespace = ${namespace} AND c.user_id = ${userId} AND c.agent_id = ${agentId} AND c.state = 'pending'`;
  await transaction.run(sql`DELETE FROM correction AS c WHERE ${isPending} AND NOT (${IS_OPEN})`);
  const pending = await count(transaction, sql`correction c WHERE ${isPending}`);
  const records = suggested.slice(0, Math.max(0, maxPending - pending)).map(({ id, earlier, later, reason }) => ({
    ...{ id, earlier: earlier.ordinal, later: later.ordinal, reason },
    ...{ earlierVersion: earlier.version, laterVersion: later.version },
  }));
  if (records.length === 0) return 0;
  return transaction.run(sql`
    INSERT INTO correction (namespace, id, earlier, later, earlier_revision, later_revision, user_id, agent_id, state,
      reason, suggested_at)
    SELECT c.* FROM (
      SELECT e.namespace, given.id, e.ordinal AS earlier, l.ordinal AS later, e.revision AS earlier_revision,
        l.revision AS later_revision, e.user_id, e.agent_id, 'pending' AS state, given.reason,
        CAST(${at} AS bigint) AS suggested_at
      FROM ${transaction.dialect.records('given', SUGGESTED_COLUMNS, records)} CROSS JOIN memory e CROSS JOIN memory l
      WHERE e.namespace = ${namespace} AND e.ordinal = given.earlier AND e.version = given."earlierVersion"
        AND l.namespace = e.namespace AND l.ordinal = given.later AND l.version = given."laterVersion"
        AND e.user_id = ${userId} AND e.agent_id = ${agentId} AND l.user_id = e.user_id AND l.agent_id = e.agent_id) AS c
    WHERE ${IS_OPEN}
    ON CONFLICT DO NOTHING`);
}

interface CorrectionRow extends Owner {
  id: string;
  state: CorrectionState;
  reason: SuggestedCorrection['reason'];
  suggestedAt: number;
  decidedAt: number | null;
  earlierId: string;
  earlierContent: string;
  earlierCreatedAt: number;
  laterId: string;
  laterContent: string;
  laterCreatedAt: number;
}

/** See `Storage.corrections`. Must run in a snapshot. */
export async function corrections(
  queries: Queries,
  namespace: string,
  state: CorrectionState,
  page: PageRequest<string>,
  now: number,
  of: OwnerFilter = {},
): Promise<Page<SuggestedCorrection, string>> {
  const listed = sql`(
    SELECT * FROM correction m
    WHERE m.namespace = ${namespace} AND m.state = ${state} AND ${isOfOwners(queries.dialect, of)}) AS c
    WHERE ${isListed(state, now)}`;
  const total = await count(queries, sql`${listed}`);
  const rows = await queries.rows<CorrectionRow>(sql`
    WITH page AS MATERIALIZED (
        SELECT c.*, (
          SELECT sum(octet_length(m.content)) FROM memory m
          WHERE m.namespace = c.namespace AND m.ordinal IN (c.earlier, c.later)) AS bytes
        FROM ${listed} ${page.after === undefined ? raw('') : sql`AND c.id < ${page.after}`}
        ORDER BY c.id DESC LIMIT ${page.limit + 1}),
      sized AS (SELECT *, sum(bytes) OVER (ORDER BY id DESC ${BEFORE_THE_LAST}) AS before FROM page)
    SELECT c.id, c.user_id AS "userId", c.agent_id AS "agentId", c.state, c.reason, c.suggested_at AS "suggestedAt",
      c.decided_at AS "decidedAt", e.id AS "earlierId", e.content AS "earlierContent",
      e.created_at AS "earlierCreatedAt", l.id AS "laterId", l.content AS "laterContent",
      l.created_at AS "laterCreatedAt"
    FROM sized c CROSS JOIN memory e CROSS JOIN memory l
    WHERE e.namespace = c.namespace AND e.ordinal = c.earlier AND l.namespace = c.namespace AND l.ordinal = c.later
      AND coalesce(c.before, 0) <= ${page.maxBytes}
    ORDER BY c.id DESC`);
  return takePage(rows, page, total, {
    toItem: toCorrection,
    getBytes: ({ earlierContent, laterContent }) =>
      FIXED_FIELDS_BYTES + Buffer.byteLength(JSON.stringify([earlierContent, laterContent])),
    getPlace: ({ id }) => id,
  });
}

/** Upper bound for the JSON bytes of a correction without its texts. */
const FIXED_FIELDS_BYTES = 4096;

/** Returns a condition on `correction c`: it is listed in its state. Texts of expired memories are never shown. */
function isListed(state: CorrectionState, now: number): Sql {
  if (state === 'pending') return IS_OPEN;
  return sql`NOT EXISTS (
    SELECT 1 FROM memory m WHERE m.namespace = c.namespace AND m.ordinal IN (c.earlier, c.later)
      AND m.expires_at <= ${now})`;
}

function toCorrection(row: CorrectionRow): SuggestedCorrection {
  const { id, userId, agentId, state, reason, suggestedAt, decidedAt } = row;
  const earlier = { id: row.earlierId, content: row.earlierContent, createdAt: row.earlierCreatedAt };
  const later = { id: row.laterId, content: row.laterContent, createdAt: row.laterCreatedAt };
  return { id, userId, agentId, state, reason, earlier, later, suggestedAt, decidedAt };
}

/** See `Storage.decideCorrection`. The transaction must hold the lock of the namespace. */
export async function decideCorrection(
  transaction: Transaction,
  { namespace, id, accept, at, of }: CorrectionDecision,
): Promise<DecisionOutcome> {
  const found = await transaction.row<Decidable>(sql`
    SELECT c.earlier, c.later, c.state, (${IS_OPEN}) AS "isOpen" FROM (
      SELECT * FROM correction m
      WHERE m.namespace = ${namespace} AND m.id = ${id} AND ${isOfOwners(transaction.dialect, of)}) AS c`);
  if (!found || (found.state === 'pending' && !found.isOpen)) return { outcome: 'unknown' };
  const link = await setLink(transaction, namespace, found, accept, at);
  if (link === 'outdated') return { outcome: 'outdated' };
  const state = accept ? 'accepted' : 'declined';
  if (state !== found.state) {
    await transaction.run(sql`
      UPDATE correction SET state = ${state}, decided_at = ${at} WHERE namespace = ${namespace} AND id = ${id}`);
  }
  return { outcome: 'decided', ...(link && { changed: link }) };
}

interface Decidable {
  earlier: number;
  later: number;
  state: CorrectionState;
  isOpen: boolean | number;
}

/** Makes the later memory supersede the earlier one, or removes this link, unless the link is as wanted already. */
async function setLink(
  transaction: Transaction,
  namespace: string,
  { earlier, later, state, isOpen }: Decidable,
  isWanted: boolean,
  at: number,
) {
  const superseded = await findByOrdinal(transaction, namespace, earlier);
  const superseding = await findByOrdinal(transaction, namespace, later);
  if (!superseded || !superseding) return 'outdated';
  const isLinked = superseding.supersedes === superseded.id;
  // A link that another client made is no effect of this correction, so declining does not remove it.
  if (isLinked === isWanted || (isLinked && state !== 'accepted')) return undefined;
  if (isWanted && !(isOpen && (await canReplace(transaction, superseding, superseded.id)))) return 'outdated';
  await setSuperseded(transaction, superseding, isWanted ? superseded.id : null, at);
  const { id, userId, agentId } = superseding;
  return { id, owner: { userId, agentId }, before: toFilterFields(superseding) };
}
