import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenDatabase, Storage } from '@memoryd/core';
import { EventLog, exportLines, importLines } from '@memoryd/core/operations';
import { openPostgres } from '@memoryd/postgres';
import { type DatabaseServer, TEST_CONNECTIONS, usePostgres } from '@memoryd/postgres/testing';
import { propertyRuns } from '@memoryd/search/testing';
import { openSqlite } from '@memoryd/sqlite';
import { deeds, Life, NOW } from '@memoryd/suites';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

describe('an export that is imported into PostgreSQL', () => {
  let server: DatabaseServer;
  let folder: string;
  let url: string;
  let file: OpenDatabase;
  let back: OpenDatabase;
  let postgres: Storage;

  beforeAll(async () => {
    server = await usePostgres();
    folder = await mkdtemp(join(tmpdir(), 'memoryd-'));
    url = await server.create();
    file = await openSqlite({ path: join(folder, 'memory.db'), workingMax: 1000 });
    back = await openSqlite({ path: join(folder, 'back.db'), workingMax: 1000 });
    ({ storage: postgres } = await openPostgres({ url, connections: TEST_CONNECTIONS, workingMax: 1000 }));
  });
  afterAll(async () => {
    await Promise.all([file.storage.close(), back.storage.close(), postgres.close()]);
    await server.drop(url);
    await server.close();
    await rm(folder, { recursive: true });
  });

  const events = new EventLog({ now: () => NOW }, { next: () => 'log' });
  let namespaces = 0;

  async function readExport(storage: Storage, namespace: string): Promise<string[]> {
    const lines: string[] = [];
    for await (const line of exportLines(storage, namespace)) lines.push(line);
    return lines;
  }

  async function importExport(storage: Storage, namespace: string, lines: readonly string[]) {
    async function* bytes() {
      for (const line of lines) yield Buffer.from(line);
    }
    return importLines({ storage, events }, namespace, bytes());
  }

  it('an export that is imported into PostgreSQL is exported again with the same bytes, and leads to the same usage, even after a partial import', async () => {
    await fc.assert(
      fc.asyncProperty(deeds, fc.option(fc.double({ min: 0, max: 1, noNaN: true })), async (all, part) => {
        const namespace = `namespace ${++namespaces}`;
        await new Life(namespace).happen({ ...file, reopen: never, close: never }, all);
        const lines = await readExport(file.storage, namespace);
        if (part !== null) {
          await importExport(postgres, namespace, lines.slice(0, 1 + Math.floor(part * (lines.length - 1))));
        }
        expect(await importExport(postgres, namespace, lines)).toMatchObject({ refused_count: 0, unlinked_count: 0 });
        expect(await readExport(postgres, namespace)).toEqual(lines);
        expect(await importExport(back.storage, namespace, await readExport(postgres, namespace))).toMatchObject({
          refused_count: 0,
        });
        expect(await readExport(back.storage, namespace)).toEqual(lines);
        expect(await getUsage(postgres, namespace)).toEqual(await getUsage(file.storage, namespace));
      }),
      { numRuns: propertyRuns(12), endOnFailure: true },
    );
    expect(await postgres.integrity()).toEqual([]);
  }, 120_000);

  async function getUsage(storage: Storage, namespace: string) {
    const all = await storage.usage(NOW + 1e6);
    return all.find(({ name }) => name === namespace);
  }

  async function never(): Promise<never> {
    throw new Error('reopen is not supported');
  }
});
