import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { ERRORS, type ErrorCode, type MemoryEvent } from '@memoryd/contract';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { eventually, freePort } from '../../server/conformance/process.ts';
import { useServer, WORDS_ONLY } from '../../server/conformance/under-test.ts';
import {
  type CallOptions,
  type MemoryApi,
  type MemoryClient,
  type MemoryClientOptions,
  MemoryError,
  VERSION,
} from '../src/index.ts';
import { createClient, hangUp, healthy, lineTo, type Reply, refusal, reply, silence, startService } from './service.ts';

const STORED = reply(200, { id: 'memory-1', status: 'stored' });
const MEMORY = { content: 'x' };

/** What a call rejects with. */
async function getFailure(call: Promise<unknown>): Promise<MemoryError> {
  const error = await call.then(
    (answer) => expect.fail(`answered ${JSON.stringify(answer)}`),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(MemoryError);
  return error as MemoryError;
}

describe('an error', () => {
  it.each(Object.entries(ERRORS))('%s tells its code, status, details and request', async (code, { status }) => {
    const details = [{ path: '/content', message: 'content must be said' }];
    const error = { code, message: 'no', details, request_id: 'request-1' };
    const { port } = await startService([reply(status, { error }, { 'retry-after': '3600' })]);
    expect(await getFailure(createClient(port).store(MEMORY))).toMatchObject({
      name: 'MemoryError',
      code,
      message: 'no',
      status,
      details,
      requestId: 'request-1',
      retryAfterSeconds: 3600,
    });
  });

  it.each<[string, ErrorCode, Reply]>([
    ['a page of a proxy', 'UNAVAILABLE', reply(502, '<html>Bad Gateway</html>')],
    ['a page of another server', 'NOT_FOUND', reply(404, '<html>Not Found</html>')],
    ['a redirection', 'INTERNAL_ERROR', reply(302, '', { location: '/elsewhere' })],
    ['a code that nobody knows', 'FORBIDDEN', refusal(403, 'SULKING')],
    ['a status that nobody knows', 'INTERNAL_ERROR', reply(418, '')],
    ['an answer that is not JSON', 'INTERNAL_ERROR', reply(200, 'stored!')],
    ['an answer that is no object', 'INTERNAL_ERROR', reply(200, 'null')],
  ])('is what %s becomes', async (_what, code, malformed) => {
    const { port, asked } = await startService([malformed]);
    const error = await getFailure(createClient(port, { retries: 0 }).store(MEMORY));
    expect(error).toMatchObject({ code, requestId: 'request-1', status: expect.any(Number) });
    expect(asked).toHaveLength(1);
  });

  it('without a status is what no answer becomes', async () => {
    const port = await freePort();
    const error = await getFailure(createClient(port, { retries: 1 }).stats());
    expect(error).toMatchObject({ code: 'UNAVAILABLE', status: undefined });
    expect(error.message).toContain(`GET http://127.0.0.1:${port}/stats`);
  });

  it('tells no key and no query', async () => {
    const client = createClient(await freePort(), { retries: 0, apiKey: 'mmd_secret' });
    const error = await getFailure(client.recall({ query: 'whispered' }));
    expect(`${error.message} ${error.cause}`).not.toMatch(/secret|whispered/);
  });
});

describe('a call', () => {
  it.each<[string, Reply]>([
    ['429', refusal(429, 'RATE_LIMITED')],
    ['503 with Retry-After', refusal(503, 'UNAVAILABLE', { 'retry-after': '0' })],
    ['503 with a date as Retry-After', refusal(503, 'UNAVAILABLE', { 'retry-after': new Date(0).toUTCString() })],
    ['503', refusal(503, 'UNAVAILABLE')],
    ['a page of a proxy', reply(504, '<html>')],
    ['a connection that is cut', hangUp],
    [
      'an answer that is cut short',
      (response) => {
        response.writeHead(200, { 'content-length': '40' });
        response.write('{"id":', () => response.destroy());
      },
    ],
  ])('is made again after %s, a store with the same key', async (_what, failing) => {
    const { port, asked } = await startService([failing, failing, STORED]);
    expect(await createClient(port).store(MEMORY)).toEqual({ id: 'memory-1', status: 'stored' });
    expect(asked).toHaveLength(3);
    const keys = asked.map(({ headers }) => headers['idempotency-key']);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(keys).size).toBe(1);
  });

  it.each<[string, (memory: MemoryApi) => Promise<unknown>]>([
    ['consolidate', (memory) => memory.consolidate()],
    ['undo', (memory) => memory.undo('run-1')],
    ['forgetMany', (memory) => memory.forgetMany({ tag: 'x' })],
    ['update with a condition', (memory) => memory.update('memory-1', MEMORY, { ifVersions: [1] })],
    ['forget with a condition', (memory) => memory.forget('memory-1', { ifVersions: [1] })],
  ])('%s is made again only where it was refused before anything was done', async (_what, call) => {
    for (const lost of [hangUp, reply(502, ''), refusal(503, 'UNAVAILABLE')]) {
      const { port, asked } = await startService([lost, reply(200, {})]);
      expect(await getFailure(call(createClient(port)))).toMatchObject({ code: 'UNAVAILABLE' });
      expect(asked).toHaveLength(1);
    }
    const refused = [refusal(429, 'RATE_LIMITED'), refusal(503, 'UNAVAILABLE', { 'retry-after': '0' })];
    const { port, asked } = await startService([...refused, reply(200, {})]);
    await call(createClient(port));
    expect(asked).toHaveLength(3);
  });

  it.each([400, 401, 403, 404, 409, 412, 413, 500])('is not made again after %i', async (status) => {
    const { port, asked } = await startService([reply(status, '')]);
    await getFailure(createClient(port).stats());
    expect(asked).toHaveLength(1);
  });

  it.each([0, 1, 3])('is made again at most %i times', async (retries) => {
    const { port, asked } = await startService([refusal(429, 'RATE_LIMITED')]);
    expect(await getFailure(createClient(port, { retries }).stats())).toMatchObject({ code: 'RATE_LIMITED' });
    expect(asked).toHaveLength(retries + 1);
  });

  it('is not made again where the service says to come back after its time is over', async () => {
    const { port, asked } = await startService([refusal(429, 'RATE_LIMITED', { 'retry-after': '100' })]);
    const error = await getFailure(createClient(port).stats({ timeoutMs: 99_000 }));
    expect(error).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 100 });
    expect(asked).toHaveLength(1);
  });

  it('is made again when an attempt takes too long', async () => {
    const { port, asked } = await startService([silence, STORED]);
    await createClient(port, { attemptTimeoutMs: 1000 }).store(MEMORY);
    expect(asked).toHaveLength(2);
  });

  it('is made again when an answer stops in its midst', async () => {
    const stalling: Reply = (response) => {
      response.writeHead(200, { 'content-length': '40' });
      response.write('{"id":');
    };
    const { port, asked } = await startService([stalling, STORED]);
    await createClient(port, { attemptTimeoutMs: 1000 }).store(MEMORY);
    expect(asked).toHaveLength(2);
  });

  it('that takes long ends when the time of the client is over', async () => {
    const { port } = await startService([silence]);
    const error = await getFailure(createClient(port, { timeoutMs: 100 }).consolidate());
    expect(error).toMatchObject({ code: 'UNAVAILABLE', status: undefined });
  });

  it.each(['timeoutMs of the client', 'timeoutMs of the call'])('ends when its time is over: %s', async (whose) => {
    const { port } = await startService([silence]);
    const options = { timeoutMs: 100 };
    const call = whose.endsWith('call') ? createClient(port).stats(options) : createClient(port, options).stats();
    const error = await getFailure(call);
    expect(error).toMatchObject({ code: 'UNAVAILABLE', status: undefined });
    expect(error.message).toMatch(/no answer within \d+ ms/);
  });

  it('that takes long is not cut off by the limit of an attempt', async () => {
    const late: Reply = (response, request) =>
      void delay(400).then(() => reply(200, { late: true })(response, request));
    const { port } = await startService([late]);
    expect(await createClient(port, { attemptTimeoutMs: 50 }).consolidate()).toEqual({ late: true });
  });

  it('that takes long is not cut off by the limit that Node has for answers', async () => {
    let answer: () => void = () => expect.fail('it was not asked');
    const held: Reply = (response, request) => {
      answer = () => reply(200, { late: true })(response, request);
    };
    const { port, asked } = await startService([held, silence]);
    // Node's own limit is five minutes.
    const sender = Symbol.for('undici.globalDispatcher.1');
    const global = globalThis as unknown as Record<symbol, object>;
    const before = global[sender] as object;
    onTestFinished(() => {
      global[sender] = before;
    });
    const Agent = before.constructor as new (limits: object) => object;
    global[sender] = new Agent({ headersTimeout: 50 });
    const call = createClient(port).consolidate();
    await expect.poll(() => asked.length).toBe(1);
    // Begun later, so that the limit is over for both.
    await expect(fetch(`http://127.0.0.1:${port}/stats`)).rejects.toMatchObject({
      cause: { name: 'HeadersTimeoutError' },
    });
    answer();
    expect(await call).toEqual({ late: true });
  });

  it('shows the key and the headers of the client', async () => {
    const { port, asked } = await startService([STORED]);
    await createClient(port, { apiKey: 'mmd_a_b', headers: { 'X-Team': 'blue' } }).store(MEMORY);
    expect(asked[0]?.headers).toMatchObject({ authorization: 'Bearer mmd_a_b', 'x-team': 'blue' });
  });

  it('goes where the URL says, behind a path too', async () => {
    const { port, asked } = await startService([reply(200, {})]);
    await createClient(port, { url: `http://127.0.0.1:${port}/memory// ` }).stats();
    await expect.poll(() => asked.map(({ url: path }) => path)).toEqual(['/memory/stats', '/memory/health']);
  });

  it('is refused unsent where a header cannot say its key', async () => {
    const { port, asked } = await startService([STORED]);
    const error = await getFailure(createClient(port).store(MEMORY, { idempotencyKey: 'ключ' }));
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', details: [{ path: '/Idempotency-Key' }] });
    expect(asked).toHaveLength(0);
  });
});

