import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MEMORY_API_READERS, whatHoldsContract } from '@memoryd/suites';
import { afterAll, describe } from 'vitest';
import { openMemory } from './open-memory.ts';

const QUIET = { embedder: 'none', consolidationIntervalSeconds: 0 };

describe.each([0, 2])('memory in a file, after %i consolidation runs', (runs) => {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-holds-'));
  const path = join(folder, 'memory.db');
  afterAll(() => rmSync(folder, { recursive: true }));
  whatHoldsContract({
    open: (settings) => openMemory(path, { ...QUIET, ...settings }),
    async connect() {
      const memory = await openMemory(path, QUIET);
      return { connection: { memory }, close: () => memory.close() };
    },
    readers: MEMORY_API_READERS,
    runs,
  });
});
