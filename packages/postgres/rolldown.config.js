import { defineConfig } from 'rolldown';

/** One file instead of forty: a start looks for each. */
export default defineConfig({
  input: 'dist/index.js',
  platform: 'node',
  external: (id) => !/^[./]|^\0/.test(id),
  output: { dir: 'dist/bundle', format: 'esm', sourcemap: true, cleanDir: true },
});
