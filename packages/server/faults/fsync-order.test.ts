import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { createTemporaryFolder } from '../conformance/process.ts';
import { type Client, expectCleanEnd, startProcessClient, WORDS_ONLY } from '../conformance/under-test.ts';
import {
  type AcknowledgementReport,
  canTrace,
  checkConcurrentStores,
  checkSequentialWrites,
  getTraceCommand,
} from './system-calls.ts';

// A traced server is several times slower.
vi.setConfig({ testTimeout: 120_000 });

const NORMAL_SYNC = { NODE_OPTIONS: `--import ${new URL('normal-sync.mjs', import.meta.url)}` };

/** Runs `work` against a server under strace. */
async function trace(
  work: (client: Client) => Promise<unknown>,
  env: Record<string, string> = {},
): Promise<{ traceFile: string; dbPath: string }> {
  const traceFile = join(createTemporaryFolder(), 'trace');
  const dbPath = join(createTemporaryFolder(), 'new folder', 'memory.db');
  const client = await startProcessClient({
    dbPath,
    env: { ...WORDS_ONLY, ...env },
    under: getTraceCommand(traceFile),
  });
  await work(client);
  await expectCleanEnd(client.server);
  return { traceFile, dbPath };
}

/** Makes every kind of write, one after the other. */
async function writeSequentially(client: Client): Promise<void> {
  for (let round = 0; round < 3; round++) {
    const [kept, updated, forgotten] = await client.storeInOrder(
      ['kept', 'updated', 'forgotten'].map((content) => ({ content: `${content} ${round}` })),
    );
    await client.ok({
      method: 'POST',
      path: '/store/batch',
      json: [{ content: 'duplicate' }, { content: 'duplicate' }],
    });
    await client.update(updated ?? '', { content: `changed ${round}` });
    await client.update(kept ?? '', { importance: 0.9 });
    await client.forget(forgotten ?? '');
    const { id } = await client.consolidate();
    await client.undo(id ?? '');
  }
}
const SEQUENTIAL_WRITES = 3 * 9;

async function storeConcurrently(client: Client): Promise<void> {
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let i = 0; i < 8; i++) await client.store({ content: `at once ${writer} ${i}` });
    const json = Array.from({ length: 20 }, (_, i) => ({ content: `batch ${writer} ${i}` }));
    await client.ok({ method: 'POST', path: '/store/batch', json });
  });
  await Promise.all(writers);
}
const CONCURRENT_WRITES = 8 * 9;

describe.runIf(canTrace())('the acknowledgement of a write', () => {
  const rows: [
    row: string,
    work: (client: Client) => Promise<void>,
    check: (traceFile: string, dbPath: string) => AcknowledgementReport,
    total: number,
  ][] = [
    ['sequential writes of every kind', writeSequentially, checkSequentialWrites, SEQUENTIAL_WRITES],
    ['concurrent stores and batches', storeConcurrently, checkConcurrentStores, CONCURRENT_WRITES],
  ];

  it.each(rows)('follows the sync of its data to disk, for %s', async (_row, work, check, total) => {
    const { traceFile, dbPath } = await trace(work);
    expect(check(traceFile, dbPath)).toEqual({ total, early: [] });
  });

  it.each(rows)(
    'often precedes the sync of its data with synchronous=NORMAL, for %s',
    async (_row, work, check, total) => {
      const { traceFile, dbPath } = await trace(work, NORMAL_SYNC);
      const report = check(traceFile, dbPath);
      expect(report.total).toBe(total);
      expect(report.early.length).toBeGreaterThan(total / 2);
    },
  );

  it('follows the sync of the folders created for the database', async () => {
    const { traceFile, dbPath } = await trace((client) => client.store({ content: 'in a new folder' }));
    const [before = ''] = readFileSync(traceFile, 'latin1').split('status\\":\\"stored');
    const parent = dirname(dirname(dbPath));
    expect(before).toMatch(new RegExp(`fsync\\(\\d+<${parent}>\\)\\s+= 0`));
  });
});
