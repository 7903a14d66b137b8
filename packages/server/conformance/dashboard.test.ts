import { describe, expect, it } from 'vitest';
import { expectRefusal } from './refusal.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

const KEY = 'a-key-that-a-setting-gives-and-nobody-guesses';
const memoryd = useServer({ env: WORDS_ONLY });
const locked = useServer({ env: { ...WORDS_ONLY, SERVICE_API_KEY: KEY } });

describe('the page at /ui', () => {
  /** The files that the page names. */
  async function assets(): Promise<string[]> {
    const { text } = await memoryd.send({ path: '/ui/' });
    return [...text.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map((match) => `/ui/${match[1]}`);
  }

  it('is found without the last slash too, wherever a proxy puts it', async () => {
    const { status, headers } = await memoryd.send({ path: '/ui' });
    expect([status, headers.location]).toEqual([302, 'ui/']);
  });

  it('is asked for anew each time, and not sent again while it is the same', async () => {
    const { status, headers } = await memoryd.send({ path: '/ui/' });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['cache-control']).toBe('no-cache');
    const again = await memoryd.send({ path: '/ui/', headers: { 'if-none-match': String(headers.etag) } });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  it('names files that never change, each of its own type', async () => {
    const types = { js: 'application/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml' };
    const named = await assets();
    expect(named.map((path) => path.split('.').at(-1)).sort()).toEqual(Object.keys(types).sort());
    for (const path of named) {
      const { status, headers } = await memoryd.send({ path });
      expect(status, path).toBe(200);
      expect(path).toMatch(/-[\w-]{8}\.\w+$/);
      expect(headers['content-type']).toBe(types[path.split('.').at(-1) as keyof typeof types]);
      expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(headers['x-content-type-options']).toBe('nosniff');
    }
  });

  it.each(['bytes=0-9', 'bytes=9999999-', 'bytes=5-2', 'bytes=abc'])(
    'is sent whole, whatever part of it is asked for: %s',
    async (range) => {
      for (const path of ['/ui/', ...(await assets()), '/redoc/redoc.standalone.js']) {
        const whole = await memoryd.send({ path });
        const { status, text, headers } = await memoryd.send({ path, headers: { range } });
        expect([status, text.length, headers['content-range']], path).toEqual([200, whole.text.length, undefined]);
      }
    },
  );

  it('may load from the service alone, run no text and make no markup of one', async () => {
    const { headers } = await memoryd.send({ path: '/ui/' });
    const policy = String(headers['content-security-policy']);
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|data:/);
    expect(headers['x-frame-options']).toBe('DENY');
  });

  it('needs no key, while all that it shows does', async () => {
    for (const path of ['/ui/', ...(await assets())]) expect((await locked.send({ path })).status, path).toBe(200);
    for (const path of ['/stats', '/memories', '/events']) {
      expectRefusal(await locked.send({ path }), { code: 'UNAUTHORIZED' });
    }
  });

  it.each(['/ui/assets/none.js', '/ui/..%2fpackage.json', '/ui/assets/', '/ui/index.html.map'])(
    'is all that is there: %s is not',
    async (path) => {
      const answer = await memoryd.send({ path });
      expectRefusal(answer, { code: 'NOT_FOUND' });
      expect(answer.headers['content-security-policy']).not.toContain("'self'");
    },
  );

  it('leaves GET / as it is', async () => {
    const { headers } = await memoryd.send({ path: '/', headers: { accept: 'text/html' } });
    expect(headers['content-type']).toMatch(/^application\/json/);
  });
});
