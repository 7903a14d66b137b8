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

// A separate bundle, so that the first responses load one file.
export default [bundle('memoryd', 'dist/main.js'), bundle('memoryd-front', 'dist/mcp-front/front.js')];
