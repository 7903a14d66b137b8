import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openAdministration } from '@memoryd/engine';
import { describe, expect, it } from 'vitest';
import { type Answer, parseRaw, send, sendRaw } from './http.ts';
import { eventually, temporaryFolder } from './process.ts';
import { expectRefusal } from './refusal.ts';
import { expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';
import { beginRequest } from './unfinished-request.ts';

const MEBIBYTE = 1024 * 1024;
const HEADER = '{"format":"memoryd","version":1}';

/** Waits until a request is refused for what goes on beside it. */
function refused(ask: () => Promise<Answer>): Promise<Answer> {
  return eventually('a refusal', 20_000, async () => {
    const answer = await ask();
    return answer.status === 503 ? answer : undefined;
  });
}

function expectUnavailable(answer: Answer): void {
  expectRefusal(answer, { code: 'UNAVAILABLE' });
  expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
}

describe('more at a time than there is room for', () => {
  const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_MAX_BODY_BYTES: String(64 * MEBIBYTE) } });
  const storeOne = () => memoryd.send({ method: 'POST', path: '/store', json: { content: 'one more' } });
  const batchOne = () => memoryd.send({ method: 'POST', path: '/store/batch', json: [{ content: 'one more' }] });

  const importNothing = () => memoryd.send({ method: 'POST', path: '/import', body: `${HEADER}\n` });

  it('of heavy requests is refused at once, and nothing else is', async () => {
    const unended = await beginRequest(memoryd, '/import', 1000, HEADER);
    expectUnavailable(await refused(importNothing));
    expect((await storeOne()).status).toBe(200);
    expect((await batchOne()).status).toBe(200);
    expect((await memoryd.send({ path: '/memories?limit=1' })).status).toBe(200);
    unended.destroy();
    await eventually('room', 20_000, async () => ((await importNothing()).status === 200 ? true : undefined));
  });

  it('of batches is not what has yet to arrive', async () => {
    const unended = await Promise.all(
      Array.from({ length: 4 + 64 }, () => beginRequest(memoryd, '/store/batch', 1000)),
    );
    expect((await batchOne()).status).toBe(200);
    for (const socket of unended) socket.destroy();
  });

  it('of bytes in bodies is refused before they come, and what has no body, or one of another kind, is not', async () => {
    const unended = await Promise.all([0, 1, 2, 3].map(() => beginRequest(memoryd, '/store', 64 * MEBIBYTE)));
    expectUnavailable(await refused(storeOne));
    expect((await batchOne()).status).toBe(200);
    expect((await memoryd.send({ path: '/stats' })).status).toBe(200);
    for (const socket of unended) socket.destroy();
    await eventually('room', 20_000, async () => ((await storeOne()).status === 200 ? true : undefined));
  });

  it('waits for its turn and is done, where no more than that wait', async () => {
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
  /** Opens connections that each ask for `/livez` once and stay open; returns them when they have their answers. */
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

  it('that are idle make room for others, the oldest first, and the log says so', async () => {
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

  it('that are all in use leave room for what tells how the service is', async () => {
    const client = await startClient({ env: { ...WORDS_ONLY, SERVICE_MAX_CONNECTIONS: '8' } });
    const busy = await Promise.all(Array.from({ length: 8 }, () => beginRequest(client, '/store', 1000)));
    expectUnavailable(await client.send({ path: '/stats' }));
    for (const path of ['/health', '/livez', '/readyz', '/metrics']) {
      expect((await client.send({ path })).status, path).toBe(200);
    }
    for (const socket of busy) socket.destroy();
    await eventually('room', 20_000, async () =>
      (await client.send({ path: '/stats' })).status === 200 ? true : undefined,
    );
    await expectCleanEnd(client.server);
  });

  it('from one address are limited too', async () => {
    const env = { ...WORDS_ONLY, SERVICE_MAX_CONNECTIONS_PER_ADDRESS: '5' };
    const client = await startClient({ env });
    const idle = await openIdle(client.server.port, 9);
    await eventually('closed connections', 5000, () => (idle[3]?.destroyed ? true : undefined));
    expect(idle.filter(({ destroyed }) => !destroyed)).toHaveLength(5);
    for (const socket of idle) socket.destroy();
    await expectCleanEnd(client.server);
  });
});

describe('a namespace that sends slowly', () => {
  async function addKey(dbPath: string, namespace: string): Promise<{ authorization: string }> {
    const { keys, close } = await openAdministration({ dbPath });
    const { key } = await keys.add({ namespace, scope: 'write' });
    await close();
    return { authorization: `Bearer ${key}` };
  }

  it('keeps no other namespace from storing batches and importing', async () => {
    const dbPath = join(temporaryFolder(), 'memory.db');
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
    expectUnavailable(await refused(() => client.send({ ...importing, headers: slow })));
    await client.ok({ ...importing, headers: quick });
    await client.ok({ method: 'POST', path: '/store/batch', json: [{ content: 'one more' }], headers: quick });
    for (const socket of sockets) socket.destroy();
    await expectCleanEnd(client.server);
  });
});

describe('a limit of memory that is passed', () => {
  it('makes every request UNAVAILABLE but those that tell how the service is', async () => {
    const client = await startClient({ env: { ...WORDS_ONLY, SERVICE_MEMORY_LIMIT_MB: '1' } });
    expectUnavailable(await refused(() => client.send({ path: '/stats' })));
    expectUnavailable(await client.send({ method: 'POST', path: '/store', json: { content: 'too much' } }));
    for (const path of ['/health', '/metrics']) expect((await client.send({ path })).status).toBe(200);
    await expectCleanEnd(client.server);
  });
});

describe('an event loop that is late', () => {
  it('makes requests UNAVAILABLE while others are under way, but never one that is alone', async () => {
    const client = await startClient({ env: WORDS_ONLY, lateLoopMs: Number.EPSILON });
    const unended = await beginRequest(client, '/store', 1000);
    const storeOne = () => client.send({ method: 'POST', path: '/store', json: { content: 'one more' } });
    expectUnavailable(await refused(storeOne));
    expect((await client.send({ path: '/health' })).status).toBe(200);
    unended.destroy();
    await eventually('room', 20_000, async () => ((await storeOne()).status === 200 ? true : undefined));
    for (let times = 0; times < 5; times++) expect((await storeOne()).status).toBe(200);
    await expectCleanEnd(client.server);
  });
});

// These wait for time limits: side by side they wait together.
describe.concurrent('a limit of time', () => {
  const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_SLOW_CLIENT_SECONDS: '2' } });
  const late = (bytes: string) => sendRaw(memoryd.server.port, bytes, 15_000);
  const count = async (content: string) =>
    (await memoryd.memories()).memories.filter((memory) => memory.content.includes(content)).length;

  it.each([
    { row: 'a body', bytes: 'POST /store HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"con' },
    { row: 'a batch', bytes: 'POST /store/batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n[{"con' },
    {
      row: 'chunks',
      bytes: 'POST /store HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"con\r\n',
    },
    {
      row: 'a body with an odd expectation',
      bytes: 'POST /store HTTP/1.1\r\nHost: localhost\r\nExpect: tea\r\nContent-Length: 100\r\n\r\n{"con',
    },
    { row: 'headers', bytes: 'POST /store HTTP/1.1\r\nHost: local' },
  ])('ends a request of which $row never ends, with an error and the connection', async ({ bytes }) => {
    const text = await late(bytes);
    const { status, headers, text: body } = parseRaw(text);
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expectRefusal({ status, headers: Object.fromEntries(headers), text: body, body: JSON.parse(body) });
    expect(body).toContain('too long');
    expect(headers.get('connection')).toBe('close');
  });

  it('ends an import that pauses for too long, with an error and the connection', async () => {
    const { status, headers, text } = parseRaw(
      await late(`POST /import HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n${HEADER}\n`),
    );
    expectRefusal({ status, headers: Object.fromEntries(headers), text, body: JSON.parse(text) });
    expect(text).toContain('body must arrive whole, without long pauses');
    expect(headers.get('connection')).toBe('close');
  });

  it('closes the connection without a second answer where a refusal came before the body had', async () => {
    const text = await late('POST /nowhere HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100\r\n\r\n{"con');
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 403']);
  });

  it('ends a body that comes drop by drop', async () => {
    const socket = await beginRequest(memoryd, '/store', 10_000, '{"content":"drop by drop');
    const dripping = setInterval(() => socket.write('a'), 50);
    await once(socket, 'close');
    clearInterval(dripping);
    expect(await count('drop by drop')).toBe(0);
  });

  it('cuts off a client that takes nothing of a long answer', async () => {
    // Blanks, which are quick to index.
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

describe('a stop while a request is under way', () => {
  it('answers a consolidation and a batch that had begun', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const total = async () => (await client.memories('limit=1')).total;
    const json = Array.from({ length: 500 }, (_, n) => ({ content: `under way ${n}` }));
    const others = json.map((_, n) => ({ content: `another ${n}` }));
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
