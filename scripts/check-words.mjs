// Checks the names, comments, test titles and lint messages in all source files. Prints each refused word, and exits with
// 1 if there is any.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { findRefusedWords, findRefusedWordsOfJson, findRefusedWordsOfPython } from './words.mjs';

/** Reads the files that match Git patterns, and returns the words that a check refuses. */
function check(find, ...patterns) {
  const files = execFileSync('git', ['ls-files', '-z', ...patterns], { encoding: 'utf8' });
  return files
    .split('\0')
    .filter((file) => file !== '')
    .flatMap((file) => find(file, readFileSync(file, 'utf8')));
}

const found = [
  ...check(findRefusedWords, '*.ts', '*.tsx', '*.mts', '*.mjs', '*.js'),
  // Without the models, which are generated from the descriptions of the contract.
  ...check(findRefusedWordsOfPython, '*.py', ':!clients/python/src/memoryd/models.py'),
  ...check(findRefusedWordsOfJson, 'biome.json'),
];
for (const sentence of found) process.stderr.write(`${sentence}\n`);
process.exitCode = found.length > 0 ? 1 : 0;
