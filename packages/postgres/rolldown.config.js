import { defineConfig } from 'rolldown';

/** Bundles about forty files into one, because finding and loading each file delays the start. */
export default defineConfig({
  input: { index: 'dist/index.js', testing: 'dist/testing.js' },
  platform: 'node',
  external: (id) => !/^[./]|^\0/.test(id),
  output: { dir: 'dist/bundle', format: 'esm', sourcemap: true, cleanDir: true },
});