describe('what is sent as a header', () => {
  it.each<[string, string, (client: (options: MemoryClientOptions) => MemoryClient) => Promise<unknown>]>([
    ['of two lines', 'Authorization', (client) => client({ apiKey: 'mmd_secret\nmmd_other' }).stats()],
    ['in quotation marks', 'Authorization', (client) => client({ apiKey: '“mmd_secret”' }).stats()],
    ['of two lines', 'X-Team', (client) => client({ headers: { 'X-Team': 'secret\nblue' } }).stats()],
    ['with a blank in its name', 'My Team', (client) => client({ headers: { 'My Team': 'secret' } }).stats()],
    ['of two lines', 'Last-Event-ID', (client) => client({}).events({ last_event_id: 'secret\n1' }).next()],
  ])('is told at once and unseen where none can be %s: %s', async (_what, name, call) => {
    const { port, asked } = await startService([reply(200, {})]);
    const error = await getFailure(call((options) => createClient(port, options)));
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', details: [{ path: `/${name}` }] });
    expect(`${error.message} ${error.cause}`).not.toContain('secret');
    expect(asked).toHaveLength(0);
  });

  it('may have line ends around it, as what comes from a file', async () => {
    const { port, asked } = await startService([reply(200, {})]);
    await createClient(port, { apiKey: 'mmd_a_b\r\n', headers: { 'X-Team': ' blau ü' } }).stats();
    expect(asked[0]?.headers).toMatchObject({ authorization: 'Bearer mmd_a_b', 'x-team': 'blau ü' });
  });
});

