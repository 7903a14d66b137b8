import { beforeAll, describe, expect, it } from 'vitest';
import { type Answer, parseRaw, type Request, sendRaw } from './http.ts';
import { expectError } from './refusal.ts';
import { type Client, useServer, WORDS_ONLY } from './under-test.ts';

const ORIGIN = 'https://app.example';
const open = useServer({ env: WORDS_ONLY });
const listed = useServer({ env: { ...WORDS_ONLY, NODE_ENV: 'production', SERVICE_CORS_ORIGINS: ORIGIN } });

/** Returns every route and method of the OpenAPI document, with each path parameter replaced by a word. */
async function getRoutes(client: Client): Promise<{ method: string; path: string }[]> {
  const { paths } = await client.get<{ paths: Record<string, object> }>('/openapi.json');
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({
      method: method.toUpperCase(),
      path: path.replaceAll(/\{[^}]+\}/g, 'some'),
    })),
  );
}

const getList = (answer: Answer, header: string) =>
  String(answer.headers[header] ?? '')
    .toLowerCase()
    .split(/\s*,\s*/);

describe('a request from another origin', () => {
  const requestHeaders = ['authorization', 'x-api-key', 'idempotency-key', 'if-match', 'last-event-id', 'content-type'];
  const preflight = (client: Client, origin: string, { method, path }: { method: string; path: string }) =>
    client.send({
      method: 'OPTIONS',
      path,
      headers: {
        origin,
        'access-control-request-method': method,
        'access-control-request-headers': requestHeaders.join(', '),
      },
    });

  it('passes the preflight of every route with all headers of the service if its origin is allowed', async () => {
    for (const client of [open, listed]) {
      const routes = await getRoutes(client);
      expect(routes.length).toBeGreaterThan(10);
      for (const route of routes) {
        const answer = await preflight(client, ORIGIN, route);
        expect(answer.status, JSON.stringify(route)).toBe(204);
        expect(['*', ORIGIN]).toContain(answer.headers['access-control-allow-origin']);
        expect(getList(answer, 'access-control-allow-methods')).toContain(route.method.toLowerCase());
        expect(getList(answer, 'access-control-allow-headers')).toEqual(expect.arrayContaining(requestHeaders));
        // The service uses no cookies, so credentials are never allowed.
        expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
      }
    }
  });

  it('fails the preflight of every route if its origin is not allowed', async () => {
    for (const route of await getRoutes(listed)) {
      const answer = await preflight(listed, 'https://evil.example', route);
      expect(answer.headers['access-control-allow-origin'], JSON.stringify(route)).toBeUndefined();
    }
  });

  it('gets Access-Control-Expose-Headers in successful and error responses if its origin is allowed', async () => {
    const exposed = [
      'etag',
      'x-request-id',
      'retry-after',
      'ratelimit-limit',
      'ratelimit-remaining',
      'ratelimit-reset',
    ];
    for (const path of ['/stats', '/memories/none', '/nowhere']) {
      const answer = await listed.send({ path, headers: { origin: ORIGIN } });
      expect(getList(answer, 'access-control-expose-headers')).toEqual(expect.arrayContaining(exposed));
      expect(answer.headers.vary).toMatch(/origin/i);
    }
  });

  it('a request from another origin cannot write through any route if its origin is not allowed', async () => {
    const id = await listed.store({ content: 'stays unchanged' });
    const before = await listed.memory(id);
    const { total } = await listed.memories('limit=1');
    const writes = (await getRoutes(listed)).filter(({ method }) => method !== 'GET');
    expect(writes.length).toBeGreaterThan(4);
    for (const { method, path } of writes) {
      const target = path
        .replace(/^\/(update|forget)\/some/, `/$1/${id}`)
        .replace(/^\/memories$/, '/memories?source=api');
      // A form sends such a request without a preflight.
      const headers = { origin: 'https://evil.example', 'content-type': 'text/plain' };
      const answer = await listed.send({
        method,
        path: target,
        headers,
        body: '{"content":"written from another origin"}',
      });
      expectError(answer, { code: 'FORBIDDEN' });
    }
    expect(await listed.memory(id)).toMatchObject({ content: before.content, version: before.version });
    expect((await listed.memories('limit=1')).total).toBe(total);
  });
});

