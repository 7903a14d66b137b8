import type { Memory } from '@memoryd/client';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changeOf, draftOf, readTags, rebased, writtenTags } from './draft.ts';

const memoryOf = (fields: Partial<Memory>): Memory =>
  ({ content: 'Dinner is at seven', tags: ['home'], importance: 0.5, ...fields }) as Memory;

describe('tags as a line', () => {
  it('are read as they were written, whatever they hold', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1, unit: 'grapheme' })), (tags) => {
        expect(readTags(writtenTags(tags))).toEqual(tags);
      }),
    );
    for (const tags of [
      ['x, y', 'z'],
      ['"', 'a"b', '"q",'],
      [' ', 'a\nb'],
      ['\\', '\\",'],
    ]) {
      expect(readTags(writtenTags(tags))).toEqual(tags);
    }
  });

  it('are read as people write them', () => {
    expect(readTags(' house,keys ,, "one, and two" , "open')).toEqual(['house', 'keys', 'one, and two', '"open']);
  });
});

describe('a draft', () => {
  it('changes only what was written otherwise', () => {
    const base = memoryOf({ tags: ['x, y', ' spaced'] });
    expect(changeOf(base, draftOf(base))).toBeUndefined();
    expect(changeOf(base, { ...draftOf(base), content: 'nine' })).toEqual({ content: 'nine' });
    expect(changeOf(base, { ...draftOf(base), tags: '', importance: '1' })).toEqual({ tags: [], importance: 1 });
  });

  it('takes over what others changed, but for what it changes itself', () => {
    const base = memoryOf({});
    const theirs = memoryOf({ content: 'Dinner is at eight', tags: ['theirs'], importance: 0.9 });
    const onText = rebased({ ...draftOf(base), content: 'Dinner is at nine' }, base, theirs);
    expect(changeOf(theirs, onText)).toEqual({ content: 'Dinner is at nine' });
    const onRest = rebased({ ...draftOf(base), tags: 'mine', importance: '0.1' }, base, theirs);
    expect(changeOf(theirs, onRest)).toEqual({ tags: ['mine'], importance: 0.1 });
  });
});
