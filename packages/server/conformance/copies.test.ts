import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request as startRequest } from 'node:http';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ImportResponse } from '@memoryd/contract';
import { openMemory, verifyDatabase } from '@memoryd/engine';
import { beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from './command.ts';
import { runInProcess } from './command-in-process.ts';
import { filesHold, uniqueWord } from './database-files.ts';
import { createTemporaryFolder } from './folders.ts';
import { eventually } from './process.ts';
import { expectError } from './refusal.ts';
import { type Client, expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

const HEADER = '{"format":"memoryd","version":1}';

/** Sends a GET request and returns the status, headers and body of the response. */
function download(port: number, path: string) {
  return new Promise<{ status: number; headers: Record<string, unknown>; bytes: Buffer }>((resolve, reject) => {
    const outgoing = startRequest({ host: '127.0.0.1', port, path }, (incoming) => {
      const pieces: Buffer[] = [];
      incoming.on('data', (piece: Buffer) => pieces.push(piece));
      incoming.on('error', reject);
      incoming.on('end', () =>
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, bytes: Buffer.concat(pieces) }),
      );
    });
    outgoing.on('error', reject).end();
  });
}

const exportText = async (client: Client) => (await download(client.server.port, '/export')).bytes.toString('utf8');

function importText(client: Client, body: string, type = 'application/x-ndjson') {
  return client.send<ImportResponse>({ method: 'POST', path: '/import', headers: { 'content-type': type }, body });
}

/** Stores memories of every kind and consolidates. */
async function fill(client: Client): Promise<void> {
  await client.storeInOrder([
    { content: 'Mimi sleeps on the sofa.', session_id: 'cat', tags: ['pet'] },
    { content: 'Mimi sleeps on the sofa.', session_id: 'cat', tags: ['duplicate'] },
    { content: 'a\u2028b 文字 😀 \\ "quoted"', metadata: { '\u2029': [1e-21, null] } },
    { content: 'over', expires_at: '2001-01-01T00:00:00Z' },
  ]);
  const wrong = await client.store({ content: 'Ada lives in Oslo.', importance: 0.9 });
  await client.store({ content: 'Ada lives in Rome.', supersedes: wrong });
  const updated = await client.store({ content: 'first' });
  await client.update(updated, { content: 'second' });
  await client.update(updated, { content: 'third' });
  await client.consolidate();
}

const memoryd = useServer({ env: WORDS_ONLY });
const listCopies = (client: Client) =>
  readdirSync(dirname(client.server.dbPath)).filter((name) => name.includes('.copy-'));

