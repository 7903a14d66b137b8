import { type Connection, sql } from '../connection.ts';

const PURGE = 'purge_asked';
const PROGRESS = 'purge_page';

/**
 * Notes, in the transaction that deletes, that bytes of deleted content may still stand in the file. No two requests are the
 * same, though one was closed before the other came: another process may be on its way through the file for the first.
 */
export function askForPurge(connection: Connection): void {
  sql(
    connection,
    'INSERT INTO property VALUES (?, lower(hex(randomblob(16)))) ON CONFLICT DO UPDATE SET value = excluded.value',
  ).run(PURGE);
}

/** Which request for a purge is the newest; undefined when none is open. */
export function askedPurge(connection: Connection): string | undefined {
  return sql(connection, 'SELECT value FROM property WHERE name = ?').pluck().get(PURGE) as string | undefined;
}

/** Notes how far the file has been gone through; being a commit, it also ends other processes' copies of its pages. */
export function notePurged(connection: Connection, untilPage: number): void {
  sql(connection, 'INSERT INTO property VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value').run(
    PROGRESS,
    `${untilPage} at ${process.pid} ${performance.now()}`,
  );
}

/** Closes a request, unless a newer one has come meanwhile. */
export function closePurge(connection: Connection, asked: string): void {
  sql(connection, 'DELETE FROM property WHERE name = ? AND value = ?').run(PURGE, asked);
}
