import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Calls `use` with the path of a new empty folder, and removes the folder afterwards, even if `use` fails or the
 * process exits. The folder is created in the system's temporary folder (`TMPDIR`).
 */
export async function withTemporaryFolder<T>(use: (path: string) => Promise<T>): Promise<T> {
  const path = mkdtempSync(join(tmpdir(), 'memoryd-bench-'));
  const remove = (): void => rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  process.once('exit', remove);
  try {
    return await use(path);
  } finally {
    process.off('exit', remove);
    remove();
  }
}
