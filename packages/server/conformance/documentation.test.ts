import { describe, expect, it } from 'vitest';
import { resolveReferences } from '../src/reference-pages/resolve-references.ts';
import { type Client, useServer, WORDS_ONLY } from './under-test.ts';

const memoryd = useServer({ env: WORDS_ONLY });

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema?: Record<string, unknown>;
}
interface Operation {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Record<string, unknown> }> };
  responses: Record<string, { content?: Record<string, { schema?: unknown }> }>;
}
interface OpenApi {
  openapi: string;
  info: { title: string; version: string };
  paths: Record<string, Record<string, Operation>>;
}

describe('the OpenAPI document at /openapi.json', () => {
  const getDocument = () => memoryd.get<OpenApi>('/openapi.json');

  /** Returns an operation of the document, whatever the names of its path parameters. */
  async function getOperation(method: string, path: string): Promise<Operation | undefined> {
    const { paths } = resolveReferences(await getDocument());
    const shape = (text: string) => text.replaceAll(/\{[^}]+\}/g, '{}');
    const found = Object.keys(paths).find((candidate) => shape(candidate) === shape(path));
    return found === undefined ? undefined : paths[found]?.[method.toLowerCase()];
  }

  it('the OpenAPI document at /openapi.json is OpenAPI 3.1 with the version of the service', async () => {
    const { openapi, info } = await getDocument();
    expect(openapi).toMatch(/^3\.1\.\d+$/);
    expect(info.title).toMatch(/\S/);
    expect(info.version).toBe((await memoryd.get<{ version: string }>('/')).version);
  });

  const operations = [
    ...['GET /', 'POST /store', 'GET /recall', 'GET /session/{session_id}', 'GET /stats', 'DELETE /forget/{memory_id}'],
    ...[
      'PUT /update/{memory_id}',
      'POST /consolidate',
      'GET /health',
      'GET /metrics',
      'GET /memories',
      'DELETE /memories',
    ],
    ...['GET /consolidations', 'GET /consolidations/{id}', 'POST /consolidations/{id}/undo'],
    ...[
      'GET /memories/{memory_id}',
      'GET /memories/{memory_id}/history',
      'GET /sessions',
      'POST /store/batch',
      'GET /events',
    ],
    ...['GET /export', 'POST /import', 'GET /backup'],
    ...['POST /imports', 'GET /imports', 'DELETE /imports/{id}'],
  ];
  it.each(operations)('describes %s with its path parameters and its response', async (name) => {
    const [method = '', path = ''] = name.split(' ');
    const found = await getOperation(method, path);
    expect(found?.responses['200']).toBeDefined();
    const declared = (found?.parameters ?? []).filter((parameter) => parameter.in === 'path');
    expect(declared.length).toBe(path.match(/\{/g)?.length ?? 0);
    expect(declared.every((parameter) => parameter.required)).toBe(true);
  });

  it('describes only operations that the server routes', async () => {
    const notRouted = (await memoryd.send<{ error: { message: string } }>({ path: '/nowhere' })).body.error.message;
    const { paths } = await getDocument();
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => ({ path, method })),
    );
    for (const { path, method } of routes.filter((route) => ['get', 'post', 'put', 'delete'].includes(route.method))) {
      // GET /events would not end.
      const sentMethod = path === '/events' ? 'HEAD' : method.toUpperCase();
      const { status, text } = await memoryd.send({ method: sentMethod, path: path.replaceAll(/\{[^}]+\}/g, 'none') });
      if (status === 404) expect(text, `${method} ${path} is not routed`).not.toContain(notRouted);
    }
  });

  it('describes the parameters of recall with their ranges', async () => {
    const parameters = (await getOperation('GET', '/recall'))?.parameters ?? [];
    const byName = new Map(parameters.map((parameter) => [parameter.name, parameter]));
    expect(byName.get('query')).toMatchObject({ in: 'query', required: true });
    expect(byName.get('top_k')?.schema).toMatchObject({ type: 'integer', minimum: 1, maximum: 1000, default: 5 });
    for (const name of [
      'tag',
      'tier',
      'session_id',
      'source',
      'since',
      'until',
      'min_score',
      'only_relevant',
      'explain',
      'highlight',
    ]) {
      expect(byName.get(name), name).toMatchObject({ in: 'query' });
    }
  });

  it('describes all fields of a store request, of which only content is required', async () => {
    const body = (await getOperation('POST', '/store'))?.requestBody?.content['application/json']?.schema ?? {};
    expect(body.required).toEqual(['content']);
    expect(Object.keys(body.properties ?? {}).sort()).toEqual([
      'agent_id',
      'attachment',
      'content',
      'created_at',
      'expires_at',
      'external_id',
      'importance',
      'metadata',
      'session_id',
      'source',
      'supersedes',
      'tags',
      'user_id',
      'valid_from',
      'valid_to',
    ]);
  });

  it('describes the body of a batch as a JSON array or as NDJSON', async () => {
    const content = (await getOperation('POST', '/store/batch'))?.requestBody?.content ?? {};
    expect(content['application/json']?.schema).toMatchObject({ type: 'array', maxItems: 10_000 });
    expect(content['application/x-ndjson']?.schema).toMatchObject({
      ...{ type: 'string', 'x-line-schema': { type: 'object', required: ['content'] } },
    });
  });

  it('describes the errors of operations that validate their input', async () => {
    for (const name of ['POST /store', 'GET /recall', 'PUT /update/{memory_id}']) {
      const [method = '', path = ''] = name.split(' ');
      expect(
        Object.keys((await getOperation(method, path))?.responses ?? {}).some((status) => /^(4|default)/.test(status)),
        name,
      ).toBe(true);
    }
  });

  it('the OpenAPI document at /openapi.json has no reference that cannot be resolved', async () => {
    const document = await getDocument();
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1] ?? '');
    for (const reference of references) {
      expect(reference).toMatch(/^#\//);
      const steps = reference
        .slice(2)
        .split('/')
        .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
      let target: unknown = document;
      for (const step of steps) target = (target as Record<string, unknown> | undefined)?.[step];
      expect(target, reference).toBeDefined();
    }
  });
});

