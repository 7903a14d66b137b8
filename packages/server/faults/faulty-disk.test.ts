import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ErrorResponse, HealthResponse, StoreBatchResponse } from '@memoryd/contract';
import { describe, expect, it, vi } from 'vitest';
import { runCommand } from '../conformance/command.ts';
import { type Answer, send } from '../conformance/http.ts';
import { eventually, runServer, type ServerProcess, temporaryFolder } from '../conformance/process.ts';
import { expectRefusal } from '../conformance/refusal.ts';
import { type Client, expectCleanEnd, startProcessClient, WORDS_ONLY } from '../conformance/under-test.ts';
import { checkIntegrity } from './integrity.ts';
import { smallDisk } from './small-disk.ts';
import { answersInTurn, canTrace, tracing } from './system-calls.ts';

// Ten servers start side by side.
vi.setConfig({ testTimeout: 120_000 });

const MIB = 1024 * 1024;
const LONG = 'a text that takes some room on the disk '.repeat(2500);

function store(client: Client<ServerProcess>, content: string): Promise<Answer> {
  return client.send({ method: 'POST', path: '/store', json: { content } });
}

/** A refusal for now, that says why in these words. */
function expectUnavailable(answer: Answer, says: RegExp): void {
  expectRefusal(answer, { code: 'UNAVAILABLE' });
  expect((answer.body as ErrorResponse).error.message).toMatch(says);
  expect(answer.headers['retry-after']).toBeDefined();
}

/** Stores long texts until one is refused; answers the ids of those before. */
async function storeUntilRefused(client: Client<ServerProcess>, says: RegExp): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < 200; i++) {
    const answer = await store(client, `${i} ${LONG}`);
    if (answer.status !== 200) {
      expectUnavailable(answer, says);
      return ids;
    }
    ids.push((answer.body as { id: string }).id);
  }
  throw new Error('200 long texts were taken');
}

