import { defineConfig } from 'rolldown';

/** One file, because finding and loading each of many delays every test. */
export default defineConfig({
  input: 'dist/index.js',
  platform: 'node',
  external: (id) => !/^[./]|^\0/.test(id),
  output: { dir: 'dist/bundle', format: 'esm', sourcemap: true, cleanDir: true },
});
