import { defineConfig } from 'rolldown';
import { getBundledLicenses } from '../../scripts/bundled-licences.mjs';

/** Packages of many small modules, of which every start would look for each; all others stay what was installed. */
const BUNDLED = ['@memoryd/minilm/parts', '@orama/stemmers', 'chrono-node', 'ky', 'stemmer', 'uuid'];

const isOutside = (id) => !/^[./]|^\0/.test(id) && !BUNDLED.some((name) => id === name || id.startsWith(`${name}/`));

const bundle = (input, dir) => ({
  input,
  platform: 'node',
  external: isOutside,
  output: { dir, format: 'esm', sourcemap: true, cleanDir: true, banner: getBundledLicenses },
});

const isOutsideOfProcess = (id) => isOutside(id) && !id.startsWith('@memoryd/');

/** The schemas of the contract take a thread 12 MB and part of its start. */
const isOutsideOfThread = (id) => {
  if (id === '@memoryd/contract') throw new Error('a thread loads no schemas; import /errors or /limits instead');
  return isOutsideOfProcess(id);
};

/** To find a file takes a start, and every thread of it, a good part of a millisecond. */
export default defineConfig([
  bundle({ index: 'dist/index.js', 'engine-defaults': 'dist/engine-defaults.js' }, 'dist/bundle'),
  // Apart, so that an engine on a file does not load what adapters and their tests share with it.
  bundle({ 'storage-kit': 'dist/storage-kit.js', 'storage-testing': 'dist/storage-testing.js' }, 'dist/kit'),
  // Entry points of threads and child processes: each in a folder of its own, with the few words of the contract that it
  // uses; what it loads only when asked is a file apart.
  ...['write-thread', 'read-thread', 'search-thread', 'copy-process'].map((name) => ({
    input: `dist/storage/sqlite/${name}.js`,
    platform: 'node',
    external: name === 'copy-process' ? isOutsideOfProcess : isOutsideOfThread,
    output: {
      ...{ dir: `dist/threads/${name}`, chunkFileNames: '[name].js', cleanDir: true },
      ...{ format: 'esm', sourcemap: true, banner: getBundledLicenses },
    },
  })),
]);
