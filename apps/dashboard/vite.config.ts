import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
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

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // A proxy may serve the page under another path.
  base: './',
  // Preact replaces React, which @tanstack/react-virtual imports.
  resolve: { alias: { react: 'preact/compat', 'react-dom': 'preact/compat' } },
  plugins: [compressed],
  build: {
    // The server's package contains the page.
    outDir: fileURLToPath(new URL('../../packages/server/dist/ui', import.meta.url)),
    emptyOutDir: true,
    // The page's Content-Security-Policy forbids `data:` URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The first versions with `light-dark()`.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    reportCompressedSize: false,
    rolldownOptions: { output: { postBanner: getBundledLicenses } },
  },
});
