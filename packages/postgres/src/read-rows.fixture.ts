import { type Queries, type Sql, sql } from '@memoryd/core';

/** A node of a query plan in the JSON format of EXPLAIN. */
interface Step {
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  Plans?: Step[];
}

/**
 * Returns the number of rows that the statements of `read` read from each table. Runs each query twice. A write runs once,
 * and returns 0.
 */
export async function countReadRows(
  queries: Queries,
  read: (queries: Queries) => Promise<unknown>,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  const explain = async (statement: Sql) => {
    const [row] = await queries.rows<{ 'QUERY PLAN': { Plan: Step }[] }>(
      sql`EXPLAIN (ANALYZE, FORMAT JSON) ${statement}`,
    );
    if (row?.['QUERY PLAN'][0]) countRows(row['QUERY PLAN'][0].Plan, counts);
  };
  await read({
    ...queries,
    async rows<Row>(statement: Sql) {
      await explain(statement);
      return queries.rows<Row>(statement);
    },
    async row<Row>(statement: Sql) {
      await explain(statement);
      return queries.row<Row>(statement);
    },
    async run(statement) {
      await explain(statement);
      return 0;
    },
  });
  return counts;
}

function countRows(step: Step, counts: Record<string, number>): void {
  const name = step['Relation Name'];
  if (name !== undefined) {
    const rows = (step['Actual Rows'] + (step['Rows Removed by Filter'] ?? 0)) * step['Actual Loops'];
    counts[name] = (counts[name] ?? 0) + rows;
  }
  for (const part of step.Plans ?? []) countRows(part, counts);
}
