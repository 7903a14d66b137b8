import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PREFIX = 'memoryd-tests-';
const COMPILED_CODE = fileURLToPath(new URL('../node_modules/.cache/compiled-code', import.meta.url));

/**
 * Gives all tests of a run one temporary folder and removes it at the end with everything that tests and their child
 * processes left there. Some test files create folders when they are loaded, even if their tests are skipped.
 */
export default function folderForTests() {
  // All processes and threads of the tests compile the same code. The cache is outside the folder, since processes
  // write it on exit, possibly after the folder was removed.
  process.env.NODE_COMPILE_CACHE = COMPILED_CODE;
  // Vitest calls this function once per project. A nested folder would make socket paths too long.
  if (basename(tmpdir()).startsWith(PREFIX)) return undefined;
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  // Lets child processes that run as another user read the folder.
  chmodSync(folder, 0o755);
  process.env.TMPDIR = folder;
  // Retries, because exiting processes may still create or remove files in the folder.
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
