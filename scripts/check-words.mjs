// Checks the names and comments in all source files. Prints each refused word, and exits with 1 if there is any.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { findRefusedWords } from './words.mjs';

const files = execFileSync('git', ['ls-files', '-z', '*.ts', '*.tsx', '*.mts', '*.mjs'], { encoding: 'utf8' });
const found = files
  .split('\0')
  .filter((file) => file !== '')
  .flatMap((file) => findRefusedWords(file, readFileSync(file, 'utf8')));
for (const sentence of found) process.stderr.write(`${sentence}\n`);
process.exitCode = found.length > 0 ? 1 : 0;
