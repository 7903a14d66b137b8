import { defineConfig } from 'rolldown';

/**
 * One more file costs each start almost 1 ms. Output stays in `dist`, because modules resolve package files relative to
 * it.
 */
const bundle = (name, input) =>
  defineConfig({
    input: { [name]: input },
    platform: 'node',
    external: /^(?!\.|\/)/,
    output: {
      ...{ dir: 'dist', entryFileNames: '[name].js', chunkFileNames: 'memoryd-[name].js' },
      ...{ format: 'esm', sourcemap: true },
    },
  });

/** A file that connect copies to the user. The hook's file is small, because each start of it reads it. */
const asset = (name, output) =>
  defineConfig({
    input: `assets/${name}`,
    platform: 'node',
    external: /^node:/,
    output,
  });
const assets = [
  asset('hook.js', { file: 'dist/hook.cjs', format: 'cjs', minify: true }),
  asset('opencode-plugin.js', { file: 'dist/opencode-plugin.js', format: 'esm' }),
];

// The front is a separate bundle, so that the first responses load one file. A process starts from a file of its own.
export default [
  bundle('memoryd', 'dist/main.js'),
  bundle('memoryd-front', 'dist/mcp-front/front.js'),
  bundle('memoryd-import-reader', 'dist/imports/reader/reader-process.js'),
  ...assets,
];
