import { type Connection, sql } from '../connection.ts';

/**
 * Takes or renews a lease. See `Lease.acquire`. One that ends further ahead than any holder asks for was left by a
 * clock that has since been set back, and is taken over.
 */
export function acquireLease(
  connection: Connection,
  name: string,
  holder: string,
  now: number,
  ttlMs: number,
): boolean {
  const { changes } = sql(
    connection,
    `INSERT INTO lease (name, holder, ends_at) VALUES (@name, @holder, @endsAt)
     ON CONFLICT DO UPDATE SET holder = excluded.holder, ends_at = excluded.ends_at
       WHERE holder = excluded.holder OR ends_at <= @now OR ends_at > @endsAt + @ttlMs`,
  ).run({ name, holder, now, ttlMs, endsAt: now + ttlMs });
  return changes === 1;
}

export function releaseLease(connection: Connection, name: string, holder: string): void {
  sql(connection, 'DELETE FROM lease WHERE name = ? AND holder = ?').run(name, holder);
}
