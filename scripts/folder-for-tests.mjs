import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PREFIX = 'memoryd-tests-';
const COMPILED_CODE = fileURLToPath(new URL('../node_modules/.cache/compiled-code', import.meta.url));

/**
 * Gives all tests of a run one folder for temporary files, and takes it away in the end: whatever they, or the programs that
 * they start, leave there. Some make folders as they are read, and are then left out.
 */
export default function folderForTests() {
  // Every process and thread that tests start compiles the same code. Processes write it as they end, which may be after
  // the folder was taken away.
  process.env.NODE_COMPILE_CACHE = COMPILED_CODE;
  // Every project of a run calls this; a folder in a folder would make paths of sockets too long.
  if (basename(tmpdir()).startsWith(PREFIX)) return undefined;
  const folder = mkdtempSync(join(tmpdir(), PREFIX));
  // For programs that tests run as another user.
  chmodSync(folder, 0o755);
  process.env.TMPDIR = folder;
  // Processes that end meanwhile may still take files away themselves.
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
