import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Gives all tests of a run one folder for temporary files, and takes it away in the end: whatever they, or the programs that
 * they start, leave there. Some make folders as they are read, and are then left out.
 */
export default function folderForTests() {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-tests-'));
  // For programs that tests run as another user.
  chmodSync(folder, 0o755);
  process.env.TMPDIR = folder;
  // Processes that end meanwhile may still take files away themselves.
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