describe('GET /backup', () => {
  it('returns a complete database, with its length, digest and file name in headers', async () => {
    await fill(memoryd);
    const { status, headers, bytes } = await download(memoryd.server.port, '/backup');
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'application/vnd.sqlite3',
      'content-length': String(bytes.length),
      'content-disposition': expect.stringMatching(/^attachment; filename="memoryd-\d{8}T\d{6}Z\.db"$/),
      'repr-digest': `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`,
    });
    expect(headers['x-request-id']).toMatch(/\S/);
    const file = join(createTemporaryFolder(), 'copy.db');
    writeFileSync(file, bytes);
    const copy = await startClient({ dbPath: file, env: WORDS_ONLY });
    expect(await copy.memories()).toEqual(await memoryd.memories());
    expect(await exportText(copy)).toBe(await exportText(memoryd));
    await expectCleanEnd(copy.server);
    expect(listCopies(memoryd)).toEqual([]);
  });

  it('returns all memories stored before the request, even while other memories are being stored', async () => {
    const before = await memoryd.storeAll(Array.from({ length: 50 }, (_, n) => ({ content: `before ${n}` })));
    const [{ bytes }] = await Promise.all([
      download(memoryd.server.port, '/backup'),
      memoryd.storeAll(Array.from({ length: 100 }, (_, n) => ({ content: `meanwhile ${n}` }))),
    ]);
    const file = join(createTemporaryFolder(), 'copy.db');
    writeFileSync(file, bytes);
    expect(await verifyDatabase({ dbPath: file })).toMatchObject({ problems: [] });
    const copy = await openMemory(file, { embedder: 'none' });
    let lines = '';
    for await (const line of copy.exportMemories()) lines += line;
    for (const id of before) expect(lines).toContain(`"id":"${id}"`);
    await copy.close();
  });

  it('leaves no file behind when clients disconnect, and serves the next client', async () => {
    for (let n = 0; n < 6; n++) {
      const socket = connect(memoryd.server.port, '127.0.0.1', () => {
        socket.write('GET /backup HTTP/1.1\r\nHost: localhost\r\n\r\n');
      });
      await delay(n * 40);
      socket.destroy();
    }
    await eventually('another backup', 20_000, async () => {
      return (await download(memoryd.server.port, '/backup')).status === 200 ? true : undefined;
    });
    expect(listCopies(memoryd)).toEqual([]);
  });

  it('responds to HEAD without creating a copy', async () => {
    const answer = await memoryd.send({ method: 'HEAD', path: '/backup' });
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/vnd.sqlite3']);
    expect(answer.headers).not.toHaveProperty('content-length');
  });

  it('sets the time of the last backup in the metrics, as does the backup command', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const lastBackup = async () => {
      const headers = { accept: 'application/openmetrics-text' };
      const { text } = await client.send({ path: '/metrics', headers });
      return Number(/^service_backup_last_time_seconds (\S+)$/m.exec(text)?.[1]);
    };
    expect(await lastBackup()).toBe(0);
    await download(client.server.port, '/backup');
    const first = await eventually('the time of the backup', 10_000, async () => (await lastBackup()) || undefined);
    expect(Math.abs(first - Date.now() / 1000)).toBeLessThan(60);
    const file = join(createTemporaryFolder(), 'copy.db');
    expect(await runInProcess(['backup', file, '--db-path', client.server.dbPath])).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await lastBackup()).toBeGreaterThan(first);
  });

  it('GET /backup rejects query parameters', async () => {
    expectError(await memoryd.send({ path: '/backup?namespace=x' }), { field: 'namespace' });
  });

  it('GET /backup does not delay the shutdown of the service', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const texts = Array.from({ length: 500 }, (_, n) => ({ content: `text ${n}` }));
    await client.ok({ method: 'POST', path: '/store/batch', json: texts });
    const cut = download(client.server.port, '/backup').catch(() => undefined);
    await delay(20);
    await expectCleanEnd(client.server);
    await cut;
    expect(readdirSync(dirname(client.server.dbPath))).toEqual(['memory.db']);
  });
});

