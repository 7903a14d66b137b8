import { fileURLToPath } from 'node:url';
import { defineConfig } from 'rolldown';
import { bundleEntries, isPackage } from '../../scripts/bundle-config.mjs';
import { getBundledLicenses } from '../../scripts/bundled-licences.mjs';

/** A thread contains what it uses of these packages, from their single modules, so that nothing unused is loaded. */
const INSIDE_THREADS = Object.fromEntries(
  ['core', 'search'].map((name) => [
    `@memoryd/${name}`,
    fileURLToPath(new URL(`../${name}/dist/index.js`, import.meta.url)),
  ]),
);

/** Small packages of many modules. */
const BUNDLED = ['@memoryd/', '@orama/stemmers', 'opencc-js', 'stemmer', 'uuid'];

/** The schemas of the contract take a thread 12 MB and part of its start. */
const SCHEMAS = '@memoryd/contract';
const rejectSchemas = {
  name: 'reject-schemas',
  generateBundle(_, chunks) {
    const loading = Object.values(chunks).find(({ imports }) => imports?.includes(SCHEMAS));
    if (loading) throw new Error(`${loading.name} loads schemas; import /errors or /limits of the contract instead`);
  },
};

export default defineConfig([
  bundleEntries({ index: 'dist/index.js', testing: 'dist/testing.js' }),
  // Entry points of threads and child processes: each in a folder of its own, with the few words of the contract that it
  // uses; what it loads only when asked is a file apart.
  ...['write-thread', 'read-thread', 'search-thread', 'copy-process'].map((name) => ({
    input: `dist/${name}.js`,
    platform: 'node',
    resolve: { alias: INSIDE_THREADS },
    external: (id) => id === SCHEMAS || (isPackage(id) && !BUNDLED.some((one) => id.startsWith(one))),
    treeshake: { moduleSideEffects: [{ external: true, sideEffects: false }] },
    ...(name !== 'copy-process' && { plugins: [rejectSchemas] }),
    output: {
      ...{ dir: `dist/threads/${name}`, chunkFileNames: '[name].js', cleanDir: true },
      ...{ format: 'esm', sourcemap: true, banner: getBundledLicenses },
    },
  })),
]);
