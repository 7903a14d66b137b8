import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openAdministration } from '@memoryd/engine';
import { describe, expect, it } from 'vitest';
import { type Answer, parseRaw, send, sendRaw } from './http.ts';
import { createTemporaryFolder, eventually } from './process.ts';
import { expectError } from './refusal.ts';
import { expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';
import { beginRequest } from './unfinished-request.ts';

const MEBIBYTE = 1024 * 1024;
const HEADER = '{"format":"memoryd","version":1}';

/** Repeats a request until it returns 503. */
function waitFor503(request: () => Promise<Answer>): Promise<Answer> {
  return eventually('a 503', 20_000, async () => {
    const answer = await request();
    return answer.status === 503 ? answer : undefined;
  });
}

function expectUnavailable(answer: Answer): void {
  expectError(answer, { code: 'UNAVAILABLE' });
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
}

describe('concurrency limits', () => {
  const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_MAX_BODY_BYTES: String(64 * MEBIBYTE) } });
  const storeOne = () => memoryd.send({ method: 'POST', path: '/store', json: { content: 'one more' } });
  const batchOne = () => memoryd.send({ method: 'POST', path: '/store/batch', json: [{ content: 'one more' }] });

  const importNothing = (path: string) => memoryd.send({ method: 'POST', path, body: `${HEADER}\n` });

  it('concurrency limits return 503 at once for heavy requests beyond the limit, and affect no other requests', async () => {
    const unended = await beginRequest(memoryd, '/import', 1000, HEADER);
    expectUnavailable(await waitFor503(() => importNothing('/import')));
    expectUnavailable(await importNothing('/imports?from=jsonl'));
    expect((await storeOne()).status).toBe(200);
    expect((await batchOne()).status).toBe(200);
    expect((await memoryd.send({ path: '/memories?limit=1' })).status).toBe(200);
    unended.destroy();
    await eventually('free capacity', 20_000, async () =>
      (await importNothing('/import')).status === 200 ? true : undefined,
    );
  });

  it('concurrency limits exclude batches whose body is incomplete', async () => {
    const unended = await Promise.all(
      Array.from({ length: 4 + 64 }, () => beginRequest(memoryd, '/store/batch', 1000)),
    );
    expect((await batchOne()).status).toBe(200);
    for (const socket of unended) socket.destroy();
  });

  it('concurrency limits return 503 before a body above the total size limit is sent, and affect no other requests', async () => {
    const unended = await Promise.all([0, 1, 2, 3].map(() => beginRequest(memoryd, '/store', 64 * MEBIBYTE)));
    expectUnavailable(await waitFor503(storeOne));
    expect((await batchOne()).status).toBe(200);
    expect((await memoryd.send({ path: '/stats' })).status).toBe(200);
    for (const socket of unended) socket.destroy();
    await eventually('free capacity', 20_000, async () => ((await storeOne()).status === 200 ? true : undefined));
  });

  it('queue batches up to the limit and execute all of them', async () => {
    const before = (await memoryd.memories('limit=1')).total;
    const batches = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        memoryd.send({ method: 'POST', path: '/store/batch', json: [{ content: `a ${n}` }, { content: `b ${n}` }] }),
      ),
    );
    expect(batches.map(({ status }) => status)).toEqual(batches.map(() => 200));
    expect((await memoryd.memories('limit=1')).total).toBe(before + 80);
  });
});

