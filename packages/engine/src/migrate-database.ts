import { createHash, hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { counted, type ImportResponse, MemoryError } from '@memoryd/contract';
import { EventLog } from './core/event-log.ts';
import { exportMemories } from './core/export-memories.ts';
import { importMemories } from './core/import-memories.ts';
import { type DatabaseOptions, openStorage } from './open-storage.ts';
import type { OpenDatabase } from './ports/storage.ts';
import type { NamespaceUsage } from './ports/storage-namespaces.ts';
import { systemClock, uuidV7 } from './system.ts';

/** Told now and then how many lines have been written or checked, of about how many. */
export type OnMigrated = (done: number, of: number) => void;

/** A namespace as both databases keep it: the lines of its export but the first, and the SHA-256 of all in hexadecimal digits. */
interface MigratedNamespace {
  name: string;
  lines: number;
  sha256: string;
}

/** What a database keeps after a migration. */
export interface Migrated {
  namespaces: MigratedNamespace[];
  keys: number;
}

/** Nothing of a database is to promote, be refused or be indexed while it is read or filled. */
const AT_REST = { workingMax: Number.MAX_SAFE_INTEGER, recalls: false };

/**
 * Brings all that one database keeps into another, which is empty or has a part of it from an earlier call: memories with
 * their history and links, quotas and keys; neither records of consolidations nor idempotency keys, and vectors are made
 * anew. At the end, both are compared. NOT_FOUND where there is no file to read, CONFLICT where the other keeps anything
 * else or they are not the same in the end, UNAVAILABLE where either cannot be used or the signal gave it up.
 */
export async function migrateDatabase(
  { from, to }: { from: DatabaseOptions; to: DatabaseOptions },
  options: { signal?: AbortSignal; onMigrated?: OnMigrated } = {},
): Promise<Migrated> {
  if (from.dbPath !== undefined && !existsSync(from.dbPath)) {
    throw new MemoryError('NOT_FOUND', `there is no database at ${from.dbPath}`);
  }
  const source = await openStorage({ ...from, ...AT_REST });
  try {
    const target = await openStorage({ ...to, ...AT_REST });
    try {
      return await new Migration(source, target, options).run();
    } finally {
      await target.storage.close();
    }
  } finally {
    await source.storage.close();
  }
}

class Migration {
  readonly #source: OpenDatabase;
  readonly #target: OpenDatabase;
  readonly #signal: AbortSignal | undefined;
  readonly #onMigrated: OnMigrated;
  readonly #events = new EventLog(systemClock, uuidV7);
  readonly #now = systemClock.now();
  #done = 0;
  #of = 0;

  constructor(
    source: OpenDatabase,
    target: OpenDatabase,
    { signal, onMigrated = () => {} }: { signal?: AbortSignal; onMigrated?: OnMigrated },
  ) {
    this.#source = source;
    this.#target = target;
    this.#signal = signal;
    this.#onMigrated = onMigrated;
  }

  async run(): Promise<Migrated> {
    await this.#begin();
    const all = await this.#source.storage.usage(this.#now);
    // Every line is written once and checked once.
    this.#of = 2 * all.reduce((sum, namespace) => sum + about(namespace), 0);
    const keys = await this.#migrateKeys();
    const namespaces: MigratedNamespace[] = [];
    for (const { name, quota } of all) {
      namespaces.push(await this.#migrate(name));
      // Not before: what the source holds may be more than a quota that came later.
      if (quota.memories !== null || quota.bytes !== null) await this.#target.storage.setQuota(name, quota);
      for (const { userId, ...own } of await this.#source.storage.userQuotas(name)) {
        await this.#target.storage.setUserQuota(name, userId, own);
      }
    }
    await this.#assertAlike(all);
    await this.#target.storage.endMigration();
    return { namespaces, keys };
  }

  async #begin(): Promise<void> {
    const [source, target] = await Promise.all([this.#source.storage.secret(), this.#target.storage.secret()]);
    if (source === target) throw conflict('both are one database, or copies of one');
    const name = hash('sha256', `migration\0${source}`);
    if (await this.#target.storage.beginMigration(name)) return;
    throw conflict('the database to migrate to keeps something else already; nothing was changed');
  }

  async #migrateKeys(): Promise<number> {
    const keys = await this.#source.keys.read();
    if (keys) await this.#target.keys.importAll(keys);
    return keys?.keys.length ?? 0;
  }

  async #migrate(name: string): Promise<MigratedNamespace> {
    const written = new Lines();
    const { storage } = this.#target;
    const lines = this.#watched(exportMemories(this.#source, name, {}, this.#signal), written);
    assertTaken(name, await importMemories({ storage, events: this.#events }, name, lines));
    const kept = new Lines();
    for await (const _ of this.#watched(exportMemories(this.#target, name, {}, this.#signal), kept));
    const [there, here] = [written.sum, kept.sum];
    if (there.sha256 !== here.sha256) {
      throw conflict(
        `namespace ${name} differs: ${counted(there.lines, 'line')} with SHA-256 ${there.sha256} came, ${counted(here.lines, 'line')} with ` +
          `${here.sha256} are kept; was either database written meanwhile?`,
      );
    }
    return { name, ...there };
  }

  async *#watched(lines: AsyncIterable<string>, passed: Lines): AsyncIterable<Uint8Array> {
    for await (const line of lines) {
      const bytes = Buffer.from(line);
      passed.add(bytes);
      this.#done++;
      this.#onMigrated(this.#done, this.#of);
      yield bytes;
    }
  }

  async #assertAlike(before: readonly NamespaceUsage[]): Promise<void> {
    const after = new Map((await this.#target.storage.usage(this.#now)).map((each) => [each.name, each]));
    for (const namespace of before) {
      const same = isAlike(namespace, after.get(namespace.name));
      after.delete(namespace.name);
      if (!same) throw conflict(`namespace ${namespace.name} counts otherwise than it did; was it written meanwhile?`);
    }
    const [other] = after.keys();
    if (other !== undefined) throw conflict(`namespace ${other} came from elsewhere`);
  }
}

/** Lines that have passed. */
class Lines {
  readonly #digest = createHash('sha256');
  #lines = -1;

  add(line: Uint8Array): void {
    this.#lines++;
    this.#digest.update(line).update('\n');
  }

  get sum(): Pick<MigratedNamespace, 'lines' | 'sha256'> {
    return { lines: this.#lines, sha256: this.#digest.copy().digest('hex') };
  }
}

function about({ used, counts }: NamespaceUsage): number {
  return used.memories + counts.semantic_count;
}

/** Whether a namespace counts alike in both databases; one that keeps nothing but records may be unknown in the other. */
function isAlike(one: NamespaceUsage, other: NamespaceUsage | undefined): boolean {
  return isDeepStrictEqual(one, other ?? { ...one, keys: 0, quota: NO_QUOTA, used: NOTHING });
}

const NO_QUOTA = { memories: null, bytes: null };
const NOTHING = { memories: 0, bytes: 0 };

function assertTaken(name: string, { refused, refused_count, unlinked_count }: ImportResponse): void {
  if (refused_count > 0) {
    const [{ line, error } = { line: 0, error: { message: '' } }] = refused;
    throw conflict(
      `namespace ${name} has ${counted(refused_count, 'line that is', 'lines that are')} refused, first line ${line}: ${error.message}`,
    );
  }
  if (unlinked_count > 0)
    throw conflict(`namespace ${name} has ${counted(unlinked_count, 'link')} to memories that are not there`);
}

function conflict(message: string): MemoryError {
  return new MemoryError('CONFLICT', message);
}
