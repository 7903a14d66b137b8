import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ErrorResponse, HealthResponse, StoreBatchResponse } from '@memoryd/contract';
import { describe, expect, it, vi } from 'vitest';
import { runCommand } from '../conformance/command.ts';
import { type Answer, send } from '../conformance/http.ts';
import { createTemporaryFolder, eventually, runServer, type ServerProcess } from '../conformance/process.ts';
import { expectError } from '../conformance/refusal.ts';
import { type Client, expectCleanEnd, startProcessClient, WORDS_ONLY } from '../conformance/under-test.ts';
import { checkIntegrity } from './integrity.ts';
import { mountSmallDisk } from './small-disk.ts';
import { canTrace, checkSequentialWrites, getTraceCommand } from './system-calls.ts';

// Concurrent blocks start up to ten servers at once.
vi.setConfig({ testTimeout: 120_000 });

const MIB = 1024 * 1024;
const LONG_TEXT = 'a text that takes some room on the disk '.repeat(2500);

function store(client: Client<ServerProcess>, content: string): Promise<Answer> {
  return client.send({ method: 'POST', path: '/store', json: { content } });
}

/** Expects a 503 with a `Retry-After` header and a message that matches `reason`. */
function expectUnavailable(answer: Answer, reason: RegExp): void {
  expectError(answer, { code: 'UNAVAILABLE' });
  expect((answer.body as ErrorResponse).error.message).toMatch(reason);
  expect(answer.headers['retry-after']).toBeDefined();
}

/** Stores long texts until one is rejected. Returns the ids of the stored ones. */
async function storeUntilFull(client: Client<ServerProcess>, reason: RegExp): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < 200; i++) {
    const answer = await store(client, `${i} ${LONG_TEXT}`);
    if (answer.status !== 200) {
      expectUnavailable(answer, reason);
      return ids;
    }
    ids.push((answer.body as { id: string }).id);
  }
  throw new Error('the server stored 200 long texts; the disk should be full by now');
}

/** Fills the disk, checks reads and rejected writes, calls `freeSpace`, and checks that writes work again. */
async function expectRecoveryFromFullDisk(
  client: Client<ServerProcess>,
  reason: RegExp,
  freeSpace: () => void,
): Promise<void> {
  const { dbPath } = client.server;
  const first = await client.store({ content: 'the first marmot' });
  const stored = [first, ...(await storeUntilFull(client, reason))];
  const file = readFileSync(dbPath);
  // Reads still work.
  expect(await client.recalled('marmot')).toEqual([first]);
  expect((await client.memory(stored.at(-1) ?? '')).id).toBe(stored.at(-1));
  for (const path of ['/health', '/readyz']) {
    // `expect.poll` fails in a concurrent test if another test ends during the poll.
    const { status, body } = await eventually('an unhealthy service', 20_000, async () => {
      const answer = await client.send<HealthResponse>({ path });
      return reason.test(answer.body.reason ?? '') ? answer : undefined;
    });
    expect({ status, body }).toMatchObject({ status: 503, body: { status: 'unhealthy', db_connected: true } });
  }
  expect((await client.send({ path: '/livez' })).status).toBe(200);
  const json = [{ content: LONG_TEXT }, { content: LONG_TEXT }];
  const batch = await client.ok<StoreBatchResponse>({ method: 'POST', path: '/store/batch', json });
  expect(batch).toMatchObject({ stored_count: 0, failed_count: 2 });
  expectUnavailable(await client.update(first, { content: LONG_TEXT }), reason);
  expect((await client.memory(first)).content).toBe('the first marmot');
  expect(readFileSync(dbPath).equals(file), 'the database file is unchanged').toBe(true);
  freeSpace();
  await eventually('a healthy service', 20_000, async () =>
    (await client.send({ path: '/health' })).status === 200 ? true : undefined,
  );
  stored.push(await client.store({ content: 'the marmot after' }));
  await client.forget(stored.splice(1, 1)[0] ?? '');
  expect((await client.memories('limit=10000')).memories.map(({ id }) => id).sort()).toEqual(stored.sort());
  await client.server.kill();
  const second = await startProcessClient({ dbPath, env: WORDS_ONLY });
  for (const id of stored) expect(await second.getStatus(id)).toBe(200);
  await expectCleanEnd(second.server);
  expect(await checkIntegrity(dbPath)).toEqual([]);
}

describe.concurrent('on a full disk', () => {
  it('writes return 503 until the limit on the file size is lifted', async () => {
    const client = await startProcessClient({ env: WORDS_ONLY });
    const { pid, dbPath } = client.server;
    const limit = (bytes: string) => execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
    limit(String(statSync(`${dbPath}-wal`).size + 1_500_000));
    await expectRecoveryFromFullDisk(client, /disk .*no space left/, () => limit('unlimited'));
  });

  it('writes return 503, and no server starts, until there is free space', async ({ skip }) => {
    const disk = mountSmallDisk(12 * MIB);
    if (!disk) return skip();
    try {
      const dbPath = join(disk.folder, 'memory.db');
      const client = await startProcessClient({ dbPath, env: WORDS_ONLY });
      const ballast = join(disk.folder, 'ballast');
      writeFileSync(ballast, Buffer.alloc(9 * MIB));
      await expectRecoveryFromFullDisk(client, /disk (of the database )?is full|no space left/, () => rmSync(ballast));
      spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4096']);
      await expectRefusedStart(dbPath, /disk/);
      rmSync(ballast);
      await expectCleanEnd((await startProcessClient({ dbPath, env: WORDS_ONLY })).server);
    } finally {
      disk.remove();
    }
  });
});

