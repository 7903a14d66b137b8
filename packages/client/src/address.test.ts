import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pathTo, queryString } from './address.ts';

const text = fc.string({ unit: 'grapheme', minLength: 1 });

describe('a path', () => {
  it('names any id, whatever stands in it', () => {
    fc.assert(
      fc.property(
        text.filter((id) => !/^\.{1,2}$/.test(id)),
        (id) => {
          const { pathname, search, hash } = new URL(`http://service${pathTo('/memories/{memory_id}/history', id)}`);
          const [, memories, segment = '', history, ...rest] = pathname.split('/');
          expect([memories, decodeURIComponent(segment), history, ...rest]).toEqual(['memories', id, 'history']);
          expect(search + hash).toBe('');
        },
      ),
    );
  });

  it.each(['', '.', '..', 'half \ud800'])('there is none for what no URL can name (%#)', (id) => {
    expect(pathTo('/memories/{memory_id}', id)).toBeUndefined();
  });
});

describe('a query string', () => {
  it('brings every text across', () => {
    fc.assert(
      fc.property(text, fc.array(text, { minLength: 1 }), fc.dictionary(text, text), (query, tag, metadata) => {
        const { searchParams } = new URL(`http://service/${queryString({ query, tag, metadata })}`);
        expect(searchParams.get('query')).toBe(query);
        expect(searchParams.getAll('tag')).toEqual(tag);
        for (const [key, value] of Object.entries(metadata)) expect(searchParams.get(`metadata.${key}`)).toBe(value);
      }),
    );
  });

  it('writes every number from 0 to 1 in plain decimals, near enough', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (min_score) => {
        const written = queryString({ min_score }).slice('?min_score='.length);
        expect(written).toMatch(/^(0|[1-9][0-9]*)(\.[0-9]+)?$/);
        expect(Math.abs(Number(written) - min_score)).toBeLessThan(1e-19);
      }),
    );
  });

  it('is nothing where nothing is asked, and says so of an empty list', () => {
    expect(queryString({})).toBe('');
    expect(queryString({ tag: undefined })).toBe('');
    expect(queryString({ tag: [] })).toBe('?tag=');
  });

  it('refuses what UTF-8 does not have, naming the field', () => {
    expect(() => queryString({ query: 'half \ud800' })).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST', details: [expect.objectContaining({ path: '/query' })] }),
    );
  });
});