describe('exports and imports', () => {
  it('copy all data except consolidation runs to another server, which then exports identical lines', async () => {
    await fill(memoryd);
    const answer = await download(memoryd.server.port, '/export');
    expect(answer.headers['content-type']).toBe('application/x-ndjson');
    expect(answer.headers['content-disposition']).toMatch(/filename="memoryd-\d{8}T\d{6}Z\.ndjson"/);
    const lines = answer.bytes.toString('utf8');
    const count = lines.split('\n').length - 2;
    expect(JSON.parse(lines.slice(0, lines.indexOf('\n')))).toEqual({ format: 'memoryd', version: 1, lines: count });
    const other = await startClient({ env: WORDS_ONLY });
    expect(await exportText(other)).toBe('{"format":"memoryd","version":1,"lines":0}\n');
    const done = {
      import_id: expect.any(String),
      imported_count: count,
      unchanged_count: 0,
      refused_count: 0,
      refused: [],
      unlinked_count: 0,
    };
    expect((await importText(other, lines)).body).toEqual(done);
    expect(await exportText(other)).toBe(lines);
    expect(await other.memories()).toMatchObject({ total: (await memoryd.memories()).total });
    const again = (await importText(other, lines, 'text/plain')).body;
    const { import_id: _undoable, ...others } = done;
    expect(again).toEqual({ ...others, imported_count: 0, unchanged_count: count });
    expect(await exportText(other)).toBe(lines);
    // No run is exported, so none can be undone. The next run has no memory to promote.
    const [run] = (await memoryd.consolidations()).consolidations;
    expect((await other.consolidations()).total).toBe(0);
    expectError(await other.undo(run?.id ?? ''), { code: 'NOT_FOUND' });
    expect(await other.consolidate()).toMatchObject({ consolidated_count: 0, evicted_count: 0 });
    expect(await other.recalled('sofa')).toEqual(await memoryd.recalled('sofa'));
    // Later tests compare exports, and the access counts of a recall are written some seconds later.
    await eventually('the access counts of the recall', 20_000, async () => {
      return /"access_count":[1-9]/.test(await exportText(memoryd)) || undefined;
    });
    await expectCleanEnd(other.server);
  });

  it('exports and imports release the resources of an export if the caller stops reading after the first line', async () => {
    const memory = await openMemory(memoryd.server.dbPath, { embedder: 'none' });
    // More exports than may run concurrently.
    for (let left = 0; left < 6; left++) {
      for await (const line of memory.exportMemories()) {
        expect(line).toContain('"format":"memoryd"');
        break;
      }
    }
    await memory.close();
  });

  it('store memories from an import only up to the quota of the namespace', async () => {
    const lines = await exportText(memoryd);
    const few = await startClient({ env: { ...WORDS_ONLY, SERVICE_NAMESPACE_MAX_MEMORIES: '2' } });
    const { imported_count, refused } = (await importText(few, lines)).body;
    expect(imported_count).toBe(2);
    expect(refused[0]).toMatchObject({
      line: 4,
      error: { code: 'FORBIDDEN', message: expect.stringContaining('2 memories') },
    });
    expect((await importText(few, lines)).body).toMatchObject({ imported_count: 0, unchanged_count: 2 });
    await expectCleanEnd(few.server);
  });

  it('exports and imports complete an interrupted import when it is repeated', async () => {
    const memory = await openMemory(join(createTemporaryFolder(), 'memory.db'), { embedder: 'none' });
    await memory.storeBatch(Array.from({ length: 1500 }, (_, n) => ({ content: `${n} ${'long '.repeat(100)}` })));
    let lines = '';
    for await (const line of memory.exportMemories()) lines += `${line}\n`;
    await memory.close();
    const count = lines.split('\n').length - 2;
    const other = await startClient({ env: WORDS_ONLY });
    const socket = connect(other.server.port, '127.0.0.1', () => {
      socket.write(`POST /import HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${Buffer.byteLength(lines)}\r\n\r\n`);
      socket.write(lines.slice(0, lines.length * 0.7));
    });
    await eventually('a part of the import', 20_000, async () =>
      (await other.memories('limit=1')).total > 0 ? true : undefined,
    );
    socket.destroy();
    // One import per namespace at a time: the next is rejected until the service notices that the first was cut off.
    const { body } = await eventually('another import', 20_000, async () => {
      const answer = await importText(other, lines);
      return answer.status === 200 ? answer : undefined;
    });
    expect(body.unchanged_count).toBeGreaterThan(0);
    expect(body).toMatchObject({ imported_count: count - body.unchanged_count, refused_count: 0, unlinked_count: 0 });
    expect(await exportText(other)).toBe(lines);
    await expectCleanEnd(other.server);
  });

  it('exports and imports reject each invalid line of an import with its line number and a reason', async () => {
    const [first, good = ''] = (await exportText(memoryd)).split('\n');
    const id = `import-${uniqueWord()}`;
    const line = JSON.stringify({ ...JSON.parse(good), id, merged_into: null });
    const { status, body } = await importText(memoryd, `${first}\n{"id":7}\n${line}\nnonsense\n`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ imported_count: 1, refused_count: 3 });
    expect(body.refused.map((refusal) => refusal.line)).toEqual([2, 4, 5]);
    for (const { error } of body.refused) expect(error).toMatchObject({ code: 'INVALID_REQUEST' });
    expect((await memoryd.memory(id)).content).toBe(JSON.parse(good).content);
    const changed = (await importText(memoryd, `${HEADER}\n${line.replace(/"content":"/, '"content":"not ')}\n`)).body;
    expect(changed.refused).toMatchObject([{ line: 2, error: { code: 'CONFLICT' } }]);
  });

  let line: Promise<string | undefined> | undefined;
  const getLine = () => (line ??= exportText(memoryd).then((lines) => lines.split('\n')[1]));

  it.each([
    ['version', 1e300],
    ['version', 3_000_000_000],
    ['version', 1_000_000_000_000_000],
    ['revision', 2 ** 63],
    ['access_count', 1e300],
  ])('exports and imports reject an imported line whose %s is %d, and store the other lines', async (field, count) => {
    const good = JSON.parse((await getLine()) ?? '');
    const lines = [0, 1].map(() => ({ ...good, id: `import-${uniqueWord()}`, merged_into: null }));
    const text = [HEADER, ...[{ ...lines[0], [field]: count }, lines[1]].map((line) => JSON.stringify(line))];
    const { status, body } = await importText(memoryd, text.join('\n'));
    expect(status).toBe(200);
    expect(body).toMatchObject({ imported_count: 1, refused_count: 1 });
    expect(body.refused).toMatchObject([{ line: 2, error: { details: [{ path: `/${field}` }] } }]);
  });

  it.each([
    ['nothing', ''],
    ['memories without a header', '{"content":"x"}\n'],
    ['a newer format', '{"format":"memoryd","version":2}\n'],
    ['another format', '{"format":"jsonl","version":1}\n'],
  ])('exports and imports reject an import of %s as a whole', async (_row, body) => {
    expectError(await importText(memoryd, body));
  });

  it.each([
    { kind: 'line', type: 'application/x-ndjson', begin: `${HEADER}\n"`, end: '"' },
    { kind: 'item', type: 'application/json', begin: `[${HEADER},"`, end: '"]' },
  ])('exports and imports return 413 for an imported $kind that is too long', async ({ kind, type, begin, end }) => {
    const port = memoryd.server.port;
    const headers = { 'content-type': type };
    const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
      const outgoing = startRequest(
        { host: '127.0.0.1', port, path: '/import', method: 'POST', headers },
        (incoming) => {
          let text = '';
          incoming.on('data', (piece) => {
            text += piece;
          });
          incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, text }));
        },
      );
      outgoing.on('error', reject);
      outgoing.write(begin);
      const piece = 'x'.repeat(1024 * 1024);
      let sent = 0;
      const more = () => {
        if (sent++ < 130) outgoing.write(piece, more);
        else outgoing.end(end);
      };
      more();
    });
    expect(answer.status).toBe(413);
    expect(answer.text).toContain(`${kind} 2 `);
  });

  it('exports and imports accept HEAD for an export, and reject unknown query parameters', async () => {
    const head = await memoryd.send({ method: 'HEAD', path: '/export' });
    expect([head.status, head.headers['content-type']]).toEqual([200, 'application/x-ndjson']);
    expect(head.headers).not.toHaveProperty('content-length');
    expectError(await memoryd.send({ path: '/export?tag=x' }), { field: 'tag' });
    expectError(await memoryd.send({ method: 'POST', path: '/import?dry=1', body: `${HEADER}\n` }), { field: 'dry' });
  });

  it('exports and imports leave no trace in the database files of a memory that was forgotten during an export', async () => {
    const word = uniqueWord();
    const id = await memoryd.store({ content: `secret ${word}` });
    const [lines, forgotten] = await Promise.all([exportText(memoryd), memoryd.forget(id)]);
    expect(lines.endsWith('\n')).toBe(true);
    expect(forgotten.id).toBe(id);
    await eventually('the purge', 20_000, () => (filesHold(memoryd.server.dbPath, word) ? undefined : true));
  });
});

