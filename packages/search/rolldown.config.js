import { defineConfig } from 'rolldown';
import { getBundledLicenses } from '../../scripts/bundled-licences.mjs';

/** Packages of many small modules, of which every start would look for each; all others stay what was installed. */
const BUNDLED = ['@memoryd/minilm/parts', '@orama/stemmers', 'chrono-node', 'stemmer'];

/** To find a file takes a start a good part of a millisecond. */
export default defineConfig({
  input: { index: 'dist/index.js', testing: 'dist/testing.js' },
  platform: 'node',
  external: (id) => !/^[./]|^\0/.test(id) && !BUNDLED.some((name) => id === name || id.startsWith(`${name}/`)),
  output: { dir: 'dist/bundle', format: 'esm', sourcemap: true, cleanDir: true, banner: getBundledLicenses },
});
