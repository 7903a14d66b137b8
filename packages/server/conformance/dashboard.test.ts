import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { expectError } from './refusal.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

const KEY = 'an-api-key-of-the-dashboard-tests';
const memoryd = useServer({ env: WORDS_ONLY });
const locked = useServer({ env: { ...WORDS_ONLY, SERVICE_API_KEY: KEY } });

/** Maximum size of the scripts that the first view loads, and of all scripts, Brotli-compressed. */
const MAX_FIRST_SCRIPT_BYTES = 50_000;
const MAX_SCRIPT_BYTES = 80_000;

const DECODERS = { br: brotliDecompressSync, gzip: gunzipSync, identity: (content: Buffer) => content };

describe('the dashboard at /ui', () => {
  /** Returns the paths of the files that the page loads. */
  async function getAssets(): Promise<string[]> {
    const { text } = await memoryd.send({ path: '/ui/' });
    return [...text.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map((match) => `/ui/${match[1]}`);
  }

  /** Sends a request with `Accept-Encoding` and returns the body as it was sent. */
  async function sendEncoded(path: string, encoding: string) {
    const { status, headers, bytes } = await memoryd.send({ path, headers: { 'accept-encoding': encoding } });
    return { status, headers, bytes };
  }

  it('redirects from /ui to /ui/ with a relative URL, for proxies with a base path', async () => {
    const { status, headers } = await memoryd.send({ path: '/ui' });
    expect([status, headers.location]).toEqual([302, 'ui/']);
  });

  it('the dashboard at /ui is revalidated on each visit, with a 304 response while it is unchanged', async () => {
    const { status, headers } = await memoryd.send({ path: '/ui/' });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['cache-control']).toBe('no-cache');
    const again = await memoryd.send({ path: '/ui/', headers: { 'if-none-match': String(headers.etag) } });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  it('loads immutable files with correct content types', async () => {
    const types = { js: 'application/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml' };
    const paths = await getAssets();
    expect([...new Set(paths.map((path) => path.split('.').at(-1)))].sort()).toEqual(Object.keys(types).sort());
    for (const path of paths) {
      const { status, headers } = await memoryd.send({ path });
      expect(status, path).toBe(200);
      expect(path).toMatch(/-[\w-]{8}\.\w+$/);
      expect(headers['content-type']).toBe(types[path.split('.').at(-1) as keyof typeof types]);
      expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(headers['x-content-type-options']).toBe('nosniff');
    }
  });

  it.each(['br', 'gzip', 'identity'] as const)('sends the same content with Accept-Encoding %s', async (encoding) => {
    for (const path of ['/ui/', ...(await getAssets())]) {
      const plain = await memoryd.send({ path });
      const { status, headers, bytes } = await sendEncoded(path, encoding);
      expect([status, headers['content-encoding']], path).toEqual([
        200,
        encoding === 'identity' ? undefined : encoding,
      ]);
      expect(DECODERS[encoding](bytes).equals(plain.bytes), path).toBe(true);
      expect(headers['content-type']).toBe(plain.headers['content-type']);
      expect(headers['cache-control']).toBe(plain.headers['cache-control']);
      expect(headers.vary).toMatch(/accept-encoding/i);
      expect(headers['content-security-policy']).toBe(plain.headers['content-security-policy']);
      const ifNoneMatch = { 'accept-encoding': encoding, 'if-none-match': String(headers.etag) };
      expect((await memoryd.send({ path, headers: ifNoneMatch })).status, path).toBe(304);
    }
  });

  it('the dashboard at /ui has a different ETag for each encoding', async () => {
    for (const path of ['/ui/', ...(await getAssets())]) {
      const etags = await Promise.all(['br', 'gzip', 'identity'].map((one) => sendEncoded(path, one)));
      expect(new Set(etags.map(({ headers }) => headers.etag)).size, path).toBe(3);
    }
  });

  /** Returns the size of a script as a browser loads it. */
  async function getScriptBytes(path: string): Promise<number> {
    const { headers, bytes } = await sendEncoded(path, 'gzip, deflate, br, zstd');
    expect(headers['content-encoding'], path).toBe('br');
    return bytes.length;
  }

  /** Returns the paths of scripts and of all scripts that these import, at once or later. */
  async function getImports(paths: readonly string[]): Promise<string[]> {
    const found = new Set(paths);
    for (const path of found) {
      const { text } = await memoryd.send({ path });
      for (const [, name] of text.matchAll(/["'`](?:\.\/|assets\/)([\w-]+\.js)["'`]/g)) found.add(`/ui/assets/${name}`);
    }
    return [...found];
  }

  it('the dashboard at /ui is sent with Brotli if possible, and its scripts fit the size limits', async () => {
    const first = (await getAssets()).filter((path) => path.endsWith('.js'));
    const sum = async (paths: string[]) =>
      (await Promise.all(paths.map(getScriptBytes))).reduce((total, bytes) => total + bytes, 0);
    expect(await sum(first)).toBeLessThan(MAX_FIRST_SCRIPT_BYTES);
    const all = await getImports(first);
    expect(all.length).toBeGreaterThan(first.length);
    expect(await sum(all)).toBeLessThan(MAX_SCRIPT_BYTES);
  });

  it.each(['bytes=0-9', 'bytes=9999999-', 'bytes=5-2', 'bytes=abc'])(
    'ignores the range %s and sends complete files',
    async (range) => {
      for (const path of ['/ui/', ...(await getAssets()), '/redoc/redoc.standalone.js']) {
        const whole = await memoryd.send({ path });
        const { status, text, headers } = await memoryd.send({ path, headers: { range } });
        expect([status, text.length, headers['content-range']], path).toEqual([200, whole.text.length, undefined]);
      }
    },
  );

  it('the dashboard at /ui has a Content-Security-Policy without other hosts, inline scripts or HTML from strings', async () => {
    const { headers } = await memoryd.send({ path: '/ui/' });
    const policy = String(headers['content-security-policy']);
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|data:/);
    expect(headers['x-frame-options']).toBe('DENY');
  });

  it('needs an API key only for its data, not for its files', async () => {
    for (const path of ['/ui/', ...(await getAssets())]) expect((await locked.send({ path })).status, path).toBe(200);
    for (const path of ['/stats', '/memories', '/events']) {
      expectError(await locked.send({ path }), { code: 'UNAUTHORIZED' });
    }
  });

  it.each(['/ui/assets/none.js', '/ui/..%2fpackage.json', '/ui/assets/', '/ui/index.html.map'])(
    'returns 404 for %s',
    async (path) => {
      for (const encoding of ['br', 'identity']) {
        const answer = await memoryd.send({ path, headers: { 'accept-encoding': encoding } });
        expectError(answer, { code: 'NOT_FOUND' });
        expect(answer.headers['content-security-policy']).not.toContain("'self'");
      }
    },
  );

  it('the dashboard at /ui is the target to which GET / redirects a browser, even without a key', async () => {
    const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
    for (const server of [memoryd, locked]) {
      const { status, headers } = await server.send({ path: '/', headers: { accept } });
      expect([status, headers.location]).toEqual([302, 'ui/']);
    }
  });

  it.each([{}, { accept: '*/*' }, { accept: 'application/json' }, { accept: 'text/html;q=0.0, */*' }])(
    'the dashboard at /ui is not the target of GET / for a client with the headers %j',
    async (sent) => {
      const { status, headers } = await memoryd.send({ path: '/', headers: sent });
      expect([status, headers['content-type']]).toEqual([200, expect.stringMatching(/^application\/json/)]);
    },
  );
});
