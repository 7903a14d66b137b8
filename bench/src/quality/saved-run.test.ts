import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withTemporaryFolder } from '../temporary-folder.ts';
import { scoreRanking } from './metrics.ts';
import { readSavedRun, saveRun } from './saved-run.ts';

describe('a saved run', () => {
  const question = { set: 'set', store: 'a', id: 'q1', category: 'who', ...scoreRanking(['x', 'a'], new Set(['a'])) };

  it('a saved run is the same when it is read back', () =>
    withTemporaryFolder(async (folder) => {
      const path = join(folder, 'run.jsonl');
      saveRun(path, [question, { ...question, id: 'q2' }]);
      expect(readSavedRun(path)).toEqual([question, { ...question, id: 'q2' }]);
    }));

  it.each([
    ['lacks a score', JSON.stringify({ ...question, MRR: undefined })],
    ['is not JSON', '{"set":'],
    ['is not an object', 'null'],
  ])('a saved run is rejected if a line %s', (_row, line) =>
    withTemporaryFolder(async (folder) => {
      const path = join(folder, 'run.jsonl');
      writeFileSync(path, `${line}\n`);
      expect(() => readSavedRun(path)).toThrow('run.jsonl:1 must be a line that --save of this version wrote');
    }),
  );
});
