import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'rolldown';

const license = fileURLToPath(new URL('../license', import.meta.resolve('typebox')));

/** See src/typebox.ts. */
export default defineConfig({
  input: 'src/typebox.ts',
  platform: 'neutral',
  output: { file: 'dist/typebox.js', format: 'esm', banner: `/*!\nTypeBox\n${readFileSync(license, 'utf8')}*/` },
});
