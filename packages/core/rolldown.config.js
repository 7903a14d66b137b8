import { fileURLToPath } from 'node:url';
import { bundleEntries, isPackage } from '../../scripts/bundle-config.mjs';
import { getBundledLicenses } from '../../scripts/bundled-licences.mjs';

const FACES = ['index', 'operations', 'models', 'ports', 'database-address'];

/** Small packages of many modules, and the search, of which the thread uses a part. */
const INSIDE_THREAD = ['@memoryd/', '@orama/stemmers', 'opencc-js', 'stemmer'];

export default [
  bundleEntries(Object.fromEntries(FACES.map((name) => [name, `dist/${name}.js`])), ['uuid']),
  {
    input: 'dist/map/map-thread.js',
    platform: 'node',
    resolve: { alias: { '@memoryd/search': fileURLToPath(new URL('../search/dist/index.js', import.meta.url)) } },
    external: (id) => isPackage(id) && !INSIDE_THREAD.some((name) => id.startsWith(name)),
    treeshake: { moduleSideEffects: [{ external: true, sideEffects: false }] },
    output: { ...{ dir: 'dist/threads', format: 'esm', sourcemap: true, cleanDir: true }, banner: getBundledLicenses },
  },
];
