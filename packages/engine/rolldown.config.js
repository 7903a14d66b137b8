import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'rolldown';

const chronoLicense = fileURLToPath(new URL('../../LICENSE.txt', import.meta.resolve('chrono-node')));

/** To find a file takes a start, and every thread of it, a good part of a millisecond. */
export default defineConfig([
  {
    // What threads and child processes start from: our own modules alone; packages stay what was installed.
    input: ['write-thread', 'read-thread', 'search-thread', 'copy-process'].map(
      (name) => `dist/storage/sqlite/${name}.js`,
    ),
    platform: 'node',
    external: /^(?!\.|\/|@memoryd\/)/,
    output: { dir: 'dist/threads', format: 'esm', sourcemap: true, cleanDir: true },
  },
  {
    input: 'src/core/ranking/chrono.ts',
    platform: 'node',
    output: {
      file: 'dist/core/ranking/chrono.js',
      format: 'esm',
      banner: `/*!\nchrono-node\n${readFileSync(chronoLicense, 'utf8')}*/`,
    },
  },
]);
