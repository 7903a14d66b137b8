import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Gives `use` the path of an empty folder and removes it afterwards, also when `use` fails or the process exits. It
 * is made in the system's folder for temporary files, which the environment variable TMPDIR names.
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