/** What is asked of a disk that takes nothing more, and of the same disk when it does again. */
async function expectToOutlive(client: Client<ServerProcess>, says: RegExp, free: () => void): Promise<void> {
  const { dbPath } = client.server;
  const first = await client.store({ content: 'the first marmot' });
  const stored = [first, ...(await storeUntilRefused(client, says))];
  const file = readFileSync(dbPath);
  // Reading goes on.
  expect(await client.recalled('marmot')).toEqual([first]);
  expect((await client.memory(stored.at(-1) ?? '')).id).toBe(stored.at(-1));
  for (const path of ['/health', '/readyz']) {
    const { status, body } = await client.send<HealthResponse>({ path });
    expect([status, body]).toEqual([503, expect.objectContaining({ status: 'unhealthy', db_connected: true })]);
    expect(body.reason).toMatch(says);
  }
  expect((await client.send({ path: '/livez' })).status).toBe(200);
  const json = [{ content: LONG }, { content: LONG }];
  const batch = await client.ok<StoreBatchResponse>({ method: 'POST', path: '/store/batch', json });
  expect(batch).toMatchObject({ stored_count: 0, failed_count: 2 });
  expectUnavailable(await client.update(first, { content: LONG }), says);
  expect((await client.memory(first)).content).toBe('the first marmot');
  expect(readFileSync(dbPath).equals(file), 'the file is as it was').toBe(true);
  free();
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

describe.concurrent('a disk that takes no more', () => {
  it('by a limit on the size of files is 503 until the limit is lifted', async () => {
    const client = await startProcessClient({ env: WORDS_ONLY });
    const { pid, dbPath } = client.server;
    const limit = (bytes: string) => execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
    limit(String(statSync(`${dbPath}-wal`).size + 1_500_000));
    await expectToOutlive(client, /disk .*takes no more/, () => limit('unlimited'));
  });

  it('because it is full is 503 until there is room, and keeps a server from starting', async ({ skip }) => {
    const disk = smallDisk(12 * MIB);
    if (!disk) return skip();
    try {
      const dbPath = join(disk.folder, 'memory.db');
      const client = await startProcessClient({ dbPath, env: WORDS_ONLY });
      const ballast = join(disk.folder, 'ballast');
      writeFileSync(ballast, Buffer.alloc(9 * MIB));
      await expectToOutlive(client, /disk is full|takes no more/, () => rmSync(ballast));
      spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4096']);
      await expectRefusedStart(dbPath, /disk/);
      rmSync(ballast);
      await expectCleanEnd((await startProcessClient({ dbPath, env: WORDS_ONLY })).server);
    } finally {
      disk.remove();
    }
  });
});

/** A start that ends with a code and one line, and leaves the file as it was. */
async function expectRefusedStart(dbPath: string, says: RegExp, uid?: number): Promise<void> {
  const before = readFileSync(dbPath);
  const args = ['--port', '0', '--db-path', dbPath];
  const { code, stderr, stdout } = await runServer(args, WORDS_ONLY, uid === undefined ? {} : { uid });
  expect(code, stdout).toBe(6);
  expect(stderr).toMatch(/^[^\n]+\n$/);
  expect(stderr).toMatch(says);
  expect(stderr).toContain(dbPath);
  expect(readFileSync(dbPath).equals(before), 'the file is as it was').toBe(true);
}

const serverPackage = fileURLToPath(new URL('..', import.meta.url));
const NOBODY = 65_534;

describe.concurrent('a file that cannot be written', () => {
  // Modes hold for ordinary users only.
  const isRoot = process.getuid?.() === 0;
  const uid = isRoot ? NOBODY : undefined;
  const canRun = !isRoot || spawnSync('node', [serverPackage, '--version'], { uid: NOBODY }).status === 0;
  // biome-ignore lint/suspicious/noConsole: who runs the tests learns what was left out, and why
  if (!canRun) console.log(`left out, since user ${NOBODY} may not read ${serverPackage}`);

  /** A new folder of a user to whom modes apply. */
  function ordinaryFolder(): string {
    const folder = temporaryFolder();
    if (isRoot) {
      chmodSync(folder, 0o700);
      chownSync(folder, NOBODY, NOBODY);
    }
    return folder;
  }

  it.runIf(canRun)('keeps a server from starting until it can, and so does its folder', async () => {
    const folder = ordinaryFolder();
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
    'is told by who looks at it, and nothing is left beside it that keeps a server out later',
    async () => {
      const folder = ordinaryFolder();
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
        stderr: expect.stringContaining('cannot be written'),
      });
      const examined = await run(['doctor', '--port', '0', ...at]);
      expect(examined).toMatchObject({ code: 1, stdout: expect.stringMatching(/^problem +disk .*cannot be written/m) });
      expect(readdirSync(folder).sort()).toEqual(['copy.db', 'memory.db']);
      // A copy has no log, so that one can be kept where nobody writes.
      chmodSync(join(folder, 'copy.db'), 0o400);
      expect(await run(['verify', '--db-path', join(folder, 'copy.db')])).toMatchObject({ code: 0 });
      chmodSync(dbPath, 0o600);
      expect(await run(['verify', ...at])).toMatchObject({ code: 0 });
      expect(await run(['store', 'written again', ...at])).toMatchObject({ code: 0 });
    },
  );
});

describe.concurrent('a file that is moved away from a server', () => {
  it('makes writes 503 until it is back', async () => {
    const client = await startProcessClient({ env: WORDS_ONLY });
    const { dbPath } = client.server;
    await client.store({ content: 'before' });
    renameSync(dbPath, `${dbPath}.away`);
    expectUnavailable(await store(client, 'meanwhile'), /moved or deleted/);
    renameSync(`${dbPath}.away`, dbPath);
    expect((await store(client, 'after')).status).toBe(200);
    expect((await client.memories()).memories.map(({ content }) => content)).toEqual(['after', 'before']);
    await expectCleanEnd(client.server);
  });
});

