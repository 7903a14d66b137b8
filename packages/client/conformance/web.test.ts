import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { describe, expect, it } from 'vitest';
import { useServer, WORDS_ONLY } from '../../server/conformance/under-test.ts';
import manifest from '../package.json' with { type: 'json' };
import { VERSION } from '../src/index.ts';

const dist = fileURLToPath(new URL('../dist/', import.meta.url));
const ENTRIES = ['index', 'session'];

/** Bytes of what a page loads for an entry of the package. */
const LIMIT_BYTES = 8000;

/** An entry with all that it needs, as a script that defines `memoryd`. */
async function bundled(entry: string): Promise<string> {
  const bundle = await rolldown({ input: `${dist}${entry}.js`, platform: 'browser' });
  const { output } = await bundle.generate({ format: 'iife', name: 'memoryd', minify: true });
  await bundle.close();
  return output[0].code;
}

describe('the package', () => {
  const memoryd = useServer({ env: WORDS_ONLY });

  it.each(ENTRIES)('is small: %s, minified and gzipped', async (entry) => {
    expect(gzipSync(await bundled(entry)).length).toBeLessThan(LIMIT_BYTES);
  });

  it('imports nothing but itself', () => {
    const files = readdirSync(dist).filter((name) => /^[\w-]+\.js$/.test(name));
    expect(files).toContain('session.js');
    for (const name of files) {
      const imports = [...readFileSync(dist + name, 'utf8').matchAll(/(?:\bfrom |^import |\bimport\()'([^']+)'/gm)];
      expect(imports.filter(([, target]) => !target?.startsWith('./'))).toEqual([]);
    }
    expect(manifest).not.toHaveProperty('dependencies');
  });

  it('runs with what every web page has and nothing of Node', async () => {
    const web = {
      ...{ fetch, AbortController, Blob, TextDecoder, TextEncoder, ReadableStream, URL, setTimeout, clearTimeout },
      // As in a page that did not come over TLS.
      crypto: { getRandomValues: (bytes: Uint8Array) => crypto.getRandomValues(bytes) },
      url: `http://127.0.0.1:${memoryd.server.port}`,
    };
    const page = createContext({ ...web });
    runInContext(await bundled('index'), page);
    runInContext((await bundled('session')).replace('memoryd', 'memorydSession'), page);
    const ask = `(async () => {
      const memory = new memoryd.MemoryClient({ url });
      const following = (async () => {
        for await (const event of memory.events({ last_event_id: 'nobody.1' })) return event.type;
      })();
      const talk = memorydSession.session(memory, 'a page', { userId: 'reader' });
      await talk.add([{ role: 'user', content: 'said on a page' }]);
      const { items } = await talk.context('page', { tokens: 100 });
      const refusal = await memory.memory('nobody').catch(({ code }) => code);
      return JSON.stringify([items.map(({ content }) => content), refusal, await following]);
    })()`;
    expect(JSON.parse(await runInContext(ask, page))).toEqual([['said on a page'], 'NOT_FOUND', 'gap']);
  });

  it('knows its version', () => {
    expect(VERSION).toBe(manifest.version);
  });
});