describe('connections', () => {
  /** Opens connections that each request `/livez` once and stay open. */
  async function openIdle(port: number, count: number): Promise<Socket[]> {
    const opened: Socket[] = [];
    for (let i = 0; i < count; i++) {
      const socket = connect(port, '127.0.0.1').on('error', () => undefined);
      socket.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await once(socket, 'data');
      opened.push(socket);
    }
    return opened;
  }

  it('connections that are idle are closed and logged, oldest first, when the limit is reached', async () => {
    const client = await startClient({ env: { ...WORDS_ONLY, SERVICE_MAX_CONNECTIONS: '20' } });
    const idle = await openIdle(client.server.port, 30);
    expect((await client.send({ path: '/stats' })).status).toBe(200);
    await eventually('closed connections', 5000, () => (idle[9]?.destroyed ? true : undefined));
    expect(idle.at(-1)?.destroyed).toBe(false);
    expect(client.server.records().filter(({ event }) => event === 'too_many_connections')).toMatchObject([
      { level: 'WARN', max_connections: 20 },
    ]);
    for (const socket of idle) socket.destroy();
    await expectCleanEnd(client.server);
  });

  it('connections that are all busy still allow health checks and metrics', async () => {
    const client = await startClient({ env: { ...WORDS_ONLY, SERVICE_MAX_CONNECTIONS: '8' } });
    const busy = await Promise.all(Array.from({ length: 8 }, () => beginRequest(client, '/store', 1000)));
    expectUnavailable(await client.send({ path: '/stats' }));
    for (const path of ['/health', '/livez', '/readyz', '/metrics']) {
      expect((await client.send({ path })).status, path).toBe(200);
    }
    for (const socket of busy) socket.destroy();
    await eventually('free capacity', 20_000, async () =>
      (await client.send({ path: '/stats' })).status === 200 ? true : undefined,
    );
    await expectCleanEnd(client.server);
  });

  it('connections from one address are limited', async () => {
    const env = { ...WORDS_ONLY, SERVICE_MAX_CONNECTIONS_PER_ADDRESS: '5' };
    const client = await startClient({ env });
    const idle = await openIdle(client.server.port, 9);
    await eventually('closed connections', 5000, () => (idle[3]?.destroyed ? true : undefined));
    expect(idle.filter(({ destroyed }) => !destroyed)).toHaveLength(5);
    for (const socket of idle) socket.destroy();
    await expectCleanEnd(client.server);
  });
});

describe('a namespace whose clients send slowly', () => {
  async function addKey(dbPath: string, namespace: string): Promise<{ authorization: string }> {
    const { keys, close } = await openAdministration({ dbPath });
    const { key } = await keys.add({ namespace, scope: 'write' });
    await close();
    return { authorization: `Bearer ${key}` };
  }

  it('a namespace whose clients send slowly does not block batches and imports of other namespaces', async () => {
    const dbPath = join(createTemporaryFolder(), 'memory.db');
    const slow = await addKey(dbPath, 'slow');
    const quick = await addKey(dbPath, 'quick');
    const client = await startClient({ dbPath, env: WORDS_ONLY });
    const chunked = `Authorization: ${slow.authorization}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[{\r\n`;
    const sockets = ['/store/batch', '/import'].flatMap((path) =>
      Array.from({ length: 8 }, () => {
        const socket = connect(client.server.port, '127.0.0.1').on('error', () => undefined);
        socket.write(`POST ${path} HTTP/1.1\r\nHost: localhost\r\n${chunked}`);
        return socket;
      }),
    );
    const importing = { method: 'POST', path: '/import', body: `${HEADER}\n` };
    expectUnavailable(await waitFor503(() => client.send({ ...importing, headers: slow })));
    await client.ok({ ...importing, headers: quick });
    await client.ok({ method: 'POST', path: '/store/batch', json: [{ content: 'one more' }], headers: quick });
    for (const socket of sockets) socket.destroy();
    await expectCleanEnd(client.server);
  });
});

describe('the memory limit', () => {
  it('makes all requests except health checks and metrics fail with UNAVAILABLE when exceeded', async () => {
    const client = await startClient({ env: { ...WORDS_ONLY, SERVICE_MEMORY_LIMIT_MB: '1' } });
    expectUnavailable(await waitFor503(() => client.send({ path: '/stats' })));
    expectUnavailable(await client.send({ method: 'POST', path: '/store', json: { content: 'too much' } }));
    for (const path of ['/health', '/metrics']) expect((await client.send({ path })).status).toBe(200);
    await expectCleanEnd(client.server);
  });
});

describe('a delayed event loop', () => {
  it('makes concurrent requests fail with UNAVAILABLE, but never a single request', async () => {
    const client = await startClient({ env: WORDS_ONLY, lateLoopMs: Number.EPSILON });
    const unended = await beginRequest(client, '/store', 1000);
    const storeOne = () => client.send({ method: 'POST', path: '/store', json: { content: 'one more' } });
    expectUnavailable(await waitFor503(storeOne));
    expect((await client.send({ path: '/health' })).status).toBe(200);
    unended.destroy();
    await eventually('free capacity', 20_000, async () => ((await storeOne()).status === 200 ? true : undefined));
    for (let times = 0; times < 5; times++) expect((await storeOne()).status).toBe(200);
    await expectCleanEnd(client.server);
  });
});