describe.runIf(canTrace())('a disk whose syncs fail for a while', () => {
  it('is 503 meanwhile, and nothing is acknowledged that no sync has taken to it', async () => {
    const trace = join(temporaryFolder(), 'trace');
    const dbPath = join(temporaryFolder(), 'memory.db');
    const inject = 'fsync,fdatasync:error=EIO:when=25..34';
    const client = await startProcessClient({ dbPath, env: WORDS_ONLY, under: tracing(trace, inject) });
    const stored = new Map<string, number>();
    const statuses: number[] = [];
    const take = (answer: Answer, expected: number) => {
      statuses.push(answer.status);
      if (answer.status === 200) stored.set((answer.body as { id: string }).id, expected);
      else expectUnavailable(answer, /disk .*failed/);
    };
    for (let i = 0; i < 60; i++) {
      const oldest = [...stored].find(([, status]) => status === 200)?.[0] ?? '';
      if (i % 4 < 3) take(await store(client, `synced or not ${i}`), 200);
      else take(await client.send({ method: 'DELETE', path: `/forget/${oldest}` }), 404);
    }
    expect(statuses.indexOf(503)).toBeGreaterThan(0);
    expect(statuses.lastIndexOf(503)).toBeLessThan(50);
    await client.server.kill();
    expect(answersInTurn(trace, dbPath).early).toEqual([]);
    const second = await startProcessClient({ dbPath, env: WORDS_ONLY });
    for (const [id, status] of stored) expect(await second.getStatus(id)).toBe(status);
    await expectCleanEnd(second.server);
    expect(await checkIntegrity(dbPath)).toEqual([]);
  });
});

describe.concurrent('a file that is not as it was written', () => {
  /** A file of memories that no server has open, with an id of one and a text that stands in no other. */
  async function madeFile(): Promise<{ dbPath: string; ids: string[] }> {
    const client = await startProcessClient({ env: WORDS_ONLY });
    const ids = await client.storeInOrder(
      Array.from({ length: 40 }, (_, i) => ({ content: `kept text ${i}. ${'more of it '.repeat(200)}` })),
    );
    await expectCleanEnd(client.server);
    return { dbPath: client.server.dbPath, ids };
  }

  function withNumber(bytes: Buffer, place: number, number: number): Buffer {
    bytes.writeUInt32BE(number, place);
    return bytes;
  }

  const rows: { row: string; damage: (bytes: Buffer) => Buffer; says: RegExp }[] = [
    {
      row: 'has lost its end',
      damage: (bytes) => bytes.subarray(0, bytes.length / 2),
      says: /damaged.*restore a backup/,
    },
    {
      row: 'begins with other bits',
      damage: (bytes) => withNumber(bytes, 3, 1),
      says: /no memoryd database, or its beginning is damaged/,
    },
    { row: 'is of a newer memoryd', damage: (bytes) => withNumber(bytes, 60, 999), says: /newer memoryd/ },
    { row: 'is of another program', damage: (bytes) => withNumber(bytes, 68, 7), says: /another program/ },
    { row: 'names no schema', damage: (bytes) => withNumber(bytes, 60, 0), says: /damaged/ },
  ];
  it.each(rows)('keeps a server from starting where it $row', async ({ damage, says }) => {
    const { dbPath, ids } = await madeFile();
    const whole = readFileSync(dbPath);
    writeFileSync(dbPath, damage(Buffer.from(whole)));
    await expectRefusedStart(dbPath, says);
    writeFileSync(dbPath, whole);
    const client = await startProcessClient({ dbPath, env: WORDS_ONLY });
    expect(await client.getStatus(ids[0] ?? '')).toBe(200);
    await expectCleanEnd(client.server);
  });

  it('is 503 with what to do where a request meets the damaged page, and answers all others', async () => {
    const { dbPath, ids } = await madeFile();
    const bytes = readFileSync(dbPath);
    const place = bytes.indexOf('kept text 20.');
    writeFileSync(dbPath, bytes.fill(0xff, place - (place % 8192), place - (place % 8192) + 100));
    const client = await startProcessClient({ dbPath, env: WORDS_ONLY });
    const { port } = client.server;
    const damaged = await send(port, { path: `/memories/${ids[20]}` });
    expectUnavailable(damaged, /database is damaged; restore a backup.*memoryd verify/);
    expect(await client.getStatus(ids[0] ?? '')).toBe(200);
    const { status, body } = await client.send<HealthResponse>({ path: '/health' });
    expect([status, body.status]).toEqual([503, 'unhealthy']);
    expect(body.reason).toMatch(/database is damaged; restore a backup/);
    expect(await checkIntegrity(dbPath)).not.toEqual([]);
    await client.server.stop();
  });
});
