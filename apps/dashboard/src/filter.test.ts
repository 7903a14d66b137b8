import { describe, expect, it } from 'vitest';
import {
  getInputError,
  parseCondition,
  parseConditions,
  parseFilter,
  withCondition,
  withoutCondition,
} from './filter.ts';

const params = (text: string) => new URLSearchParams(text);

describe('the filters in the address', () => {
  it('the filters in the address are parsed from the filter parameters; other parameters are ignored', () => {
    expect(parseFilter(params('tag=a&tag=b&tier=working&source=&query=x&top_k=5&metadata.room=kitchen'))).toEqual({
      tag: ['a', 'b'],
      tier: 'working',
      source: '',
      metadata: { room: 'kitchen' },
    });
    expect(parseFilter(params('query=x'))).toEqual({});
    // A plain object would treat this key as its prototype.
    expect(Object.entries(parseFilter(params('metadata.__proto__=x')).metadata ?? {})).toEqual([['__proto__', 'x']]);
  });

  it('the filters in the address leave out values, and ask for facts that ended by a time', () => {
    const at = '2026-10-01T00:00:00.000Z';
    expect(parseFilter(params(`not.tag=a&not.tag=b&not.metadata.floor=2&ended=${at}&tag=c`))).toEqual({
      tag: ['c'],
      filter: { tag: { $nin: ['a', 'b'] }, 'metadata.floor': { $nin: ['2', 2] }, valid_to: { $lte: at } },
    });
    expect(parseFilter(params('current=true'))).toEqual({ current: true });
  });

  it('the filters in the address contain each added tag once, and only the last value of any other field', () => {
    const filtered = ['tag=a', 'tag=b', 'tag=a', 'tier=working', 'tier=semantic'].reduce((address, condition) => {
      const [name = '', value = ''] = condition.split('=');
      return withCondition(address, { name, value });
    }, params('query=x'));
    expect(parseConditions(filtered)).toEqual([
      { name: 'tag', value: 'b' },
      { name: 'tag', value: 'a' },
      { name: 'tier', value: 'semantic' },
    ]);
  });

  it('the filters in the address ask either for the present or for a time', () => {
    const at = '2026-10-01T00:00:00.000Z';
    expect(withCondition(params(`as_of=${at}`), { name: 'current', value: 'true' }).toString()).toBe('current=true');
    const filtered = withCondition(params('current=true'), { name: 'as_of', value: at });
    expect(parseConditions(filtered)).toEqual([{ name: 'as_of', value: at }]);
  });

  it('the filters in the address can be removed one at a time without changing the query', () => {
    const filtered = withoutCondition(params('query=x&tag=a&tag=b'), { name: 'tag', value: 'a' });
    expect(filtered.toString()).toBe('query=x&tag=b');
  });
});

describe('the form that adds a filter', () => {
  it.each([
    ['tag', ' family ', { name: 'tag', value: 'family' }],
    ['metadata', 'room = kitchen=big', { name: 'metadata.room', value: 'kitchen=big' }],
    ['metadata', 'room', undefined],
    ['source', '  ', undefined],
    ['current', 'true', { name: 'current', value: 'true' }],
    ['current', 'ended', { name: 'ended', value: expect.stringMatching(/^20/) }],
    ['since', '2026-02-01T10:30', { name: 'since', value: new Date(2026, 1, 1, 10, 30).toISOString() }],
  ] as const)('parses the field %s with the input %j', (field, typed, expected) => {
    expect(parseCondition(field, typed)).toEqual(expected);
  });

  it('reports an error with an example only for metadata without a value', () => {
    expect(getInputError('metadata', 'room')).toBe(
      'Metadata must be a field, an equals sign and a value, such as room=kitchen.',
    );
    expect([getInputError('metadata', 'room=kitchen'), getInputError('tag', 'room')]).toEqual([undefined, undefined]);
  });
});
