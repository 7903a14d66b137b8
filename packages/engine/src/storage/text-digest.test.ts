import { describe, expect, it } from 'vitest';
import { firstEqual, textDigest } from './digests.ts';

describe('the digest of a text', () => {
  it.each([
    ['composed and decomposed accents', 'caf\u00e9', 'cafe\u0301'],
    ['white space around it', '\n caf\u00e9\t', 'caf\u00e9'],
  ])('is the same for %s', (_name, one, other) => {
    expect(textDigest(one)).toEqual(textDigest(other));
  });

  it.each([
    ['case', 'Cafe', 'cafe'],
    ['white space inside', 'a b', 'a  b'],
    ['compatibility forms', '\ufb01ne', 'fine'],
  ])('differs by %s', (_name, one, other) => {
    expect(textDigest(one)).not.toEqual(textDigest(other));
  });

  it('is made of a megabyte of combining marks too', () => {
    const marks = '\u0301\u0323'.repeat(500_000);
    expect(textDigest(marks)).toEqual(textDigest(marks));
    expect(textDigest(marks)).not.toEqual(textDigest(`${marks}\u0301`));
  });
});

describe('equal digests', () => {
  it('are told by the place of the first', () => {
    expect([...firstEqual(['a', 'b', 'a', 'c', 'b', 'a'])]).toEqual([0, 1, 0, 3, 1, 0]);
  });
});
