import { defineConfig } from 'rolldown';
import { getBundledLicenses } from '../../scripts/bundled-licences.mjs';

/** Bundles the package and TypeBox (see src/typebox.ts) into few files, because loading each file costs almost 1 ms. */
const bundle = defineConfig({
  input: {
    ...{ index: 'dist/index.js', errors: 'dist/errors.js', limits: 'dist/limits.js' },
    ...{ tools: 'dist/tools/index.js', typebox: 'dist/typebox.js' },
  },
  platform: 'neutral',
  output: { dir: 'dist/bundle', format: 'esm', sourcemap: true, cleanDir: true, banner: getBundledLicenses },
});

/** Modules without TypeBox, for packages and pages that must stay small. */
const standalone = defineConfig({
  input: {
    ...{ 'current-recall': 'dist/current-recall.js', scoped: 'dist/scoped.js' },
    ...{
      'score-words': 'dist/score-words.js',
      'time-zone': 'dist/time-zone.js',
      'token-estimate': 'dist/token-estimate.js',
    },
  },
  platform: 'neutral',
  output: { dir: 'dist/scoped', format: 'esm', cleanDir: true },
});

export default [bundle, standalone];