describe('a signal', () => {
  const why = new Error('not needed any more');

  it('that has come already keeps the call from being made', async () => {
    const { port, asked } = await startService([STORED]);
    await expect(createClient(port).store(MEMORY, { signal: AbortSignal.abort(why) })).rejects.toBe(why);
    expect(asked).toHaveLength(0);
  });

  it('ends a call that waits for its answer, and its connection', async () => {
    const leaving = new AbortController();
    let closed: Promise<unknown> | undefined;
    const { port } = await startService([
      (response) => {
        closed = once(response, 'close');
        leaving.abort(why);
      },
    ]);
    await expect(createClient(port).stats({ signal: leaving.signal })).rejects.toBe(why);
    await closed;
  });

  it('ends a call that waits to be made again', async () => {
    const leaving = new AbortController();
    const { port, asked } = await startService([refusal(429, 'RATE_LIMITED', { 'retry-after': '60' })]);
    const call = createClient(port).stats({ signal: leaving.signal });
    await eventually('the first attempt', 20_000, () => asked.length === 1 || undefined);
    await delay(50);
    leaving.abort(why);
    await expect(call).rejects.toBe(why);
  });

  it('that comes with a refusal keeps the call from waiting to be made again', async () => {
    const leaving = new AbortController();
    const { port, asked } = await startService([refusal(429, 'RATE_LIMITED', { 'retry-after': '100' })]);
    const leave: typeof fetch = async (...args) => {
      const response = await fetch(...args);
      const body = await response.arrayBuffer();
      if (response.status === 429) leaving.abort(why);
      return new Response(body, response);
    };
    await expect(createClient(port, { fetch: leave }).stats({ signal: leaving.signal })).rejects.toBe(why);
    expect(asked).toHaveLength(1);
  });
});

