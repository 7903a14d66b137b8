import { bundleEntries } from '../../scripts/bundle-config.mjs';

export default bundleEntries({ index: 'dist/index.js' });
