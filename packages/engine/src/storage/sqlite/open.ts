import { resolve } from 'node:path';
import type { Quota } from '../../ports/storage-namespaces.ts';
import type { Telemetry } from '../../ports/telemetry.ts';
import type { OpenDatabase } from '../open-database.ts';
import { removeLeftCopies } from './copies.ts';
import type { Attempt } from './failure.ts';
import { prepareFile } from './file.ts';
import { GroupCommit } from './group-commit.ts';
import { indexTask } from './purging.ts';
import { sqliteStorage, type Threads } from './storage.ts';
import { startThread } from './thread.ts';

export interface SqliteOptions {
  /** Path of the database file; it and its folders are made where missing. */
  path: string;
  /** Most working memories of a namespace. */
  workingMax: number;
  /** What each namespace may hold that has no quota of its own; any number where absent. */
  quota?: Quota;
  /** Whether recall will be asked, so that its index is made at once and kept; it is where absent. */
  recalls?: boolean;
  telemetry?: Telemetry;
}

/** Most calls that wait for one thread. */
const WAITING_LIMIT = 2000;

/**
 * Storage in one SQLite file. A thread writes, one searches for recall, and one reads everything else, so that none
 * waits for another's scan or sync, and no caller's thread waits for any. UNAVAILABLE when the file cannot be used.
 */
export async function openSqlite(options: SqliteOptions): Promise<OpenDatabase> {
  const path = resolve(options.path);
  prepareFile(path);
  // All at once, since a thread takes longer to start than a file to open; two of them read it when they are first asked.
  const writer = startThread('write-thread', { path }, WAITING_LIMIT);
  const reader = startThread('read-thread', { path }, WAITING_LIMIT);
  const searcher = startThread('search-thread', { path }, WAITING_LIMIT);
  const threads: Threads = { writer, reader, searcher };
  try {
    await writer.call('open');
    await removeLeftCopies(path);
  } catch (error) {
    await Promise.all(Object.values(threads).map((thread) => thread.stop()));
    throw error;
  }
  const index = indexTask(searcher);
  if (options.recalls !== false) void index.request();
  const writes = new GroupCommit(async (calls) => {
    const attempts = await writer.call<Attempt<unknown>[]>('commit', calls);
    if (options.recalls !== false) void index.request();
    return attempts;
  });
  const limits = { workingMax: options.workingMax, quota: options.quota ?? { memories: 0, bytes: 0 } };
  return sqliteStorage({ path, limits, threads, writes, index, telemetry: options.telemetry });
}
