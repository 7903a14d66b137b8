import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { MIGRATIONS } from '@memoryd/sqlite/testing';
import { fillFile } from './filled-file.fixture.ts';

/* Writes a compressed file of the current schema and its contents. Run it once before adding a migration. */

const name = fileURLToPath(new URL(`../../fixtures/schema-${MIGRATIONS.length}`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'memoryd-'));
try {
  const path = join(folder, 'memory.db');
  const filled = await fillFile(path);
  writeFileSync(`${name}.db.gz`, gzipSync(readFileSync(path), { level: 9 }));
  writeFileSync(`${name}.json`, `${JSON.stringify(filled, null, 1)}\n`);
} finally {
  rmSync(folder, { recursive: true });
}
