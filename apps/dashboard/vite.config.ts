import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { minify } from 'terser';
import { defineConfig, type Plugin } from 'vite';
import { getBundledLicenses } from '../../scripts/bundled-licences.mjs';

/** Writes a Brotli file and a gzip file next to each built file. */
const compressed: Plugin = {
  name: 'compressed',
  writeBundle({ dir = '' }, bundle) {
    for (const name of Object.keys(bundle)) {
      const content = readFileSync(join(dir, name));
      writeFileSync(join(dir, `${name}.br`), brotliCompressSync(content));
      writeFileSync(join(dir, `${name}.gz`), gzipSync(content, { level: 9 }));
    }
  },
};

/** Id of Vite's module that loads what a script needs before the script. Here, a script has nothing to load before it. */
const PRELOAD_MODULE = '\0vite/preload-helper.js';

const plainImports: Plugin = {
  name: 'plain-imports',
  enforce: 'pre',
  load: (id) => (id === PRELOAD_MODULE ? 'export const __vitePreload = (load) => load();' : undefined),
};

const LICENSES_FILE = 'licenses.txt';

/** Writes the licenses of the packages in the scripts to one file, so that they are not loaded with each script. */
const licenses: Plugin = {
  name: 'licenses',
  generateBundle(_options, bundle) {
    const moduleIds = Object.values(bundle).flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
    this.emitFile({ type: 'asset', fileName: LICENSES_FILE, source: getBundledLicenses({ moduleIds }) });
  },
};

/**
 * Minifies the scripts when their imports are final: 1.4 kB of Brotli less than the minifier of Rolldown, and 0.2 kB less
 * than Terser before that.
 */
const minified: Plugin = {
  name: 'minified',
  async generateBundle(_options, bundle) {
    for (const file of Object.values(bundle)) {
      if (file.type !== 'chunk') continue;
      const { code = '' } = await minify(file.code, {
        module: true,
        ecma: 2020,
        compress: {
          passes: 3,
          inline: 1,
          lhs_constants: false,
          pure_getters: true,
          unsafe: true,
          unsafe_arrows: true,
        },
      });
      file.code = code;
    }
  },
};

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // A proxy may serve the page under another path.
  base: './',
  oxc: {
    // Calls of `createElement` compress better than those of the JSX runtime, which name the children of each element.
    jsx: { runtime: 'classic', pragma: 'h', pragmaFrag: 'hFragment' },
    jsxInject: "import { createElement as h, Fragment as hFragment } from 'preact'",
  },
  plugins: [plainImports, licenses, minified, compressed],
  build: {
    // The server's package contains the page.
    outDir: fileURLToPath(new URL('../../packages/server/dist/ui', import.meta.url)),
    emptyOutDir: true,
    // The page's Content-Security-Policy forbids `data:` URLs.
    assetsInlineLimit: 0,
    // Scripts are few and loaded before they are needed (`loadViewsWhenIdle`), and all styles are small.
    modulePreload: false,
    cssCodeSplit: false,
    // The first versions with `light-dark()`.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    reportCompressedSize: false,
    // `minified` does it, after the compressor of Rolldown: 0.2 kB of Brotli less than Terser alone.
    minify: false,
    cssMinify: true,
    rolldownOptions: {
      output: {
        minify: { compress: true, mangle: false, codegen: false },
        // Two scripts, that of the first view and that of all others, compress 2 kB better than one for each view.
        codeSplitting: {
          groups: [{ name: 'page', tags: ['$initial'] }],
        },
      },
    },
  },
});
