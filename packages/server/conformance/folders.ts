import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** Creates an empty temporary folder and removes it after the test file. */
export function createTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-conformance-'));
  folders.push(folder);
  return folder;
}