/** Expects a start to fail with exit code 6 and a one-line error, and to leave the file unchanged. */
async function expectRefusedStart(dbPath: string, reason: RegExp, uid?: number): Promise<void> {
  const before = readFileSync(dbPath);
  const args = ['--port', '0', '--db-path', dbPath];
  const { code, stderr, stdout } = await runServer(args, WORDS_ONLY, uid === undefined ? {} : { uid });
  expect(code, stdout).toBe(6);
  expect(stderr).toMatch(/^[^\n]+\n$/);
  expect(stderr).toMatch(reason);
  expect(stderr).toContain(dbPath);
  expect(readFileSync(dbPath).equals(before), 'the database file is unchanged').toBe(true);
}

const serverPackage = fileURLToPath(new URL('..', import.meta.url));
/** User id of `nobody`. */
const NOBODY = 65_534;

describe.concurrent('on read-only storage', () => {
  // File modes do not restrict root.
  const isRoot = process.getuid?.() === 0;
  const uid = isRoot ? NOBODY : undefined;
  const canRun = !isRoot || spawnSync('node', [serverPackage, '--version'], { uid: NOBODY }).status === 0;
  // biome-ignore lint/suspicious/noConsole: prints why tests were skipped
  if (!canRun) console.log(`skipped, because user ${NOBODY} may not read ${serverPackage}`);

  /** Creates a folder owned by a user to whom file modes apply. */
  function createUserFolder(): string {
    const folder = createTemporaryFolder();
    if (isRoot) {
      chmodSync(folder, 0o700);
      chownSync(folder, NOBODY, NOBODY);
    }
    return folder;
  }

  it.runIf(canRun)('a server refuses to start until the database file and its folder are writable', async () => {
    const folder = createUserFolder();
    const dbPath = join(folder, 'memory.db');
    const options = { dbPath, env: WORDS_ONLY, ...(uid !== undefined && { uid }) };
    const first = await startProcessClient(options);
    const id = await first.store({ content: 'written once' });
    await expectCleanEnd(first.server);
    for (const [path, mode] of [
      [dbPath, 0o400],
      [folder, 0o500],
    ] as const) {
      const { mode: before } = statSync(path);
      chmodSync(path, mode);
      await expectRefusedStart(dbPath, /cannot be written/, uid);
      chmodSync(path, before);
    }
    const second = await startProcessClient(options);
    expect(await second.getStatus(id)).toBe(200);
    await second.store({ content: 'written again' });
    await expectCleanEnd(second.server);
  });

  it.runIf(canRun)(
    'verify and doctor report the read-only file and leave no files that would prevent a later start',
    async () => {
      const folder = createUserFolder();
      const dbPath = join(folder, 'memory.db');
      const options = { dbPath, env: WORDS_ONLY, ...(uid !== undefined && { uid }) };
      const first = await startProcessClient(options);
      await first.store({ content: 'written once' });
      await expectCleanEnd(first.server);
      const at = ['--db-path', dbPath];
      const run = (args: string[]) => runCommand(args, { env: WORDS_ONLY, ...(uid !== undefined && { uid }) });
      expect(await run(['backup', join(folder, 'copy.db'), ...at])).toMatchObject({ code: 0 });
      chmodSync(dbPath, 0o400);
      expect(await run(['verify', ...at])).toMatchObject({
        code: 6,
        stderr: expect.stringContaining('is read-only'),
      });
      const report = await run(['doctor', '--port', '0', ...at]);
      expect(report).toMatchObject({ code: 1, stdout: expect.stringMatching(/^problem +disk .*cannot be written/m) });
      expect(readdirSync(folder).sort()).toEqual(['copy.db', 'memory.db']);
      // A backup has no write-ahead log, so it can be verified on read-only storage.
      chmodSync(join(folder, 'copy.db'), 0o400);
      expect(await run(['verify', '--db-path', join(folder, 'copy.db')])).toMatchObject({ code: 0 });
      chmodSync(dbPath, 0o600);
      expect(await run(['verify', ...at])).toMatchObject({ code: 0 });
      expect(await run(['store', 'written again', ...at])).toMatchObject({ code: 0 });
    },
  );
});

describe.concurrent('with a database file moved away from a running server', () => {
  it('writes return 503 until the file is back', async () => {
    const client = await startProcessClient({ env: WORDS_ONLY });
    const { dbPath } = client.server;
    await client.store({ content: 'before' });
    renameSync(dbPath, `${dbPath}.away`);
    expectUnavailable(await store(client, 'meanwhile'), /moved, deleted or replaced/);
    renameSync(`${dbPath}.away`, dbPath);
    expect((await store(client, 'after')).status).toBe(200);
    expect((await client.memories()).memories.map(({ content }) => content)).toEqual(['after', 'before']);
    await expectCleanEnd(client.server);
  });
});

