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
import {
  createClient,
  hangUp,
  healthy,
  type Reply,
  refusal,
  reply,
  silence,
  startProxy,
  startService,
} from './service.ts';

const STORED = reply(200, { id: 'memory-1', status: 'stored' });
const MEMORY = { content: 'x' };

/** Returns the error that a call rejects with. */
async function getFailure(call: Promise<unknown>): Promise<MemoryError> {
  const error = await call.then(
    (result) => expect.fail(`resolved with ${JSON.stringify(result)}`),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(MemoryError);
  return error as MemoryError;
}

describe('an error', () => {
  it.each(Object.entries(ERRORS))(
    'an error has the code, status, details and request id of the response for %s',
    async (code, { status }) => {
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
    },
  );

  it.each<[string, ErrorCode, Reply]>([
    ['a page of a proxy', 'UNAVAILABLE', reply(502, '<html>Bad Gateway</html>')],
    ['a page of another web server', 'NOT_FOUND', reply(404, '<html>Not Found</html>')],
    ['a redirection', 'INTERNAL_ERROR', reply(302, '', { location: '/elsewhere' })],
    ['an unknown error code', 'FORBIDDEN', refusal(403, 'SULKING')],
    ['an unknown status', 'INTERNAL_ERROR', reply(418, '')],
    ['a response that is not JSON', 'INTERNAL_ERROR', reply(200, 'stored!')],
    ['a response that is not an object', 'INTERNAL_ERROR', reply(200, 'null')],
  ])('an error is thrown for %s', async (_description, code, malformed) => {
    const { port, requests } = await startService([malformed]);
    const error = await getFailure(createClient(port, { retries: 0 }).store(MEMORY));
    expect(error).toMatchObject({ code, requestId: 'request-1', status: expect.any(Number) });
    expect(requests).toHaveLength(1);
  });

  it('an error has no status if there is no response', async () => {
    const port = await freePort();
    const error = await getFailure(createClient(port, { retries: 1 }).stats());
    expect(error).toMatchObject({ code: 'UNAVAILABLE', status: undefined });
    expect(error.message).toContain(`GET http://127.0.0.1:${port}/stats`);
  });

  it('contains neither the API key nor the query', async () => {
    const client = createClient(await freePort(), { retries: 0, apiKey: 'mmd_secret' });
    const error = await getFailure(client.recall({ query: 'whispered' }));
    expect(`${error.message} ${error.cause}`).not.toMatch(/secret|whispered/);
  });
});

describe('a client call', () => {
  it.each<[string, Reply]>([
    ['429', refusal(429, 'RATE_LIMITED')],
    ['503 with Retry-After', refusal(503, 'UNAVAILABLE', { 'retry-after': '0' })],
    ['503 with a date as Retry-After', refusal(503, 'UNAVAILABLE', { 'retry-after': new Date(0).toUTCString() })],
    ['503', refusal(503, 'UNAVAILABLE')],
    ['a page of a proxy', reply(504, '<html>')],
    ['a closed connection', hangUp],
    [
      'a truncated response',
      (response) => {
        response.writeHead(200, { 'content-length': '40' });
        response.write('{"id":', () => response.destroy());
      },
    ],
  ])('a client call is retried after %s, with the same idempotency key', async (_description, failing) => {
    const { port, requests } = await startService([failing, failing, STORED]);
    expect(await createClient(port).store(MEMORY)).toEqual({ id: 'memory-1', status: 'stored' });
    expect(requests).toHaveLength(3);
    const keys = requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    expect(new Set(keys).size).toBe(1);
  });

  it.each<[string, (memory: MemoryApi) => Promise<unknown>]>([
    ['consolidate', (memory) => memory.consolidate()],
    ['undo', (memory) => memory.undo('run-1')],
    ['forgetMany', (memory) => memory.forgetMany({ tag: 'x' })],
    ['update with a condition', (memory) => memory.update('memory-1', MEMORY, { ifVersions: [1] })],
    ['forget with a condition', (memory) => memory.forget('memory-1', { ifVersions: [1] })],
  ])('a client call of %s is retried only if it was rejected before execution', async (_method, call) => {
    for (const lost of [hangUp, reply(502, ''), refusal(503, 'UNAVAILABLE')]) {
      const { port, requests } = await startService([lost, reply(200, {})]);
      expect(await getFailure(call(createClient(port)))).toMatchObject({ code: 'UNAVAILABLE' });
      expect(requests).toHaveLength(1);
    }
    const refused = [refusal(429, 'RATE_LIMITED'), refusal(503, 'UNAVAILABLE', { 'retry-after': '0' })];
    const { port, requests } = await startService([...refused, reply(200, {})]);
    await call(createClient(port));
    expect(requests).toHaveLength(3);
  });

  it.each([400, 401, 403, 404, 409, 412, 413, 500])('a client call is not retried after status %i', async (status) => {
    const { port, requests } = await startService([reply(status, '')]);
    await getFailure(createClient(port).stats());
    expect(requests).toHaveLength(1);
  });

  it.each([0, 1, 3])('a client call is retried at most `retries` times (%i)', async (retries) => {
    const { port, requests } = await startService([refusal(429, 'RATE_LIMITED')]);
    expect(await getFailure(createClient(port, { retries }).stats())).toMatchObject({ code: 'RATE_LIMITED' });
    expect(requests).toHaveLength(retries + 1);
  });

  it('a client call is not retried if Retry-After exceeds its timeout', async () => {
    const { port, requests } = await startService([refusal(429, 'RATE_LIMITED', { 'retry-after': '100' })]);
    const error = await getFailure(createClient(port).stats({ timeoutMs: 99_000 }));
    expect(error).toMatchObject({ code: 'RATE_LIMITED', retryAfterSeconds: 100 });
    expect(requests).toHaveLength(1);
  });

  it('a client call is retried when an attempt times out', async () => {
    const { port, requests } = await startService([silence, STORED]);
    await createClient(port, { attemptTimeoutMs: 1000 }).store(MEMORY);
    expect(requests).toHaveLength(2);
  });

  it('a client call is retried when a response stops before its end', async () => {
    const stalling: Reply = (response) => {
      response.writeHead(200, { 'content-length': '40' });
      response.write('{"id":');
    };
    const { port, requests } = await startService([stalling, STORED]);
    await createClient(port, { attemptTimeoutMs: 1000 }).store(MEMORY);
    expect(requests).toHaveLength(2);
  });

  it('a client call of a slow operation ends when the timeout of the client expires', async () => {
    const { port } = await startService([silence]);
    const error = await getFailure(createClient(port, { timeoutMs: 100 }).consolidate());
    expect(error).toMatchObject({ code: 'UNAVAILABLE', status: undefined });
  });

  it.each(['timeoutMs of the client', 'timeoutMs of the call'])('ends when %s expires', async (whose) => {
    const { port } = await startService([silence]);
    const options = { timeoutMs: 100 };
    const call = whose.endsWith('call') ? createClient(port).stats(options) : createClient(port, options).stats();
    const error = await getFailure(call);
    expect(error).toMatchObject({ code: 'UNAVAILABLE', status: undefined });
    expect(error.message).toMatch(/no response within \d+ ms/);
  });

  it('a client call of a slow operation ignores attemptTimeoutMs', async () => {
    const late: Reply = (response, request) =>
      void delay(400).then(() => reply(200, { late: true })(response, request));
    const { port } = await startService([late]);
    expect(await createClient(port, { attemptTimeoutMs: 50 }).consolidate()).toEqual({ late: true });
  });

  it('a client call of a slow operation ignores the response timeout of Node', async () => {
    let answer: () => void = () => expect.fail('no request arrived');
    const held: Reply = (response, request) => {
      answer = () => reply(200, { late: true })(response, request);
    };
    const { port, requests } = await startService([held, silence]);
    // The default timeout of Node is five minutes.
    const sender = Symbol.for('undici.globalDispatcher.1');
    const global = globalThis as unknown as Record<symbol, object>;
    const before = global[sender] as object;
    onTestFinished(() => {
      global[sender] = before;
    });
    const Agent = before.constructor as new (limits: object) => object;
    global[sender] = new Agent({ headersTimeout: 50 });
    const call = createClient(port).consolidate();
    await expect.poll(() => requests.length).toBe(1);
    // Starts later than the call, so the timeout has expired for both.
    await expect(fetch(`http://127.0.0.1:${port}/stats`)).rejects.toMatchObject({
      cause: { name: 'HeadersTimeoutError' },
    });
    answer();
    expect(await call).toEqual({ late: true });
  });

  it('sends the API key and the headers of the client', async () => {
    const { port, requests } = await startService([STORED]);
    await createClient(port, { apiKey: 'mmd_a_b', headers: { 'X-Team': 'blue' } }).store(MEMORY);
    expect(requests[0]?.headers).toMatchObject({ authorization: 'Bearer mmd_a_b', 'x-team': 'blue' });
  });

  it('appends its path to the path of the client URL', async () => {
    const { port, requests } = await startService([reply(200, {})]);
    await createClient(port, { url: `http://127.0.0.1:${port}/memory// ` }).stats();
    await expect.poll(() => requests.map(({ url: path }) => path)).toEqual(['/memory/stats', '/memory/health']);
  });

  it('a client call is rejected before sending if the idempotency key is not a valid header value', async () => {
    const { port, requests } = await startService([STORED]);
    const error = await getFailure(createClient(port).store(MEMORY, { idempotencyKey: 'ключ' }));
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', details: [{ path: '/Idempotency-Key' }] });
    expect(requests).toHaveLength(0);
  });
});

describe('a header', () => {
  it.each<[string, string, (client: (options: MemoryClientOptions) => MemoryClient) => Promise<unknown>]>([
    ['a value of two lines', 'Authorization', (client) => client({ apiKey: 'mmd_secret\nmmd_other' }).stats()],
    ['a value in quotation marks', 'Authorization', (client) => client({ apiKey: '“mmd_secret”' }).stats()],
    ['a value of two lines', 'X-Team', (client) => client({ headers: { 'X-Team': 'secret\nblue' } }).stats()],
    ['a blank in its name', 'My Team', (client) => client({ headers: { 'My Team': 'secret' } }).stats()],
    ['a value of two lines', 'Last-Event-ID', (client) => client({}).events({ last_event_id: 'secret\n1' }).next()],
  ])('a header with %s is rejected before sending and not shown in the error: %s', async (_description, name, call) => {
    const { port, requests } = await startService([reply(200, {})]);
    const error = await getFailure(call((options) => createClient(port, options)));
    expect(error).toMatchObject({ code: 'INVALID_REQUEST', details: [{ path: `/${name}` }] });
    expect(`${error.message} ${error.cause}`).not.toContain('secret');
    expect(requests).toHaveLength(0);
  });

  it('a header may have leading and trailing whitespace in its value, such as the line end of a key file', async () => {
    const { port, requests } = await startService([reply(200, {})]);
    await createClient(port, { apiKey: 'mmd_a_b\r\n', headers: { 'X-Team': ' blau ü' } }).stats();
    expect(requests[0]?.headers).toMatchObject({ authorization: 'Bearer mmd_a_b', 'x-team': 'blau ü' });
  });
});

describe('an AbortSignal', () => {
  const reason = new Error('not needed any more');

  it('an AbortSignal that is already aborted prevents the request', async () => {
    const { port, requests } = await startService([STORED]);
    await expect(createClient(port).store(MEMORY, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(requests).toHaveLength(0);
  });

  it('ends a call that is waiting for a response, and closes its connection', async () => {
    const controller = new AbortController();
    let closed: Promise<unknown> | undefined;
    const { port } = await startService([
      (response) => {
        closed = once(response, 'close');
        controller.abort(reason);
      },
    ]);
    await expect(createClient(port).stats({ signal: controller.signal })).rejects.toBe(reason);
    await closed;
  });

  it('ends a call that is waiting for a retry', async () => {
    const controller = new AbortController();
    const { port, requests } = await startService([refusal(429, 'RATE_LIMITED', { 'retry-after': '60' })]);
    const call = createClient(port).stats({ signal: controller.signal });
    await eventually('the first attempt', 20_000, () => requests.length === 1 || undefined);
    await delay(50);
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it('an AbortSignal that is aborted while an error response is read prevents the retry', async () => {
    const controller = new AbortController();
    const { port, requests } = await startService([refusal(429, 'RATE_LIMITED', { 'retry-after': '100' })]);
    const leave: typeof fetch = async (...args) => {
      const response = await fetch(...args);
      const body = await response.arrayBuffer();
      if (response.status === 429) controller.abort(reason);
      return new Response(body, response);
    };
    await expect(createClient(port, { fetch: leave }).stats({ signal: controller.signal })).rejects.toBe(reason);
    expect(requests).toHaveLength(1);
  });
});

describe('a proxy page with status 200', () => {
  const page = reply(200, '<html>We will be back soon</html>', { 'content-type': 'text/html; charset=utf-8' });

  it.each<[string, (client: MemoryClient) => Promise<unknown>]>([
    ['a backup', (client) => client.backup().next()],
    ['an export', (client) => client.exportMemories().next()],
    ['metrics', (client) => client.metrics()],
    ['a stream of events', (client) => client.events().next()],
  ])('a proxy page with status 200 is not accepted as %s', async (_description, call) => {
    const { port } = await startService([page]);
    expect(await getFailure(call(createClient(port)))).toMatchObject({ code: 'INTERNAL_ERROR', status: 200 });
  });
});

describe('an import', () => {
  it.each<[string, Reply, () => CallOptions]>([
    ['is rejected', refusal(401, 'UNAUTHORIZED'), () => ({})],
    ['times out', silence, () => ({ timeoutMs: 100 })],
    ['is aborted', silence, () => ({ signal: AbortSignal.timeout(100) })],
  ])('an import that %s stops reading lines', async (_description, answer, getOptions) => {
    const { port } = await startService([answer]);
    let onClose: () => void;
    const closed = new Promise<void>((resolve) => {
      onClose = resolve;
    });
    async function* endless() {
      try {
        for (;;) {
          yield new Uint8Array(1000);
          await delay(1);
        }
      } finally {
        onClose();
      }
    }
    await expect(createClient(port).importMemories(endless(), getOptions())).rejects.toThrow();
    await closed;
  });
});

describe('the version of the service', () => {
  async function getWarnings(version: string): Promise<string[]> {
    const warnings: string[] = [];
    const { port } = await startService([reply(200, {})], healthy(version));
    const client = createClient(port, { onWarning: (message) => warnings.push(message) });
    for (let n = 0; n < 3; n++) await client.stats();
    await delay(100);
    return warnings;
  }

  const [major = 0, minor = 0] = VERSION.split('.').map(Number);

  it.each([VERSION, `${major}.${minor}.99`, `${major}.${minor}.0-rc.1`])(
    'causes no warning if the service has version %s',
    async (version) => {
      expect(await getWarnings(version)).toEqual([]);
    },
  );

  it.each([`${major}.${minor}0.0`, `${major}.${minor + 1}.0`, `${major + 1}.${minor}.0`])(
    'causes one warning if the service has version %s',
    async (version) => {
      const warnings = await getWarnings(version);
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toContain(version);
    },
  );

  it.each<[string, () => void]>([
    ['throws', () => expect.fail('the listener is broken')],
    ['rejects', () => Promise.reject(new Error('the listener is broken'))],
  ])('causes a console warning if it differs and onWarning %s, and the call resolves', async (_how, onWarning) => {
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

  it('the version of the service is not checked after a call without a response, so that no request outlives the call', async () => {
    const { port, requests } = await startService([silence], silence);
    await getFailure(createClient(port, { retries: 0 }).stats({ timeoutMs: 100 }));
    await delay(100);
    expect(requests).toHaveLength(1);
  });

  it('the version of the service is checked by the next call after a call without a response', async () => {
    const warnings: string[] = [];
    const options = { retries: 0, onWarning: (message: string) => warnings.push(message) };
    const { port } = await startService([reply(200, {})], healthy('9.0.0'));
    let isDown = true;
    const flaky: typeof fetch = (...args) => (isDown ? Promise.reject(new TypeError('down')) : fetch(...args));
    const client = createClient(port, { ...options, fetch: flaky });
    await getFailure(client.stats());
    await delay(0);
    isDown = false;
    await client.stats();
    await eventually('the warning', 20_000, () => warnings[0]);
  });
});

describe('health()', () => {
  it('resolves if the service is unhealthy', async () => {
    const { port } = await startService([], reply(503, { status: 'unhealthy', version: VERSION }));
    expect(await createClient(port).health()).toMatchObject({ status: 'unhealthy' });
  });

  it.each<[string, Reply]>([
    ['an error', refusal(503, 'UNAVAILABLE')],
    ['a page of a proxy', reply(503, '<html>Service Unavailable</html>')],
    ['JSON of a proxy', reply(503, { status: 'error' })],
  ])('health() is retried after status 503 with %s, and never returns that response', async (_description, answer) => {
    const { port } = await startService([], answer);
    expect(await getFailure(createClient(port).health())).toMatchObject({ code: 'UNAVAILABLE', status: 503 });
    const replies = [answer, healthy(VERSION)];
    const back = await startService([], (response, request) => (replies.shift() ?? silence)(response, request));
    expect(await createClient(back.port).health()).toMatchObject({ status: 'healthy' });
  });
});

describe('an event stream of the client', () => {
  const frame = (id: string, type = 'stored') => `id: ${id}\nevent: ${type}\ndata: {"id":"${id}","type":"${type}"}\n\n`;
  const stream =
    (text: string): Reply =>
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(text);
    };

  async function take(events: AsyncIterable<MemoryEvent>, count: number): Promise<string[]> {
    const ids: string[] = [];
    for await (const { id, type } of events) {
      ids.push(type === 'gap' ? type : id);
      if (ids.length === count) break;
    }
    return ids;
  }

  it('resumes after the last received event', async () => {
    const { port, requests } = await startService([
      stream(frame('a') + frame('b')),
      hangUp,
      stream(frame('c')),
      silence,
    ]);
    expect(await take(createClient(port).events({ type: ['stored'] }), 3)).toEqual(['a', 'b', 'c']);
    expect(requests.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'b', 'b']);
    expect(new Set(requests.map(({ url }) => url))).toEqual(new Set(['/events?type=stored']));
  });

  it('yields a gap event if it broke before the first event', async () => {
    const { port } = await startService([stream(':\n\n'), stream(frame('a'))]);
    expect(await take(createClient(port).events(), 2)).toEqual(['gap', 'a']);
  });

  it('accepts every line format of server-sent events', async () => {
    const written = `retry: 1000\n\n:\n\n${frame('a').replaceAll('\n', '\r\n')}data: {"id":\ndata: "b"}\n\nid: c\n\n`;
    const { port } = await startService([stream(written), silence]);
    expect(await take(createClient(port).events(), 2)).toEqual(['a', 'b']);
  });

  it('resumes after an event that cannot be parsed', async () => {
    const { port } = await startService([stream(`${frame('a')}data: {"id\n\n`), stream(frame('b'))]);
    expect(await take(createClient(port).events(), 2)).toEqual(['a', 'b']);
  });

  it('throws if the service rejects the first request or a reconnect', async () => {
    for (const replies of [[refusal(401, 'UNAUTHORIZED')], [stream(frame('a')), refusal(401, 'UNAUTHORIZED')]]) {
      const { port } = await startService(replies);
      expect(await getFailure(take(createClient(port).events(), 9))).toMatchObject({ code: 'UNAUTHORIZED' });
    }
  });

  it('throws if every reconnect returns a proxy page until the reconnect timeout', async () => {
    const page = reply(200, '<html>', { 'content-type': 'text/html' });
    const { port } = await startService([stream(frame('a')), page]);
    const events = createClient(port, { reconnectTimeoutMs: 100 }).events();
    expect(await getFailure(take(events, 9))).toMatchObject({ code: 'INTERNAL_ERROR', status: 200 });
  });

  it('throws if the service is unreachable until the reconnect timeout', async () => {
    const { port } = await startService([stream(frame('a')), hangUp]);
    const client = createClient(port, { retries: 0, reconnectTimeoutMs: 100 });
    expect(await getFailure(take(client.events(), 9))).toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('closes its connection when the reader stops', async () => {
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

  it('closes its connection when the reader stops after a gap event that the client created', async () => {
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

describe('over a faulty connection', () => {
  const memoryd = useServer({ env: WORDS_ONLY });

  it('a store whose response is lost stores one memory', async () => {
    const proxy = await startProxy(memoryd.server.port);
    const client = createClient(proxy.port);
    await client.stats();
    proxy.loseResponses(2);
    const { id } = await client.store({ content: 'heard once', session_id: 'lost answers' });
    expect(await client.session({ session_id: 'lost answers' })).toMatchObject({ total: 1, memories: [{ id }] });
  });

  it('a batch whose response is lost stores each memory once', async () => {
    const proxy = await startProxy(memoryd.server.port);
    const client = createClient(proxy.port);
    await client.stats();
    proxy.loseResponses(1);
    const { stored_count } = await client.storeBatch(
      [1, 2].map((n) => ({ content: `${n}`, session_id: 'lost batch' })),
    );
    expect(stored_count).toBe(2);
    expect((await client.session({ session_id: 'lost batch' })).total).toBe(2);
  });

  it('a forget whose response is lost forgets the memory and rejects with NOT_FOUND', async () => {
    const proxy = await startProxy(memoryd.server.port);
    const client = createClient(proxy.port);
    const { id } = await client.store(MEMORY);
    // The first response is followed by a version check.
    await delay(100);
    proxy.loseResponses(1);
    expect(await getFailure(client.forget(id))).toMatchObject({ code: 'NOT_FOUND' });
  });

  it('an event stream loses no events when connections break', async () => {
    const proxy = await startProxy(memoryd.server.port);
    const received: string[] = [];
    const controller = new AbortController();
    onTestFinished(() => controller.abort());
    const client = createClient(proxy.port);
    void (async () => {
      for await (const event of client.events({ type: ['stored'] }, controller.signal)) {
        received.push(...('memory_ids' in event ? event.memory_ids : [event.type]));
      }
    })();
    const ids: string[] = [];
    await eventually('the first event', 20_000, async () => {
      ids.push(await memoryd.store(MEMORY));
      return received.length > 0 || undefined;
    });
    const [first] = received;
    for (let round = 0; round < 5; round++) {
      proxy.cut();
      for (let n = 0; n < 3; n++) ids.push(await memoryd.store(MEMORY));
      await delay(20 * round);
    }
    const expected = ids.slice(ids.indexOf(first as string));
    await eventually('all events', 20_000, () => received.length >= expected.length || undefined);
    expect(received).toEqual(expected);
  });
});
