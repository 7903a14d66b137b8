// Checks the words of all source files, and prints each that is refused.
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