describe('a page of a proxy', () => {
  const page = reply(200, '<html>We will be back soon</html>', { 'content-type': 'text/html; charset=utf-8' });

  it.each<[string, (client: MemoryClient) => Promise<unknown>]>([
    ['a backup', (client) => client.backup().next()],
    ['an export', (client) => client.exportMemories().next()],
    ['metrics', (client) => client.metrics()],
    ['a stream of events', (client) => client.events().next()],
  ])('is not taken for %s', async (_what, call) => {
    const { port } = await startService([page]);
    expect(await getFailure(call(createClient(port)))).toMatchObject({ code: 'INTERNAL_ERROR', status: 200 });
  });
});

describe('an import', () => {
  it.each<[string, Reply, () => CallOptions]>([
    ['is refused', refusal(401, 'UNAUTHORIZED'), () => ({})],
    ['takes too long', silence, () => ({ timeoutMs: 100 })],
    ['is ended by its caller', silence, () => ({ signal: AbortSignal.timeout(100) })],
  ])('that %s reads no more of its lines', async (_what, answer, getOptions) => {
    const { port } = await startService([answer]);
    let leave: () => void;
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    async function* endless() {
      try {
        for (;;) {
          yield new Uint8Array(1000);
          await delay(1);
        }
      } finally {
        leave();
      }
    }
    await expect(createClient(port).importMemories(endless(), getOptions())).rejects.toThrow();
    await left;
  });
});

describe('the version of the service', () => {
  async function warnings(version: string): Promise<string[]> {
    const told: string[] = [];
    const { port } = await startService([reply(200, {})], healthy(version));
    const client = createClient(port, { onWarning: (message) => told.push(message) });
    for (let n = 0; n < 3; n++) await client.stats();
    await delay(100);
    return told;
  }

  const [major = 0, minor = 0] = VERSION.split('.').map(Number);

  it.each([VERSION, `${major}.${minor}.99`, `${major}.${minor}.0-rc.1`])('is fine when it is %s', async (version) => {
    expect(await warnings(version)).toEqual([]);
  });

  it.each([`${major}.${minor}0.0`, `${major}.${minor + 1}.0`, `${major + 1}.${minor}.0`])(
    'is warned of once when it is %s',
    async (version) => {
      const told = await warnings(version);
      expect(told).toHaveLength(1);
      expect(told[0]).toContain(version);
    },
  );

  it.each<[string, () => void]>([
    ['throws', () => expect.fail('the listener is broken')],
    ['rejects', () => Promise.reject(new Error('the listener is broken'))],
  ])('is warned of on the console where who is to be told %s, and nothing else fails', async (_how, onWarning) => {
    const onConsole = vi.spyOn(console, 'warn').mockReturnValue();
    onTestFinished(() => onConsole.mockRestore());
    const { port } = await startService([reply(200, {})], healthy('9.0.0'));
    await createClient(port, { onWarning }).stats();
    const [message, error] = await eventually('the warning', 20_000, () => onConsole.mock.lastCall);
    expect([message, String(error)]).toEqual([
      expect.stringContaining('9.0.0'),
      expect.stringContaining('the listener is broken'),
    ]);
  });

  it('is asked for by no call that nobody answers, so that nothing outlives it', async () => {
    const { port, asked } = await startService([silence], silence);
    await getFailure(createClient(port, { retries: 0 }).stats({ timeoutMs: 100 }));
    await delay(100);
    expect(asked).toHaveLength(1);
  });

  it('is asked again after nobody answered', async () => {
    const told: string[] = [];
    const options = { retries: 0, onWarning: (message: string) => told.push(message) };
    const { port } = await startService([reply(200, {})], healthy('9.0.0'));
    let isDown = true;
    const flaky: typeof fetch = (...args) => (isDown ? Promise.reject(new TypeError('down')) : fetch(...args));
    const client = createClient(port, { ...options, fetch: flaky });
    await getFailure(client.stats());
    await delay(0);
    isDown = false;
    await client.stats();
    await eventually('the warning', 20_000, () => told[0]);
  });
});

