import { createHash, hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { formatCount, type ImportResponse, MemoryError } from '@memoryd/contract';
import type { OpenDatabase } from '@memoryd/core';
import { EventLog, exportLines, importLines, systemClock, uuidV7 } from '@memoryd/core/operations';
import type { NamespaceUsage } from '@memoryd/core/ports';
import { cannotOpen, getDatabaseName } from './database-name.ts';
import { type DatabaseOptions, hasDatabase, openStorage } from './open-storage.ts';

/** Progress callback: the number of lines written or checked, of an estimated total. */
type OnProgress = (done: number, total: number) => void;

/**
 * A migrated namespace. `lines` is the number of lines of its export without the header; `sha256` is the SHA-256 of all
 * lines, including the header, in hexadecimal digits.
 */
interface MigratedNamespace {
  name: string;
  lines: number;
  sha256: string;
}

/** Result of a migration: the namespaces and the number of API keys. */
export interface Migrated {
  namespaces: MigratedNamespace[];
  keys: number;
}

/** Imports, or memories of imports, that are copied in one commit. */
const COPIED_TOGETHER = 1000;

/**
 * Storage options without promotion, quotas and a recall index, so that only the migration changes the databases.
 */
const AT_REST = { workingMax: Number.MAX_SAFE_INTEGER, recalls: false };

/**
 * Migrates all data of one database to another: memories with history and links, imports, quotas, hook settings and
 * keys. Does not migrate consolidation runs and idempotency keys. Vectors are re-embedded. The target must be empty, or contain part of the
 * data from an interrupted migration. Compares both databases at the end.
 *
 * @throws MemoryError NOT_FOUND if the source does not exist; no target is created
 * @throws MemoryError CONFLICT if the target contains other data, or if the databases differ at the end
 * @throws MemoryError UNAVAILABLE if a database cannot be used or the signal is aborted
 */
export async function migrateDatabase(
  { from, to }: { from: DatabaseOptions; to: DatabaseOptions },
  options: { signal?: AbortSignal; onProgress?: OnProgress } = {},
): Promise<Migrated> {
  const source = await openSource(from);
  try {
    const target = await openAtRest(to);
    try {
      return await new Migration(source, target, options).run();
    } finally {
      await target.storage.close();
    }
  } finally {
    await source.storage.close();
  }
}

async function openSource(from: DatabaseOptions): Promise<OpenDatabase> {
  const exists = await hasDatabase(from).catch((cause) => {
    throw cannotOpen(from, cause);
  });
  if (exists) return openAtRest(from);
  throw new MemoryError('NOT_FOUND', `there is no database at ${getDatabaseName(from)}; check the source`);
}

async function openAtRest(database: DatabaseOptions): Promise<OpenDatabase> {
  return openStorage({ ...database, ...AT_REST }).catch((cause) => {
    throw cannotOpen(database, cause);
  });
}

class Migration {
  readonly #source: OpenDatabase;
  readonly #target: OpenDatabase;
  readonly #signal: AbortSignal | undefined;
  readonly #onProgress: OnProgress;
  readonly #events = new EventLog(systemClock, uuidV7);
  readonly #now = systemClock.now();
  #done = 0;
  #total = 0;

  constructor(
    source: OpenDatabase,
    target: OpenDatabase,
    { signal, onProgress = () => {} }: { signal?: AbortSignal; onProgress?: OnProgress },
  ) {
    this.#source = source;
    this.#target = target;
    this.#signal = signal;
    this.#onProgress = onProgress;
  }

  async run(): Promise<Migrated> {
    await this.#begin();
    const all = await this.#source.storage.usage(this.#now);
    // Counts each line twice, because a line is first written and then checked.
    this.#total = 2 * all.reduce((sum, namespace) => sum + estimateLines(namespace), 0);
    const keys = await this.#migrateKeys();
    const namespaces: MigratedNamespace[] = [];
    for (const { name, quota } of all) {
      namespaces.push(await this.#migrate(name));
      // Set after the import: a namespace may exceed a quota that was set after its memories were stored, and the quota
      // would reject the import.
      if (quota.memories !== null || quota.bytes !== null) await this.#target.storage.setQuota(name, quota);
      for (const { userId, ...own } of await this.#source.storage.userQuotas(name)) {
        await this.#target.storage.setUserQuota(name, userId, own);
      }
      for (const { userId, ...settings } of await this.#source.storage.allHookSettings(name)) {
        await this.#target.storage.changeHookSettings(name, userId, settings);
      }
      await this.#migrateImports(name);
    }
    await this.#assertSameUsage(all);
    await this.#target.storage.endMigration();
    return { namespaces, keys };
  }

  async #begin(): Promise<void> {
    const [source, target] = await Promise.all([this.#source.storage.secret(), this.#target.storage.secret()]);
    if (source === target)
      throw conflict(
        'source and target must be different databases, but are the same database or copies of one database; choose another target',
      );
    const name = hash('sha256', `migration\0${source}`);
    if (await this.#target.storage.beginMigration(name)) return;
    throw conflict('the target database must be empty, but has other data; choose an empty database');
  }

  async #migrateKeys(): Promise<number> {
    const keys = await this.#source.keys.read();
    if (keys) await this.#target.keys.importAll(keys);
    return keys?.keys.length ?? 0;
  }

  async #migrate(name: string): Promise<MigratedNamespace> {
    const source = new LinesChecksum();
    const { storage } = this.#target;
    const lines = this.#countLines(exportLines(this.#source.storage, name, {}, this.#signal), source);
    assertImported(name, await importLines({ storage, events: this.#events }, name, lines));
    const target = new LinesChecksum();
    for await (const _ of this.#countLines(exportLines(this.#target.storage, name, {}, this.#signal), target));
    const [expected, actual] = [source.sum, target.sum];
    if (expected.sha256 !== actual.sha256) {
      throw conflict(
        `namespace ${name} differs: the source has ${formatCount(expected.lines, 'line')} (SHA-256 ${expected.sha256}), ` +
          `the target ${formatCount(actual.lines, 'line')} (${actual.sha256}); ${MIGRATE_AGAIN}`,
      );
    }
    return { name, ...expected };
  }

  /** Copies the imports of a namespace and their memories, so that an undo is possible in the target too. */
  async #migrateImports(name: string): Promise<void> {
    const [source, target] = [this.#source.storage, this.#target.storage];
    for (let after = 0; ; ) {
      const imports = await source.importCopies(name, after, COPIED_TOGETHER);
      const last = imports.at(-1);
      if (!last) break;
      await target.restoreImports(name, imports, []);
      after = last.no;
    }
    for (let after = 0; ; ) {
      const memories = await source.importedCopies(name, after, COPIED_TOGETHER);
      const last = memories.at(-1);
      if (!last) break;
      await target.restoreImports(name, [], memories);
      after = last.ordinal;
    }
  }

  async *#countLines(lines: AsyncIterable<string>, checksum: LinesChecksum): AsyncIterable<Uint8Array> {
    for await (const line of lines) {
      const bytes = Buffer.from(line);
      checksum.add(bytes);
      this.#done++;
      this.#onProgress(this.#done, this.#total);
      yield bytes;
    }
  }

  async #assertSameUsage(before: readonly NamespaceUsage[]): Promise<void> {
    const after = new Map((await this.#target.storage.usage(this.#now)).map((each) => [each.name, each]));
    for (const namespace of before) {
      const isSame = hasSameUsage(namespace, after.get(namespace.name));
      after.delete(namespace.name);
      if (!isSame)
        throw conflict(`the counts of namespace ${namespace.name} changed during the migration; ${MIGRATE_AGAIN}`);
    }
    const [other] = after.keys();
    if (other !== undefined)
      throw conflict(`the target has the namespace ${other}, which the source does not have; ${MIGRATE_AGAIN}`);
  }
}

/** Counts lines and computes their SHA-256. */
class LinesChecksum {
  readonly #digest = createHash('sha256');
  // Starts at -1, because the header is not counted.
  #lines = -1;

  add(line: Uint8Array): void {
    this.#lines++;
    this.#digest.update(line).update('\n');
  }

  get sum(): Pick<MigratedNamespace, 'lines' | 'sha256'> {
    return { lines: this.#lines, sha256: this.#digest.copy().digest('hex') };
  }
}

function estimateLines({ used, counts }: NamespaceUsage): number {
  return used.memories + counts.semantic_count;
}

/**
 * Returns true if a namespace has the same usage in both databases. A namespace without memories, keys and quotas may
 * be absent from the other database.
 */
function hasSameUsage(one: NamespaceUsage, other: NamespaceUsage | undefined): boolean {
  return isDeepStrictEqual(one, other ?? { ...one, keys: 0, quota: NO_QUOTA, used: NO_USAGE });
}

const NO_QUOTA = { memories: null, bytes: null };
const NO_USAGE = { memories: 0, bytes: 0 };

const MIGRATE_AGAIN = 'stop all writes and migrate to an empty database again';

function assertImported(name: string, { refused, refused_count, unlinked_count }: ImportResponse): void {
  if (refused_count > 0) {
    const [{ line, error } = { line: 0, error: { message: '' } }] = refused;
    throw conflict(
      `namespace ${name}: the target refused ${formatCount(refused_count, 'line')}; correct each refused memory in the source and ` +
        `migrate to an empty database again (first refused: line ${line}: ${error.message})`,
    );
  }
  if (unlinked_count > 0)
    throw conflict(
      `namespace ${name} must have no links to missing memories, but has ${formatCount(unlinked_count, 'link')}; ` +
        MIGRATE_AGAIN,
    );
}

function conflict(message: string): MemoryError {
  return new MemoryError('CONFLICT', message);
}
