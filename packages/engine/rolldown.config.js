import { bundleEntries } from '../../scripts/bundle-config.mjs';

export default bundleEntries({ index: 'dist/index.js', 'engine-defaults': 'dist/engine-defaults.js' }, [
  ...['@memoryd/minilm/parts', 'ky'],
]);
