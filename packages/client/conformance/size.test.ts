import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { expect, it } from 'vitest';

/** Bytes of what a page loads for an entry of the package. */
const LIMIT_BYTES = 8000;

it.each(['index', 'session'])('%s is small, minified and gzipped, and needs nothing else', async (entry) => {
  const bundle = await rolldown({
    input: fileURLToPath(new URL(`../dist/${entry}.js`, import.meta.url)),
    platform: 'browser',
  });
  const { output } = await bundle.generate({ minify: true });
  await bundle.close();
  expect(output).toHaveLength(1);
  expect(output[0].imports).toEqual([]);
  expect(gzipSync(output[0].code).length).toBeLessThan(LIMIT_BYTES);
});