// Each test waits for a timeout; running them concurrently saves time.
describe.concurrent('the timeout for slow clients', () => {
  const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_SLOW_CLIENT_SECONDS: '2' } });
  const sendIncomplete = (bytes: string) => sendRaw(memoryd.server.port, bytes, 15_000);
  const count = async (content: string) =>
    (await memoryd.memories()).memories.filter((memory) => memory.content.includes(content)).length;

  it.each([
    { row: 'an incomplete body', bytes: 'POST /store HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"con' },
    {
      row: 'an incomplete batch',
      bytes: 'POST /store/batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n[{"con',
    },
    {
      row: 'an incomplete chunked body',
      bytes: 'POST /store HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"con\r\n',
    },
    {
      row: 'an incomplete body and an unknown Expect header',
      bytes: 'POST /store HTTP/1.1\r\nHost: localhost\r\nExpect: tea\r\nContent-Length: 100\r\n\r\n{"con',
    },
    { row: 'incomplete headers', bytes: 'POST /store HTTP/1.1\r\nHost: local' },
  ])('returns an error and closes the connection for a request with $row', async ({ bytes }) => {
    const text = await sendIncomplete(bytes);
    const { status, headers, text: body } = parseRaw(text);
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expectError({ status, headers: Object.fromEntries(headers), text: body, body: JSON.parse(body) });
    expect(body).toContain('too long');
    expect(headers.get('connection')).toBe('close');
  });

  it('returns an error and closes the connection for an import that pauses too long', async () => {
    const { status, headers, text } = parseRaw(
      await sendIncomplete(`POST /import HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n${HEADER}\n`),
    );
    expectError({ status, headers: Object.fromEntries(headers), text, body: JSON.parse(text) });
    expect(text).toContain('body must arrive whole, without long pauses');
    expect(headers.get('connection')).toBe('close');
  });

  it('closes the connection without a second response if an error was sent before the body arrived', async () => {
    const text = await sendIncomplete(
      'POST /nowhere HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100\r\n\r\n{"con',
    );
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 403']);
  });

  it('closes the connection of a body that arrives byte by byte', async () => {
    const socket = await beginRequest(memoryd, '/store', 10_000, '{"content":"byte by byte');
    const timer = setInterval(() => socket.write('a'), 50);
    await once(socket, 'close');
    clearInterval(timer);
    expect(await count('byte by byte')).toBe(0);
  });

  it('closes the connection of a client that does not read a long response', async () => {
    // Spaces are fast to index.
    const content = `${' '.repeat(960_000)}.`;
    for (let n = 0; n < 14; n++) await memoryd.store({ content: n + content, source: 'long' });
    const socket = connect(memoryd.server.port, '127.0.0.1').pause();
    socket.on('error', () => undefined);
    socket.write('GET /memories?source=long HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await delay(10_000);
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    await once(socket.resume(), 'close');
    expect(bytes).toBeLessThan(14 * content.length);
  });
});

describe('stopping a server', () => {
  it('completes a running consolidation and a running batch', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const total = async () => (await client.memories('limit=1')).total;
    const json = Array.from({ length: 500 }, (_, n) => ({ content: `first ${n}` }));
    const others = json.map((_, n) => ({ content: `second ${n}` }));
    await client.ok({ method: 'POST', path: '/store/batch', json });
    const consolidated = send(client.server.port, { method: 'POST', path: '/consolidate' });
    await expect.poll(async () => (await client.consolidations()).total, { interval: 0 }).toBe(1);
    const stored = send(client.server.port, { method: 'POST', path: '/store/batch', json: others });
    await expect.poll(total, { interval: 0 }).toBeGreaterThan(500);
    expect((await client.server.stop()).code).toBe(0);
    expect((await consolidated).status).toBe(200);
    expect((await stored).status).toBe(200);
    const second = await startClient({ env: WORDS_ONLY, database: client.server.database });
    expect((await second.memories('limit=1')).total).toBe(1000);
    expect((await second.consolidations()).consolidations).toMatchObject([{ status: 'completed' }]);
    await expectCleanEnd(second.server);
  });
});
