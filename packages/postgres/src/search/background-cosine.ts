import { backgroundOf, IN_TIER, type Queries, raw, sampledTimes, sql } from '@memoryd/engine/storage-kit';
/** See `Storage.backgroundCosine`. To be asked in a snapshot. */
export async function backgroundCosine(queries: Queries, namespace: string): Promise<number> {
  const bounds = await queries.row<{ first: number | null; last: number | null }>(
    sql`SELECT min(created_at) AS first, max(created_at) AS last FROM memory WHERE namespace = ${namespace}`,
  );
  const { first = null, last = null } = bounds ?? {};
  if (first === null || last === null) return backgroundOf([]);
  const pairs = await queries.rows<{ cosine: number }>(sql`
    WITH sampled AS (
        SELECT DISTINCT near.created_at, near.ordinal FROM unnest(${sampledTimes(first, last)}::bigint[]) AS time
        CROSS JOIN LATERAL (
          SELECT m.created_at, m.ordinal FROM memory m
          WHERE m.namespace = ${namespace} AND m.created_at >= time AND ${raw(IN_TIER)}
          ORDER BY m.created_at, m.ordinal LIMIT 1) AS near),
      measured AS (
        SELECT v.embedding, row_number() OVER (ORDER BY s.created_at, s.ordinal) AS place, count(*) OVER () / 2 AS half
        FROM sampled s JOIN memory_vector v ON v.namespace = ${namespace} AND v.ordinal = s.ordinal AND v.part = 0
        JOIN embedding_model ON no = v.model AND in_use)
    SELECT 1 - (one.embedding <=> other.embedding) AS cosine
    FROM measured one JOIN measured other ON other.place = one.place + one.half WHERE one.place <= one.half`);
  return backgroundOf(pairs.map(({ cosine }) => cosine));
}
