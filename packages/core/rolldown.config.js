import { defineConfig } from 'rolldown';
import { getBundledLicenses } from '../../scripts/bundled-licences.mjs';

/** Packages of many small modules, of which every start would look for each; all others stay what was installed. */
const BUNDLED = ['uuid'];

/** To find a file takes a start a good part of a millisecond. */
export default defineConfig({
  input: {
    ...{ index: 'dist/index.js', operations: 'dist/operations.js', models: 'dist/models.js' },
    ports: 'dist/ports.js',
    'database-address': 'dist/database-address.js',
  },
  platform: 'node',
  external: (id) => !/^[./]|^\0/.test(id) && !BUNDLED.includes(id),
  output: { dir: 'dist/bundle', format: 'esm', sourcemap: true, cleanDir: true, banner: getBundledLicenses },
});
