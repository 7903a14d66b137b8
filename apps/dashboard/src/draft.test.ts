import type { Memory } from '@memoryd/client';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  findRepeatedName,
  formatMetadata,
  formatTags,
  getChange,
  parseMetadata,
  parseTags,
  rebaseDraft,
  toDraft,
  toLocalTime,
} from './draft.ts';

const getMemory = (fields: Partial<Memory>): Memory =>
  ({
    ...{ content: 'Dinner is at seven', tags: ['home'], importance: 0.5, metadata: {} },
    ...{ valid_from: null, valid_to: null, expires_at: null, ...fields },
  }) as Memory;

describe('parseTags', () => {
  it('parses the output of formatTags to the same tags', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1, unit: 'grapheme' })), (tags) => {
        expect(parseTags(formatTags(tags))).toEqual(tags);
      }),
    );
    for (const tags of [
      ['x, y', 'z'],
      ['"', 'a"b', '"q",'],
      [' ', 'a\nb'],
      ['\\', '\\",'],
    ]) {
      expect(parseTags(formatTags(tags))).toEqual(tags);
    }
  });

  it('parses typed text with extra spaces, empty tags and quotes', () => {
    expect(parseTags(' house,keys ,, "one, and two" , "open')).toEqual(['house', 'keys', 'one, and two', '"open']);
  });
});

describe('a draft of a memory', () => {
  it('changes only the edited fields', () => {
    const base = getMemory({ tags: ['x, y', ' spaced'] });
    expect(getChange(base, toDraft(base))).toBeUndefined();
    expect(getChange(base, { ...toDraft(base), content: 'nine' })).toEqual({ content: 'nine' });
    expect(getChange(base, { ...toDraft(base), tags: '', importance: '1' })).toEqual({ tags: [], importance: 1 });
  });

  it('changes times and metadata, and keeps the values of other fields', () => {
    const base = getMemory({ metadata: { a: 'x', b: { c: [1] } }, valid_to: '2026-03-04T05:06:07.890Z' });
    const draft = toDraft(base);
    expect(draft.valid_from).toBe('');
    const edited = formatMetadata([...parseMetadata(draft.metadata).slice(1), ['d', 'y']]);
    const change = getChange(base, { ...draft, valid_from: toLocalTime('2026-01-02T03:04:05Z'), metadata: edited });
    expect(change).toEqual({ valid_from: '2026-01-02T03:04:05.000Z', metadata: { b: { c: [1] }, d: 'y' } });
    expect(getChange(base, { ...draft, valid_to: '' })).toEqual({ valid_to: null });
  });

  it('names a metadata field that occurs twice', () => {
    const draft = toDraft(getMemory({ metadata: { a: 'x' } }));
    expect(findRepeatedName(draft)).toBeUndefined();
    expect(findRepeatedName({ ...draft, metadata: '[["a","x"],["b",1],["a",""]]' })).toBe('a');
  });

  it('preserves CR and CRLF in unedited lines, although the form field returns only LF', () => {
    const changed = (content: string, write: (typed: string) => string) => {
      const base = getMemory({ content });
      const draft = toDraft(base);
      return getChange(base, { ...draft, content: write(draft.content) })?.content;
    };
    expect(toDraft(getMemory({ content: 'a\r\nb\rc\nd' })).content).toBe('a\nb\nc\nd');
    expect(changed('a\r\nb\rc\n', (typed) => typed)).toBeUndefined();
    expect(changed('a\r\nb\r\nc', (typed) => typed.replace('b', 'x\ny'))).toBe('a\r\nx\r\ny\r\nc');
    expect(changed('a\nb\r\nc\r\n', (typed) => typed.replace('a', 'x'))).toBe('x\nb\r\nc\r\n');
    expect(changed('a\r\nb', (typed) => `${typed}\nc`)).toBe('a\r\nb\r\nc');
    expect(changed('a\r\nb', () => '')).toBe('');
    const ended = fc.array(fc.constantFrom('a', 'b', '\r', '\n', '\r\n')).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(ended, fc.array(fc.constantFrom('a', '\n')), (content, pieces) => {
        const typed = pieces.join('');
        const sent = changed(content, () => typed) ?? content;
        expect(sent.replace(/\r\n?/g, '\n')).toBe(typed);
      }),
    );
  });

  it('adopts concurrent changes to fields that are not edited in the draft', () => {
    const base = getMemory({});
    const theirs = getMemory({ content: 'Dinner is at eight', tags: ['theirs'], importance: 0.9 });
    const onText = rebaseDraft({ ...toDraft(base), content: 'Dinner is at nine' }, toDraft(base), theirs);
    expect(getChange(theirs, onText)).toEqual({ content: 'Dinner is at nine' });
    const onRest = rebaseDraft({ ...toDraft(base), tags: 'mine', importance: '0.1' }, toDraft(base), theirs);
    expect(getChange(theirs, onRest)).toEqual({ tags: ['mine'], importance: 0.1 });
  });
});