describe('the commands backup, restore, verify, export and import', () => {
  const at = () => ['--db-path', memoryd.server.dbPath];
  const folder = createTemporaryFolder();
  const copy = join(folder, 'copy.db');
  const restored = join(createTemporaryFolder(), 'restored.db');

  it('the commands backup, restore, verify, export and import back up, verify and restore a database that is being served', async () => {
    expect(await runCommand(['backup', copy, ...at()])).toMatchObject({ code: 0, stderr: '' });
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect(await runCommand(['verify', ...at()])).toMatchObject({ code: 0 });
    expect(await runCommand(['restore', copy, '--db-path', restored])).toMatchObject({ code: 0 });
    expect(await runInProcess(['verify', '--db-path', restored])).toMatchObject({ code: 0 });
  });

  it('never overwrite a file, and fail with a one-line message', async () => {
    const taken = join(createTemporaryFolder(), 'taken.db');
    writeFileSync(taken, 'mine');
    for (const args of [
      ['backup', taken, ...at()],
      ['restore', copy, '--db-path', taken],
      ['export', taken, ...at()],
    ]) {
      const { code, stderr } = await runInProcess(args);
      expect(code, args[0]).toBe(4);
      expect(stderr.trim().split('\n'), args[0]).toHaveLength(1);
      expect(readFileSync(taken, 'utf8')).toBe('mine');
    }
  });

  it('name the file that cannot be read or created, as given on the command line', async () => {
    const nowhere = join(folder, 'nowhere', 'file');
    const below = join(copy, 'below');
    const failures = [
      [['import', nowhere, ...at()], `${nowhere} cannot be read (ENOENT); check the path and its permissions`],
      [['export', nowhere, ...at()], `${nowhere} cannot be created (ENOENT); check the folder and its permissions`],
      [['backup', nowhere, ...at()], `${nowhere} cannot be created (ENOENT); check the folder and its permissions`],
      [
        ['restore', nowhere, '--db-path', join(folder, 'memory.db')],
        `${nowhere} cannot be read (ENOENT); check the path and its permissions`,
      ],
      [
        ['restore', folder, '--db-path', join(folder, 'memory.db')],
        `${folder} cannot be read (EISDIR); check the path and its permissions`,
      ],
      [
        ['restore', copy, '--db-path', join(below, 'memory.db')],
        'memory.db cannot be created (ENOTDIR); check the folder and its permissions',
      ],
    ] as const;
    for (const [args, message] of failures) {
      const { code, stderr } = await runInProcess([...args]);
      expect([code, stderr], args.join(' ')).toEqual([6, expect.stringMatching(/^[^\n]+\n$/)]);
      expect(stderr).toContain(message);
    }
    expect(readdirSync(folder)).toEqual(['copy.db']);
  });

  it('export and import through pipes and files while servers use the databases', async () => {
    const { stdout } = await runCommand(['export', ...at()]);
    expect(stdout).toBe(await exportText(memoryd));
    const served = await startClient({ dbPath: restored, env: WORDS_ONLY });
    expect(await exportText(served)).toBe(stdout);
    const file = join(createTemporaryFolder(), 'memories.ndjson');
    const getUrl = ({ server }: Client) => ['--url', `http://127.0.0.1:${server.port}`];
    expect(await runInProcess(['export', file, ...getUrl(memoryd)])).toMatchObject({ code: 0, stdout: '' });
    expect(readFileSync(file, 'utf8')).toBe(stdout);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const elsewhere = ['--namespace', 'elsewhere', '--db-path', restored];
    expect(await runCommand(['import', ...elsewhere], { input: stdout })).toMatchObject({ code: 0 });
    const again = await runInProcess(['import', file, '--json', ...getUrl(served)]);
    expect(JSON.parse(again.stdout)).toMatchObject({ imported_count: 0, refused_count: 0 });
    expect((await runInProcess(['export', ...elsewhere])).stdout).toBe(stdout);
    await expectCleanEnd(served.server);
  });

  it('the commands backup, restore, verify, export and import exit with 1 and print the line number if the import rejects a line', async () => {
    const url = `http://127.0.0.1:${memoryd.server.port}`;
    const { code, stdout } = await runCommand(['import', '--url', url], { input: `${HEADER}\nnonsense\n` });
    expect([code, stdout]).toEqual([1, expect.stringContaining('line 2: ')]);
  });

  it('the commands backup, restore, verify, export and import exit with 1 (verify) or 6 (restore) for a corrupt database, and verify lists the problems', async () => {
    const dbPath = join(createTemporaryFolder(), 'memory.db');
    const bytes = readFileSync(copy);
    bytes.fill(0x5a, 8192 * 5, 8192 * 9);
    writeFileSync(dbPath, bytes);
    const { code, stdout } = await runCommand(['verify', '--db-path', dbPath]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/\S/);
    expect(JSON.parse((await runInProcess(['verify', '--json', '--db-path', dbPath])).stdout)).toMatchObject({
      ok: false,
      problems: [
        expect.any(String),
        ...Array.from({ length: stdout.trim().split('\n').length - 1 }, () => expect.any(String)),
      ],
    });
    const refused = await runInProcess(['restore', dbPath, '--db-path', join(createTemporaryFolder(), 'memory.db')]);
    expect(refused.code).toBe(6);
    expect(refused.stderr.trim().split('\n')).toHaveLength(1);
  });

  it.each(['backup', 'verify', 'export'])('%s creates no database if the file is missing', async (name) => {
    const folder = createTemporaryFolder();
    const dbPath = join(folder, 'memory.db');
    const args = [name, ...(name === 'backup' ? [join(folder, 'copy.db')] : []), '--db-path', dbPath];
    expect(await runInProcess(args)).toMatchObject({ code: 2, stderr: expect.stringContaining(dbPath) });
    expect(existsSync(dbPath)).toBe(false);
  });

  it('the commands backup, restore, verify, export and import exit with 2 for a missing argument or an unknown option', async () => {
    expect(await runInProcess(['backup'])).toMatchObject({ code: 2 });
    expect(await runInProcess(['verify', '--colour'])).toMatchObject({ code: 2 });
  });
});