describe('health', () => {
  it('is an answer also where the service is unhealthy', async () => {
    const { port } = await startService([], reply(503, { status: 'unhealthy', version: VERSION }));
    expect(await createClient(port).health()).toMatchObject({ status: 'unhealthy' });
  });

  it.each<[string, Reply]>([
    ['a refusal', refusal(503, 'UNAVAILABLE')],
    ['a page of a proxy', reply(503, '<html>Service Unavailable</html>')],
    ['JSON of a proxy', reply(503, { status: 'error' })],
  ])('is asked for again where the same status comes with %s, and is never that', async (_what, answer) => {
    const { port } = await startService([], answer);
    expect(await getFailure(createClient(port).health())).toMatchObject({ code: 'UNAVAILABLE', status: 503 });
    const replies = [answer, healthy(VERSION)];
    const back = await startService([], (response, request) => (replies.shift() ?? silence)(response, request));
    expect(await createClient(back.port).health()).toMatchObject({ status: 'healthy' });
  });
});

describe('a stream of events', () => {
  const frame = (id: string, type = 'stored') => `id: ${id}\nevent: ${type}\ndata: {"id":"${id}","type":"${type}"}\n\n`;
  const stream =
    (text: string): Reply =>
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(text);
    };

  async function take(events: AsyncIterable<MemoryEvent>, count: number): Promise<string[]> {
    const seen: string[] = [];
    for await (const { id, type } of events) {
      seen.push(type === 'gap' ? type : id);
      if (seen.length === count) break;
    }
    return seen;
  }

  it('goes on after the last event that was seen', async () => {
    const { port, asked } = await startService([stream(frame('a') + frame('b')), hangUp, stream(frame('c')), silence]);
    expect(await take(createClient(port).events({ type: ['stored'] }), 3)).toEqual(['a', 'b', 'c']);
    expect(asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'b', 'b']);
    expect(new Set(asked.map(({ url }) => url))).toEqual(new Set(['/events?type=stored']));
  });

  it('tells of a gap where it broke before anything was seen', async () => {
    const { port } = await startService([stream(':\n\n'), stream(frame('a'))]);
    expect(await take(createClient(port).events(), 2)).toEqual(['gap', 'a']);
  });

  it('is read however it is written', async () => {
    const written = `retry: 1000\n\n:\n\n${frame('a').replaceAll('\n', '\r\n')}data: {"id":\ndata: "b"}\n\nid: c\n\n`;
    const { port } = await startService([stream(written), silence]);
    expect(await take(createClient(port).events(), 2)).toEqual(['a', 'b']);
  });

  it('goes on where what was told makes no sense', async () => {
    const { port } = await startService([stream(`${frame('a')}data: {"id\n\n`), stream(frame('b'))]);
    expect(await take(createClient(port).events(), 2)).toEqual(['a', 'b']);
  });

  it('throws when it is refused, at first or later', async () => {
    for (const replies of [[refusal(401, 'UNAUTHORIZED')], [stream(frame('a')), refusal(401, 'UNAUTHORIZED')]]) {
      const { port } = await startService(replies);
      expect(await getFailure(take(createClient(port).events(), 9))).toMatchObject({ code: 'UNAUTHORIZED' });
    }
  });

  it('throws when for too long a page of a proxy is there in its place', async () => {
    const page = reply(200, '<html>', { 'content-type': 'text/html' });
    const { port } = await startService([stream(frame('a')), page]);
    const events = createClient(port, { reconnectTimeoutMs: 100 }).events();
    expect(await getFailure(take(events, 9))).toMatchObject({ code: 'INTERNAL_ERROR', status: 200 });
  });

  it('throws when the service stays away too long', async () => {
    const { port } = await startService([stream(frame('a')), hangUp]);
    const client = createClient(port, { retries: 0, reconnectTimeoutMs: 100 });
    expect(await getFailure(take(client.events(), 9))).toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('lets its connection go when nobody reads on', async () => {
    let closed: Promise<unknown> | undefined;
    const { port } = await startService([
      (response) => {
        closed = once(response, 'close');
        response.writeHead(200);
        response.write(frame('a'));
      },
    ]);
    await take(createClient(port).events(), 1);
    await closed;
  });

  it('lets its connection go when nobody reads on after the gap that it tells itself', async () => {
    const streams: ServerResponse[] = [];
    const { port } = await startService([
      stream(':\n\n'),
      (response) => {
        streams.push(response);
        response.writeHead(200);
        response.write(':\n\n');
      },
    ]);
    expect(await take(createClient(port).events(), 1)).toEqual(['gap']);
    await expect.poll(() => streams.map(({ closed }) => closed)).toEqual([true]);
  });
});

