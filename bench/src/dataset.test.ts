import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { getContent, readDatasets } from './dataset.ts';
import { withTemporaryFolder } from './temporary-folder.ts';

const turnLine = '{"id":"t1","text":"Hello.","session":"s1","timestamp":"2024-01-01T00:00:00Z","speaker":"Ann"}';
const questionLine = '{"id":"q1","text":"Who greets?","category":"who","relevant":["t1"]}';

function writeStore(folder: string, corpus: string, queries: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'corpus.jsonl'), corpus);
  writeFileSync(join(folder, 'queries.jsonl'), queries);
}

describe('readDatasets', () => {
  it('reads one store, one set of stores, or all sets in a folder', () =>
    withTemporaryFolder(async (folder) => {
      for (const path of ['one/a', 'one/b', 'two/c']) writeStore(join(folder, path), turnLine, `${questionLine}\n`);
      const names = (path: string): string[] =>
        readDatasets(join(folder, path)).flatMap((set) => set.stores.map((store) => `${set.name}/${store.name}`));
      expect(names('one/a')).toEqual(['one/a']);
      expect(names('one')).toEqual(['one/a', 'one/b']);
      expect(names('.')).toEqual(['one/a', 'one/b', 'two/c']);
    }));

  it('limits the number of stores per set', () =>
    withTemporaryFolder(async (folder) => {
      for (const path of ['one/b', 'one/a', 'two/c']) writeStore(join(folder, path), turnLine, questionLine);
      const stores = readDatasets(folder, 1).flatMap((set) => set.stores.map(({ name }) => name));
      expect(stores).toEqual(['a', 'c']);
    }));

  it('returns null for a missing session, timestamp or speaker', () =>
    withTemporaryFolder(async (folder) => {
      writeStore(join(folder, 'set/store'), '{"id":"t1","text":"Hello.","speaker":null}', questionLine);
      const turn = readDatasets(folder)[0]?.stores[0]?.turns[0];
      expect(turn).toEqual({ id: 't1', text: 'Hello.', session: null, timestamp: null, speaker: null });
    }));

  it('reads when a question was asked, by the number of turns and by time', () =>
    withTemporaryFolder(async (folder) => {
      const later =
        '{"id":"q2","text":"Who?","category":"who","relevant":["t1"],"at":1,"asked_at":"2024-01-02T00:00:00Z"}';
      writeStore(join(folder, 'set/store'), turnLine, `${questionLine}\n${later}`);
      expect(readDatasets(folder)[0]?.stores[0]?.questions).toMatchObject([
        { id: 'q1', at: null, askedAt: null },
        { id: 'q2', at: 1, askedAt: '2024-01-02T00:00:00Z' },
      ]);
    }));

  it('throws an error with the file, line and field of an invalid value', () =>
    withTemporaryFolder(async (folder) => {
      writeStore(join(folder, 'set/store'), turnLine, `${questionLine}\n{"id":"q2","text":"Who?","category":"who"}`);
      expect(() => readDatasets(folder)).toThrow('queries.jsonl:2: relevant must be an array of strings');
    }));

  it('throws if the folder contains no store', () =>
    withTemporaryFolder(async (folder) => {
      expect(() => readDatasets(folder)).toThrow('must contain a folder');
    }));
});

describe('getContent', () => {
  it('prefixes the text with the name of the speaker if it is known', () => {
    const turn = { id: 't', text: 'Hello.', session: null, timestamp: null };
    expect(getContent({ ...turn, speaker: 'Ann' })).toBe('Ann: Hello.');
    expect(getContent({ ...turn, speaker: null })).toBe('Hello.');
  });
});
