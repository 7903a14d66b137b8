import { defineConfig } from 'rolldown';

/** What threads and child processes start from: our own modules in few files, since finding each takes a millisecond. */
export default defineConfig({
  input: ['write-thread', 'read-thread', 'search-thread', 'copy-process'].map((name) => `dist/storage/sqlite/${name}.js`),
  platform: 'node',
  // Packages stay what was installed; those of this project are installed as one version.
  external: /^(?!\.|\/|@memoryd\/)/,
  output: { dir: 'dist/threads', format: 'esm', sourcemap: true, cleanDir: true },
});
