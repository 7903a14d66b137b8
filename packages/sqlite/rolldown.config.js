import { fileURLToPath } from 'node:url';
import { defineConfig } from 'rolldown';
import { getBundledLicenses } from '../../scripts/bundled-licences.mjs';

const isOutside = (id) => !/^[./]|^\0/.test(id);

/** A thread contains what it uses of these packages, from their single modules, so that nothing unused is loaded. */
const INSIDE_THREADS = Object.fromEntries(
  ['core', 'search'].map((name) => [
    `@memoryd/${name}`,
    fileURLToPath(new URL(`../${name}/dist/index.js`, import.meta.url)),
  ]),
);

/** Small packages of many modules. */
const BUNDLED = ['@memoryd/', '@orama/stemmers', 'stemmer', 'uuid'];

/** The schemas of the contract take a thread 12 MB and part of its start. */
const SCHEMAS = '@memoryd/contract';
const rejectSchemas = {
  name: 'reject-schemas',
  generateBundle(_, chunks) {
    const loading = Object.values(chunks).find(({ imports }) => imports?.includes(SCHEMAS));
    if (loading) throw new Error(`${loading.name} loads schemas; import /errors or /limits of the contract instead`);
  },
};

/** To find a file takes a start, and every thread of it, a good part of a millisecond. */
export default defineConfig([
  {
    input: { index: 'dist/index.js', testing: 'dist/testing.js' },
    platform: 'node',
    external: isOutside,
    output: { dir: 'dist/bundle', format: 'esm', sourcemap: true, cleanDir: true },
  },
  // Entry points of threads and child processes: each in a folder of its own, with the few words of the contract that it
  // uses; what it loads only when asked is a file apart.
  ...['write-thread', 'read-thread', 'search-thread', 'copy-process'].map((name) => ({
    input: `dist/${name}.js`,
    platform: 'node',
    resolve: { alias: INSIDE_THREADS },
    external: (id) => id === SCHEMAS || (isOutside(id) && !BUNDLED.some((one) => id.startsWith(one))),
    treeshake: { moduleSideEffects: [{ external: true, sideEffects: false }] },
    ...(name !== 'copy-process' && { plugins: [rejectSchemas] }),
    output: {
      ...{ dir: `dist/threads/${name}`, chunkFileNames: '[name].js', cleanDir: true },
      ...{ format: 'esm', sourcemap: true, banner: getBundledLicenses },
    },
  })),
]);
