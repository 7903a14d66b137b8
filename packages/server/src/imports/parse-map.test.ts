import { describe, expect, it } from 'vitest';
import { parseMap } from './parse-map.ts';

describe('parseMap', () => {
  it('returns the column for each field, whose name may have spaces and equals signs', () => {
    expect(parseMap('content=the text, created_at = sent=at ,tags=Ämter')).toEqual({
      ...{ content: 'the text', created_at: 'sent=at', tags: 'Ämter' },
    });
  });

  it.each([
    ['a pair without an equals sign', 'content', /not "content"/],
    ['a pair without a field', 'content=a,=b', /not "=b"/],
    ['a pair without a column', 'content=', /not "content="/],
    ['an empty pair', 'content=a,,tags=b', /not ""/],
    ['a field twice', 'content=a,content=b', /"content" is given twice/],
  ])('refuses %s', (_name, text, message) => {
    expect(() => parseMap(text)).toThrow(message);
  });
});
