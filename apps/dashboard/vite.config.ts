import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { bundledLicences } from '../../scripts/bundled-licences.mjs';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // The page may stand behind a proxy with a path of its own.
  base: './',
  plugins: [react()],
  build: {
    // The server serves it from its own package.
    outDir: fileURLToPath(new URL('../../packages/server/dist/ui', import.meta.url)),
    emptyOutDir: true,
    // The page's policy lets nothing load from `data:`.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Those that know `light-dark()`.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    reportCompressedSize: false,
    rolldownOptions: { output: { postBanner: bundledLicences } },
  },
});
