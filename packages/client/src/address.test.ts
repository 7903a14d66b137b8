import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toPath, toQueryString } from './address.ts';

const text = fc.string({ unit: 'grapheme', minLength: 1 });

describe('toPath', () => {
  it('encodes any id so that it decodes to the same id', () => {
    fc.assert(
      fc.property(
        text.filter((id) => !/^\.{1,2}$/.test(id)),
        (id) => {
          const { pathname, search, hash } = new URL(`http://service${toPath('/memories/{memory_id}/history', id)}`);
          const [, memories, segment = '', history, ...rest] = pathname.split('/');
          expect([memories, decodeURIComponent(segment), history, ...rest]).toEqual(['memories', id, 'history']);
          expect(search + hash).toBe('');
        },
      ),
    );
  });

  it.each(['', '.', '..', 'half \ud800', undefined])('finds nothing for an id that no URL can contain (%#)', (id) => {
    expect(() => toPath('/memories/{memory_id}', id)).toThrow(expect.objectContaining({ code: 'NOT_FOUND' }));
    expect(() => toPath('/session/{session_id}', id)).toThrow(expect.objectContaining({ code: 'INVALID_REQUEST' }));
  });
});

describe('toQueryString', () => {
  it('encodes any text so that it decodes to the same text', () => {
    fc.assert(
      fc.property(text, fc.array(text, { minLength: 1 }), fc.dictionary(text, text), (query, tag, metadata) => {
        const { searchParams } = new URL(`http://service/${toQueryString({ query, tag, metadata })}`);
        expect(searchParams.get('query')).toBe(query);
        expect(searchParams.getAll('tag')).toEqual(tag);
        for (const [key, value] of Object.entries(metadata)) expect(searchParams.get(`metadata.${key}`)).toBe(value);
      }),
    );
  });

  it('encodes numbers from 0 to 1 as plain decimals', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (min_score) => {
        const written = toQueryString({ min_score }).slice('?min_score='.length);
        expect(written).toMatch(/^(0|[1-9][0-9]*)(\.[0-9]+)?$/);
        expect(Math.abs(Number(written) - min_score)).toBeLessThan(1e-19);
      }),
    );
  });

  it('returns an empty string for an empty request', () => {
    expect(toQueryString({})).toBe('');
    expect(toQueryString({ tag: undefined })).toBe('');
  });

  it.each([
    { tag: [] },
    { tag: ['a', ''] },
    { tag: null },
    { user_id: null },
    { session_id: '' },
    { metadata: { room: '' } },
    { metadata: { room: null } },
  ])('rejects %j, because the service would treat the parameter as absent', (request) => {
    expect(() => toQueryString(request)).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST', message: expect.stringMatching(/must not be null or empty/) }),
    );
  });

  it('rejects lone surrogates with the path of the field', () => {
    expect(() => toQueryString({ query: 'half \ud800' })).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST', details: [expect.objectContaining({ path: '/query' })] }),
    );
  });
});
