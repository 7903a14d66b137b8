import { defineConfig } from 'rolldown';

/** To find a file takes a start a good part of a millisecond. Beside the others, which name files of the package from there. */
export default defineConfig({
  input: { memoryd: 'dist/main.js' },
  platform: 'node',
  external: /^(?!\.|\/)/,
  output: {
    ...{ dir: 'dist', entryFileNames: '[name].js', chunkFileNames: 'memoryd-[name].js' },
    ...{ format: 'esm', sourcemap: true },
  },
});