describe('the documentation page', () => {
  interface Page {
    url: string;
    html: string;
    policy: string;
  }
  async function getPage(client: Client, path: string): Promise<Page> {
    let url = new URL(path, 'http://127.0.0.1');
    for (let hops = 0; hops < 5; hops += 1) {
      const answer = await client.send({ path: url.pathname });
      if (answer.status < 300 || answer.status >= 400) {
        expect(answer.status).toBe(200);
        expect(answer.headers['content-type']).toMatch(/^text\/html\b/);
        return {
          url: url.pathname,
          html: answer.text,
          policy: String(answer.headers['content-security-policy'] ?? ''),
        };
      }
      url = new URL(answer.headers.location ?? '', url);
    }
    throw new Error(`${path} redirects in a circle`);
  }
  /** Returns the URLs of scripts, styles and images that a page loads. Links are left out. */
  function getResourceUrls({ html }: Page): string[] {
    const attributes = [...html.matchAll(/<(?:script|img|iframe|source|embed)\b[^>]*?\ssrc=["']?([^"'\s>]+)/gi)];
    const styles = [...html.matchAll(/<link\b[^>]*?\shref=["']?([^"'\s>]+)/gi)];
    const inCss = [...html.matchAll(/(?:url\(|@import\s+)["']?([^"')\s]+)/gi)];
    return [...attributes, ...styles, ...inCss]
      .map((match) => match[1] ?? '')
      .filter((address) => !address.startsWith('data:'));
  }

  /** Returns whether a content security policy restricts a page to its own host. */
  function isConfined(policy: string): boolean {
    const directives = policy.split(';').map((directive) => directive.trim().split(/\s+/));
    const own = new Set(["'self'", "'none'", "'unsafe-inline'", 'data:', 'blob:']);
    const names = directives.map(([name]) => name);
    return (
      names.includes('default-src') && directives.every(([, ...sources]) => sources.every((source) => own.has(source)))
    );
  }

  it.each(['/docs', '/redoc'])('the documentation page %s is HTML', async (path) => {
    expect((await getPage(memoryd, path)).html).toMatch(/<html/i);
  });

  it.each(['/docs', '/redoc'])('%s loads resources only from this server', async (path) => {
    const page = await getPage(memoryd, path);
    const urls = getResourceUrls(page);
    expect(urls.length).toBeGreaterThan(0);
    for (const address of urls) {
      const url = new URL(address, `http://127.0.0.1${page.url}`);
      expect(url.host, address).toBe('127.0.0.1');
      const answer = await memoryd.send({ path: url.pathname });
      expect(answer.status, address).toBe(200);
      expect(answer.text.length).toBeGreaterThan(0);
    }
  });

  it.each(['/docs', '/redoc'])('%s and its scripts send no requests to other hosts', async (path) => {
    const page = await getPage(memoryd, path);
    const texts = [page.html];
    for (const address of getResourceUrls(page).filter((load) => /\.(js|css)\b/.test(load))) {
      texts.push((await memoryd.send({ path: new URL(address, `http://127.0.0.1${page.url}`).pathname })).text);
    }
    const named = [
      ...texts.join('\n').matchAll(/https?:\/\/(cdn\.[\w.-]+|fonts\.[\w.-]+|unpkg\.com|validator\.swagger\.io)/g),
    ];
    // Host names in a library's bundle are harmless if the policy restricts the page to its own host.
    if (!isConfined(page.policy)) expect([...new Set(named.map((match) => match[1]))]).toEqual([]);
  });

  it.each(['/docs', '/redoc'])('%s shows the OpenAPI document of the server', async (path) => {
    const page = await getPage(memoryd, path);
    const texts = [page.html];
    for (const address of getResourceUrls(page).filter((load) => load.includes('initializer'))) {
      texts.push((await memoryd.send({ path: address })).text);
    }
    const named = /spec-url=["']([^"']+)|url: resolveUrl\('([^']+)'\)/.exec(texts.join('\n'));
    // Swagger UI resolves the URL relative to `/docs/`.
    const url = new URL(named?.[1] ?? named?.[2] ?? '', `http://127.0.0.1${path}/`);
    expect(await memoryd.get(url.pathname)).toEqual(await memoryd.get('/openapi.json'));
  });
});
