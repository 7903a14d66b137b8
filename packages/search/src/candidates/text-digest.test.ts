import { describe, expect, it } from 'vitest';
import { firstEqual, textDigest } from './digests.ts';

describe('textDigest', () => {
  it.each([
    ['composed and decomposed accents', 'caf\u00e9', 'cafe\u0301'],
    ['surrounding white space', '\n caf\u00e9\t', 'caf\u00e9'],
  ])('textDigest ignores %s', (_name, one, other) => {
    expect(textDigest(one)).toEqual(textDigest(other));
  });

  it.each([
    ['case', 'Cafe', 'cafe'],
    ['inner white space', 'a b', 'a  b'],
    ['compatibility forms', '\ufb01ne', 'fine'],
  ])('textDigest distinguishes %s', (_name, one, other) => {
    expect(textDigest(one)).not.toEqual(textDigest(other));
  });

  it('hashes a megabyte of combining marks', () => {
    const marks = '\u0301\u0323'.repeat(500_000);
    expect(textDigest(marks)).toEqual(textDigest(marks));
    expect(textDigest(marks)).not.toEqual(textDigest(`${marks}\u0301`));
  });
});

describe('firstEqual', () => {
  it('returns for each digest the index of its first occurrence', () => {
    expect([...firstEqual(['a', 'b', 'a', 'c', 'b', 'a'])]).toEqual([0, 1, 0, 3, 1, 0]);
  });
});
