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
/** The entry points, each with its maximum download size. A session has the words for before of many languages. */
const ENTRIES: readonly (readonly [entry: string, maxBytes: number])[] = [
  ['index', 8000],
  ['session', 10_000],
  ['administration', 8000],
];

/** Bundles an entry point with its imports into a script that defines `memoryd`. */
async function bundleEntry(entry: string): Promise<string> {
  const bundle = await rolldown({ input: `${dist}${entry}.js`, platform: 'browser' });
  const { output } = await bundle.generate({ format: 'iife', name: 'memoryd', minify: true });
  await bundle.close();
  return output[0].code;
}

describe('the client package', () => {
  const memoryd = useServer({ env: WORDS_ONLY });

  it.each(ENTRIES)(
    'the client package, minified and gzipped, is smaller than its limit: %s, %d bytes',
    async (entry, maxBytes) => {
      expect(gzipSync(await bundleEntry(entry)).length).toBeLessThan(maxBytes);
    },
  );

  it('the client package has no dependencies', () => {
    const files = readdirSync(dist).filter((name) => /^[\w-]+\.js$/.test(name));
    expect(files).toContain('session.js');
    for (const name of files) {
      const imports = [...readFileSync(dist + name, 'utf8').matchAll(/(?:\bfrom |^import |\bimport\()'([^']+)'/gm)];
      expect(imports.filter(([, target]) => !target?.startsWith('./'))).toEqual([]);
    }
    expect(manifest).not.toHaveProperty('dependencies');
  });

  it('runs with browser globals only', async () => {
    const web = {
      ...{
        fetch,
        AbortController,
        Blob,
        TextDecoder,
        TextEncoder,
        ReadableStream,
        URL,
        performance,
        setTimeout,
        clearTimeout,
      },
      // As in a page that was not loaded over TLS: no `crypto.randomUUID`.
      crypto: { getRandomValues: (bytes: Uint8Array) => crypto.getRandomValues(bytes) },
      url: `http://127.0.0.1:${memoryd.server.port}`,
    };
    const page = createContext({ ...web });
    runInContext(await bundleEntry('index'), page);
    runInContext((await bundleEntry('session')).replace('memoryd', 'memorydSession'), page);
    const ask = `(async () => {
      const memory = new memoryd.MemoryClient({ url });
      const following = (async () => {
        for await (const event of memory.events({ last_event_id: 'nobody.1' })) return event.type;
      })();
      const talk = memorydSession.session(memory, 'a page', { userId: 'reader' });
      talk.add([{ role: 'user', content: 'said on a page' }]);
      await talk.flush();
      const { memories, turns } = await talk.context('page', { tokens: 200 });
      const refusal = await memory.memory('nobody').catch(({ code }) => code);
      return JSON.stringify([[...memories, ...turns].map(({ content }) => content), refusal, await following]);
    })()`;
    expect(JSON.parse(await runInContext(ask, page))).toEqual([['said on a page'], 'NOT_FOUND', 'gap']);
  });

  it('the client package exports its version', () => {
    expect(VERSION).toBe(manifest.version);
  });
});
