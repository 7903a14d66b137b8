import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importsContract } from '@memoryd/suites';
import { describe } from 'vitest';
import { openEngine } from './open-engine.ts';

describe('imports into a file', () => {
  importsContract(async (clock) => {
    const folder = mkdtempSync(join(tmpdir(), 'memoryd-imports-'));
    const options = { embedder: 'none', consolidationIntervalSeconds: 0, clock };
    const engine = await openEngine(join(folder, 'memory.db'), options);
    return {
      memory: engine.namespace('default'),
      async close() {
        await engine.close();
        rmSync(folder, { recursive: true });
      },
    };
  });
});
