import { defineConfig } from 'rolldown';
import { bundledLicences } from '../../scripts/bundled-licences.mjs';

/** What every process loads, TypeBox with it (see src/typebox.ts), in few files: each takes a good part of a millisecond. */
const bundle = defineConfig({
  input: {
    ...{ index: 'dist/index.js', errors: 'dist/errors.js', limits: 'dist/limits.js' },
    ...{ tools: 'dist/tools/index.js', typebox: 'dist/typebox.js' },
  },
  platform: 'neutral',
  output: { dir: 'dist/bundle', format: 'esm', sourcemap: true, cleanDir: true, banner: bundledLicences },
});

/** What packages without dependencies take a copy of. */
const alone = defineConfig({
  input: { scoped: 'dist/scoped.js' },
  platform: 'neutral',
  output: { dir: 'dist/scoped', format: 'esm', cleanDir: true },
});

export default [bundle, alone];
