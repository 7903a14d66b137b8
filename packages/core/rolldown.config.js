import { bundleEntries } from '../../scripts/bundle-config.mjs';

const FACES = ['index', 'operations', 'models', 'ports', 'database-address'];

export default bundleEntries(Object.fromEntries(FACES.map((name) => [name, `dist/${name}.js`])), ['uuid']);
