import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { changesContract } from '@memoryd/suites';
import { describe } from 'vitest';
import { openEngine } from './open-engine.ts';

const QUIET = { embedder: 'none', consolidationIntervalSeconds: 0 };
const newFolder = () => mkdtempSync(join(tmpdir(), 'memoryd-changes-'));

describe('changes of many memories in a file', () => {
  changesContract(async (clock) => {
    const folder = newFolder();
    const engine = await openEngine(join(folder, 'memory.db'), { ...QUIET, clock });
    return {
      memory: engine.namespace('default'),
      async close() {
        await engine.close();
        rmSync(folder, { recursive: true });
      },
    };
  });
});
