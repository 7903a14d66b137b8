import { defineConfig } from 'rolldown';

/** To find a file takes a start a good part of a millisecond. Beside the others, which name files of the package from there. */
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

// Apart, so that the first answers of `memoryd mcp` wait for a single file.
export default [bundle('memoryd', 'dist/main.js'), bundle('memoryd-front', 'dist/mcp-front/front.js')];
