import { describe, expect, it } from 'vitest';
import { UsageError } from '../usage-error.ts';
import { parseMap } from './import-map.ts';

describe('--map', () => {
  it.each([
    { values: [], map: {} },
    { values: ['content=text,created_at=date'], map: { content: 'text', created_at: 'date' } },
    { values: ['content=text', 'tags=labels'], map: { content: 'text', tags: 'labels' } },
    // The names of columns are any text.
    {
      values: ['content=Said, in full,created_at=When (UTC)'],
      map: { content: 'Said, in full', created_at: 'When (UTC)' },
    },
    { values: ['content=a=b'], map: { content: 'a=b' } },
    { values: ['content=内容,tags=मत'], map: { content: '内容', tags: 'मत' } },
  ])('--map $values gives fields their columns', ({ values, map }) => {
    expect(parseMap(values)).toEqual(map);
  });

  it.each([['content'], ['=text'], ['content='], [''], ['Content=text']])('--map refuses the pair "%s"', (value) => {
    expect(() => parseMap([value])).toThrow(UsageError);
  });

  it('--map refuses a field that is given twice', () => {
    expect(() => parseMap(['content=a', 'content=b'])).toThrow('--map must have the field content only once');
  });

  it('--map keeps a field that is named as a property of all objects', () => {
    expect(Object.entries(parseMap(['__proto__=a']))).toEqual([['__proto__', 'a']]);
  });
});
