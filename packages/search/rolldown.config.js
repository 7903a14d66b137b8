import { bundleEntries } from '../../scripts/bundle-config.mjs';

export default bundleEntries({ index: 'dist/index.js', testing: 'dist/testing.js' }, [
  ...['@memoryd/minilm/parts', '@orama/stemmers', 'chrono-node', 'opencc-js', 'stemmer'],
]);