describe('a Host header that names another machine', () => {
  it('a Host header that names another machine is rejected on every route, including the routes that need no key', async () => {
    const pages = ['/docs', '/redoc', '/openapi.json', '/nowhere'].map((path) => ({ method: 'GET', path }));
    for (const route of [...(await getRoutes(open)), ...pages]) {
      for (const host of ['evil.example', `rebound.example:${open.server.port}`]) {
        const answer = await open.send({ ...route, headers: { host } });
        expectError(answer, { code: 'FORBIDDEN' });
      }
    }
  });
});

describe('the security headers', () => {
  const requests: Request[] = [
    ...['/', '/stats', '/recall?query=a', '/memories', '/metrics', '/openapi.json'].map((path) => ({ path })),
    ...['/nowhere', '/memories/none', '/recall', '/session/%zz', '/recall?query=%ff'].map((path) => ({ path })),
    { path: '/store', method: 'POST', body: '{' },
    { path: '/stats', headers: { host: 'evil.example' } },
    { path: '/stats', headers: { 'x-forwarded-for': '203.0.113.7' } },
    { path: '/stats', method: 'PATCH' },
    { path: '/events', method: 'HEAD' },
  ];
  it.each(requests.map((request) => ({ row: `${request.method ?? 'GET'} ${request.path}`, request })))(
    'the security headers of $row forbid scripts, frames and content sniffing',
    async ({ request }) => {
      const { headers } = await open.send(request);
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['content-security-policy']).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
      expect(headers['content-security-policy']).not.toMatch(/'self'|unsafe/);
      expect(headers['referrer-policy']).toBe('no-referrer');
      expect(headers['x-frame-options']).toBe('DENY');
      expect(headers['x-powered-by']).toBeUndefined();
    },
  );

  it('the security headers are also set in responses to malformed HTTP', async () => {
    const { headers } = parseRaw(await sendRaw(open.server.port, 'no http\r\n\r\n'));
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-type')).toMatch(/^application\/json/);
  });

  it.each([
    { path: '/docs/', policy: /^default-src 'none'; script-src 'self';(?!.*worker-src)/ },
    { path: '/redoc', policy: /^default-src 'none'; script-src 'self';.*worker-src blob:/ },
  ])(
    'the security headers of $path allow resources only from the service, and forbid eval',
    async ({ path, policy }) => {
      const { headers } = await open.send({ path });
      expect(headers['content-security-policy']).toMatch(policy);
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      expect(headers['content-security-policy']).not.toMatch(/unsafe-eval|script-src[^;]*unsafe-inline|https?:/);
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['x-frame-options']).toBe('DENY');
    },
  );
});

describe('HTML markup', () => {
  const markup = '<script>alert(1)</script><img src=x onerror=alert(1)>';
  let id = '';
  beforeAll(async () => {
    id = await open.store({
      content: markup,
      tags: [markup],
      source: markup,
      session_id: markup,
      metadata: { k: markup },
    });
    await open.update(id, { content: `${markup} again` });
  });

  const expectJson = (answer: Answer) => {
    expect(answer.headers['content-type']).toMatch(/^application\/json\b/);
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
  };

  it('HTML markup of a stored memory is returned as JSON even if the client accepts only HTML', async () => {
    const encoded = encodeURIComponent(markup);
    const paths = [
      `/memories/${id}`,
      `/memories/${id}/history`,
      '/memories',
      `/memories?source=${encoded}`,
      `/session/${encoded}`,
      '/sessions',
      '/recall?query=script%20alert',
    ];
    for (const path of paths) {
      const answer = await open.send({ path, headers: { accept: 'text/html' } });
      expect(answer.status, path).toBe(200);
      expect(answer.text, path).toContain('<script>');
      expectJson(answer);
    }
  });

  it('HTML markup of a stored memory appears neither in pages nor in metrics', async () => {
    for (const path of ['/docs/', '/redoc', '/metrics'])
      expect((await open.send({ path })).text).not.toContain('alert(1)');
  });

  it.each<Request>([
    { path: `/memories?${encodeURIComponent(markup)}=1` },
    { path: `/recall?query=a&metadata.${encodeURIComponent(markup)}=1&metadata.${encodeURIComponent(markup)}=2` },
    { path: '/store', method: 'POST', json: { content: 'a', [markup]: 1 } },
    { path: '/store/batch', method: 'POST', json: [{ content: 'a', [markup]: 1 }] },
    { path: `/${encodeURIComponent(markup)}` },
    { path: `/memories/${encodeURIComponent(markup)}` },
  ])('HTML markup in a request appears in errors only inside JSON: $path', async (request) => {
    expectJson(await open.send({ ...request, headers: { ...request.headers, accept: 'text/html' } }));
  });
});