describe('over a line that fails', () => {
  const memoryd = useServer({ env: WORDS_ONLY });

  it('a store whose answer is lost stores once', async () => {
    const line = await lineTo(memoryd.server.port);
    const client = createClient(line.port);
    await client.stats();
    line.lose(2);
    const { id } = await client.store({ content: 'heard once', session_id: 'lost answers' });
    expect(await client.session({ session_id: 'lost answers' })).toMatchObject({ total: 1, memories: [{ id }] });
  });

  it('a batch whose answer is lost stores once', async () => {
    const line = await lineTo(memoryd.server.port);
    const client = createClient(line.port);
    await client.stats();
    line.lose(1);
    const { stored_count } = await client.storeBatch(
      [1, 2].map((n) => ({ content: `${n}`, session_id: 'lost batch' })),
    );
    expect(stored_count).toBe(2);
    expect((await client.session({ session_id: 'lost batch' })).total).toBe(2);
  });

  it('a forget whose answer is lost is told as not found, and has happened', async () => {
    const line = await lineTo(memoryd.server.port);
    const client = createClient(line.port);
    const { id } = await client.store(MEMORY);
    // The first answer is followed by a question for the version.
    await delay(100);
    line.lose(1);
    expect(await getFailure(client.forget(id))).toMatchObject({ code: 'NOT_FOUND' });
  });

  it('events are told without a loss while connections break', async () => {
    const line = await lineTo(memoryd.server.port);
    const told: string[] = [];
    const leaving = new AbortController();
    onTestFinished(() => leaving.abort());
    const client = createClient(line.port);
    void (async () => {
      for await (const event of client.events({ type: ['stored'] }, leaving.signal)) {
        told.push(...('memory_ids' in event ? event.memory_ids : [event.type]));
      }
    })();
    const ids: string[] = [];
    await eventually('the first event', 20_000, async () => {
      ids.push(await memoryd.store(MEMORY));
      return told.length > 0 || undefined;
    });
    const [first] = told;
    for (let round = 0; round < 5; round++) {
      line.cut();
      for (let n = 0; n < 3; n++) ids.push(await memoryd.store(MEMORY));
      await delay(20 * round);
    }
    const expected = ids.slice(ids.indexOf(first as string));
    await eventually('all events', 20_000, () => told.length >= expected.length || undefined);
    expect(told).toEqual(expected);
  });
});
