import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importsContract } from '@memoryd/suites';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openEngine } from './open-engine.ts';

const QUIET = { embedder: 'none', consolidationIntervalSeconds: 0 };
const newFolder = () => mkdtempSync(join(tmpdir(), 'memoryd-imports-'));

describe('imports into a file', () => {
  importsContract(async (clock) => {
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

  it('an import that another process undoes while it runs is refused, and leaves no memories', async () => {
    const folder = newFolder();
    const engines = [
      await openEngine(join(folder, 'memory.db'), QUIET),
      await openEngine(join(folder, 'memory.db'), QUIET),
    ];
    onTestFinished(async () => {
      for (const engine of engines) await engine.close();
      rmSync(folder, { recursive: true });
    });
    const [memory, other] = engines.map((engine) => engine.namespace('default'));
    if (!memory || !other) return expect.unreachable();
    // More than one chunk before the undo, and one after it.
    const texts = async function* () {
      for (let i = 0; i < 900; i++) {
        if (i === 600) {
          const [running] = (await other.imports()).imports;
          await expect.poll(async () => (await other.imports()).imports[0]?.memory_count).toBe(512);
          expect(await other.undoImport(running?.id as string)).toMatchObject({ forgotten_count: 512 });
        }
        yield { external_id: `${i}`, content: `text ${i}` };
      }
    };
    const importing = memory.importTexts(texts(), { from: 'csv', content_key: 'k' });
    await expect(importing).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('undone') });
    expect(await memory.stats()).toMatchObject({ working_count: 0 });
    expect(await memory.imports()).toMatchObject({ imports: [], total: 0 });
  });
});