describe('on a full disk', () => {
  // A limit on the file size simulates a full disk: the copy would be as large as the database.
  const LIMIT_BYTES = 1_000_000;
  const under = ['prlimit', `--fsize=${LIMIT_BYTES}`];
  let dbPath: string;

  beforeAll(async () => {
    dbPath = join(createTemporaryFolder(), 'memory.db');
    const memory = await openMemory(dbPath, { embedder: 'none' });
    await memory.storeBatch(Array.from({ length: 400 }, (_, n) => ({ content: `${n} ${'word '.repeat(1000)}` })));
    await memory.close();
    expect(statSync(dbPath).size).toBeGreaterThan(2 * LIMIT_BYTES);
  });

  it('a backup and an export fail and leave no file behind', async () => {
    const before = readFileSync(dbPath);
    const file = join(createTemporaryFolder(), 'copy');
    for (const name of ['backup', 'export']) {
      const { code, stderr } = await runCommand([name, file, '--db-path', dbPath], { under });
      expect([code, stderr.trim()], name).toEqual([6, 'the disk has no room for a copy; free some space']);
      expect(readdirSync(dirname(file))).toEqual([]);
    }
    expect(readFileSync(dbPath).equals(before)).toBe(true);
    expect(readdirSync(dirname(dbPath))).toEqual(['memory.db']);
  });

  it('a restore fails, names the file that it cannot create, and leaves no file behind', async () => {
    const restored = join(createTemporaryFolder(), 'restored.db');
    const { code, stderr } = await runCommand(['restore', dbPath, '--db-path', restored], { under });
    expect([code, stderr]).toEqual([
      6,
      `${restored} cannot be created (EFBIG); check the folder and its permissions\n`,
    ]);
    expect(readdirSync(dirname(restored))).toEqual([]);
  });
});