describe.runIf(canTrace())('on a disk whose syncs fail for a while', () => {
  it('writes return 503 until syncs succeed, and no write is acknowledged before its sync', async () => {
    const trace = join(createTemporaryFolder(), 'trace');
    const dbPath = join(createTemporaryFolder(), 'memory.db');
    const inject = 'fsync,fdatasync:error=EIO:when=25..34';
    const client = await startProcessClient({ dbPath, env: WORDS_ONLY, under: getTraceCommand(trace, inject) });
    const stored = new Map<string, number>();
    const statuses: number[] = [];
    const record = (answer: Answer, expected: number) => {
      statuses.push(answer.status);
      if (answer.status === 200) stored.set((answer.body as { id: string }).id, expected);
      else expectUnavailable(answer, /disk .*failed/);
    };
    for (let i = 0; i < 60; i++) {
      const oldest = [...stored].find(([, status]) => status === 200)?.[0] ?? '';
      if (i % 4 < 3) record(await store(client, `synced or not ${i}`), 200);
      else record(await client.send({ method: 'DELETE', path: `/forget/${oldest}` }), 404);
    }
    expect(statuses.indexOf(503)).toBeGreaterThan(0);
    expect(statuses.lastIndexOf(503)).toBeLessThan(50);
    await client.server.kill();
    expect(checkSequentialWrites(trace, dbPath).early).toEqual([]);
    const second = await startProcessClient({ dbPath, env: WORDS_ONLY });
    for (const [id, status] of stored) expect(await second.getStatus(id)).toBe(status);
    await expectCleanEnd(second.server);
    expect(await checkIntegrity(dbPath)).toEqual([]);
  });
});

describe.concurrent('with a corrupted database file', () => {
  /** Creates a closed database file with 40 memories. Returns its path and their ids. */
  async function createFile(): Promise<{ dbPath: string; ids: string[] }> {
    const client = await startProcessClient({ env: WORDS_ONLY });
    const ids = await client.storeInOrder(
      Array.from({ length: 40 }, (_, i) => ({ content: `stored text ${i}. ${'more of it '.repeat(200)}` })),
    );
    await expectCleanEnd(client.server);
    return { dbPath: client.server.dbPath, ids };
  }

  function withNumber(bytes: Buffer, offset: number, number: number): Buffer {
    bytes.writeUInt32BE(number, offset);
    return bytes;
  }

  const rows: { row: string; corrupt: (bytes: Buffer) => Buffer; reason: RegExp }[] = [
    {
      row: 'is truncated',
      corrupt: (bytes) => bytes.subarray(0, bytes.length / 2),
      reason: /corrupt.*restore a backup/,
    },
    {
      row: 'has a corrupted header',
      corrupt: (bytes) => withNumber(bytes, 3, 1),
      reason: /not a memoryd database, or its header is corrupt/,
    },
    { row: 'was written by a newer memoryd', corrupt: (bytes) => withNumber(bytes, 60, 999), reason: /newer memoryd/ },
    { row: 'belongs to another program', corrupt: (bytes) => withNumber(bytes, 68, 7), reason: /another program/ },
    { row: 'has no schema version', corrupt: (bytes) => withNumber(bytes, 60, 0), reason: /corrupt/ },
  ];
  it.each(rows)('a server refuses to start if the file $row', async ({ corrupt, reason }) => {
    const { dbPath, ids } = await createFile();
    const original = readFileSync(dbPath);
    writeFileSync(dbPath, corrupt(Buffer.from(original)));
    await expectRefusedStart(dbPath, reason);
    writeFileSync(dbPath, original);
    const client = await startProcessClient({ dbPath, env: WORDS_ONLY });
    expect(await client.getStatus(ids[0] ?? '')).toBe(200);
    await expectCleanEnd(client.server);
  });

  it('requests that read a corrupted page return 503 with the fix, and all other requests succeed', async () => {
    const { dbPath, ids } = await createFile();
    const bytes = readFileSync(dbPath);
    const offset = bytes.indexOf('stored text 20.');
    const pageStart = offset - (offset % 8192);
    writeFileSync(dbPath, bytes.fill(0xff, pageStart, pageStart + 100));
    const client = await startProcessClient({ dbPath, env: WORDS_ONLY });
    const { port } = client.server;
    const answer = await send(port, { path: `/memories/${ids[20]}` });
    expectUnavailable(answer, /database is corrupt; restore a backup.*memoryd verify/);
    expect(await client.getStatus(ids[0] ?? '')).toBe(200);
    const { status, body } = await client.send<HealthResponse>({ path: '/health' });
    expect([status, body.status]).toEqual([503, 'unhealthy']);
    expect(body.reason).toMatch(/database is corrupt; restore a backup/);
    expect(await checkIntegrity(dbPath)).not.toEqual([]);
    await client.server.stop();
  });
});
