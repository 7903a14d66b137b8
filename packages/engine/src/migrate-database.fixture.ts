import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NewMemory, OpenDatabase } from '@memoryd/core';
import { exportLines } from '@memoryd/core/operations';
import type { KeySnapshot, NamespaceUsage } from '@memoryd/core/ports';
import { newMemory } from '@memoryd/suites';
import { afterAll, expect } from 'vitest';
import { type DatabaseOptions, openStorage } from './open-storage.ts';

/** More memories than fit in one commit, so that a migration can be interrupted between two. */
export const MANY = 600;

const folder = mkdtempSync(join(tmpdir(), 'memoryd-'));
afterAll(() => rmSync(folder, { recursive: true }));

let names = 0;
export const newFile = () => ({ dbPath: join(folder, `${++names}.db`) });

export const memory = (id: string, fields: Partial<NewMemory> = {}) => newMemory({ namespace: 'many', id, ...fields });

/** Opens a database, runs `work` with it, and closes it. */
export async function using<T>(database: DatabaseOptions, work: (opened: OpenDatabase) => Promise<T>): Promise<T> {
  const opened = await openStorage({ ...database, workingMax: 10_000, recalls: false });
  try {
    return await work(opened);
  } finally {
    await opened.storage.close();
  }
}

interface Contents {
  namespaces: NamespaceUsage[];
  /** The exported lines of each namespace. */
  lines: Record<string, string[]>;
  keys: KeySnapshot['keys'] | undefined;
  hooks: Awaited<ReturnType<OpenDatabase['storage']['allHookSettings']>>;
  /** The imports, and the ids of their memories. */
  imports: unknown[];
}

/** Returns all data that a migration copies. */
export function getContents(database: DatabaseOptions): Promise<Contents> {
  return using(database, async ({ storage, keys }) => {
    expect(await storage.integrity()).toEqual([]);
    const namespaces = await storage.usage(Date.now());
    const lines: Record<string, string[]> = {};
    for (const { name } of namespaces) {
      const exported: string[] = [];
      for await (const line of exportLines(storage, name)) exported.push(line);
      lines[name] = exported;
    }
    const hooks = await storage.allHookSettings('many');
    const runs = await storage.importCopies('many', 0, 100);
    const imported = await storage.importedCopies('many', 0, 5000);
    const imports = [...runs.map(({ no: _, ...run }) => run), ...imported.map(({ ordinal: _, ...copy }) => copy)];
    return { namespaces, lines, keys: (await keys.read())?.keys, hooks, imports };
  });
}
