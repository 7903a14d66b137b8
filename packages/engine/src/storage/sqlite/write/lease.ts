import { MemoryError } from '@memoryd/contract/errors';
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
): number | null {
  const fence = sql(
    connection,
    `INSERT INTO lease (name, holder, ends_at, fence) VALUES (@name, @holder, @endsAt, 1)
     ON CONFLICT DO UPDATE SET holder = excluded.holder, ends_at = excluded.ends_at,
         fence = fence + (holder <> excluded.holder)
       WHERE holder = excluded.holder OR ends_at <= @now OR ends_at > @endsAt + @ttlMs
     RETURNING fence`,
  )
    .pluck()
    .get({ name, holder, now, ttlMs, endsAt: now + ttlMs });
  return (fence as number | undefined) ?? null;
}

/** Gives a lease up. The row stays, since fences must not begin again. */
export function releaseLease(connection: Connection, name: string, holder: string): void {
  sql(connection, "UPDATE lease SET holder = '', ends_at = 0 WHERE name = ? AND holder = ?").run(name, holder);
}

/** Throws UNAVAILABLE where another holder has taken the lease since this fence was given out. */
export function assertFence(connection: Connection, name: string, fence: number): void {
  const present = sql(connection, 'SELECT fence FROM lease WHERE name = ?').pluck().get(name);
  if (present !== fence) throw new MemoryError('UNAVAILABLE', 'another process has taken over');
}
