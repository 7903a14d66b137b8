import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../conformance/process.ts';
import { type Client, expectCleanEnd, startProcessClient, WORDS_ONLY } from '../conformance/under-test.ts';
import { type Answers, answersAtOnce, answersInTurn, canTrace, tracing } from './system-calls.ts';

// A traced server is several times slower.
vi.setConfig({ testTimeout: 120_000 });

const NORMAL_SYNC = { NODE_OPTIONS: `--import ${new URL('normal-sync.mjs', import.meta.url)}` };

/** Works with a server whose system calls are written down. */
async function traced(
  work: (client: Client) => Promise<unknown>,
  env: Record<string, string> = {},
): Promise<{ trace: string; dbPath: string }> {
  const trace = join(temporaryFolder(), 'trace');
  const dbPath = join(temporaryFolder(), 'new folder', 'memory.db');
  const client = await startProcessClient({ dbPath, env: { ...WORDS_ONLY, ...env }, under: tracing(trace) });
  await work(client);
  await expectCleanEnd(client.server);
  return { trace, dbPath };
}

/** Every kind of write, one after the other. */
async function writeInTurn(client: Client): Promise<void> {
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
const WRITTEN_IN_TURN = 3 * 9;

async function storeAtOnce(client: Client): Promise<void> {
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let i = 0; i < 8; i++) await client.store({ content: `at once ${writer} ${i}` });
    const json = Array.from({ length: 20 }, (_, i) => ({ content: `batch ${writer} ${i}` }));
    await client.ok({ method: 'POST', path: '/store/batch', json });
  });
  await Promise.all(writers);
}
const WRITTEN_AT_ONCE = 8 * 9;

describe.runIf(canTrace())('no answer to a write leaves the process before what it acknowledges is on disk', () => {
  const rows: [
    row: string,
    work: (client: Client) => Promise<void>,
    look: (trace: string, dbPath: string) => Answers,
    total: number,
  ][] = [
    ['one write at a time', writeInTurn, answersInTurn, WRITTEN_IN_TURN],
    ['stores and batches at once', storeAtOnce, answersAtOnce, WRITTEN_AT_ONCE],
  ];

  it.each(rows)('%s', async (_row, work, look, total) => {
    const { trace, dbPath } = await traced(work);
    expect(look(trace, dbPath)).toEqual({ total, early: [] });
  });

  it.each(rows)('%s, which a server that commits with synchronous=NORMAL fails', async (_row, work, look, total) => {
    const { trace, dbPath } = await traced(work, NORMAL_SYNC);
    const answers = look(trace, dbPath);
    expect(answers.total).toBe(total);
    expect(answers.early.length).toBeGreaterThan(total / 2);
  });

  it('nor before the folders that were made for it', async () => {
    const { trace, dbPath } = await traced((client) => client.store({ content: 'in a new folder' }));
    const [before = ''] = readFileSync(trace, 'latin1').split('status\\":\\"stored');
    const parent = dirname(dirname(dbPath));
    expect(before).toMatch(new RegExp(`fsync\\(\\d+<${parent}>\\)\\s+= 0`));
  });
});
