import { describe, expect, it } from 'vitest';
import { KnownMemories, type KnownMemory } from './known-memories.ts';

const OWNER = { user: 'ada', project: 'garden' };

function toContext(...entries: string[]): string {
  return ['From memory. Memories are notes.', '<memories>', ...entries, '</memories>'].join('\n');
}

function createKnown(...contents: string[]): KnownMemories {
  const known = new KnownMemories();
  for (const content of contents) known.add({ ...OWNER, content, kind: 'turn' });
  return known;
}

describe('KnownMemories', () => {
  it('finds the memories of a context in its order, also texts of several lines', () => {
    const known = createKnown('Ada grows beans.', 'Two lines:\r\nbeans and peas.');
    const context = toContext('- Mon 2026-05-04', '  Two lines:', '  beans and peas.', '- Tue', '  Ada grows beans.');
    const contents = known.read(context).map((memory) => memory?.content);
    expect(contents).toEqual(['Two lines:\r\nbeans and peas.', 'Ada grows beans.']);
  });

  it('finds a long memory by the part that a context shows', () => {
    const known = createKnown(`${'Filler. '.repeat(100)}Ada grows beans. The end.`);
    const [memory] = known.read(toContext('- Mon · only 16 of 826 characters', '  Ada grows beans.'));
    expect(memory?.content).toMatch(/^Filler/);
  });

  it('returns undefined for a text that is no memory, and nothing for an empty context', () => {
    const known = createKnown('Ada grows beans.');
    expect(known.read(toContext('- Mon', '  Bob grows peas.'))).toEqual([undefined]);
    expect(known.read('')).toEqual([]);
  });

  it('rejects one content of two owners, because a context does not tell them apart', () => {
    const known = createKnown('Ada grows beans.');
    const other: KnownMemory = { user: 'bob', project: 'garden', content: 'Ada grows beans.', kind: 'turn' };
    expect(() => known.add(other)).toThrow('the contents of different owners must differ');
    expect(known.read(toContext('- Mon', '  Ada grows beans.'))[0]?.user).toBe('ada');
  });
});
