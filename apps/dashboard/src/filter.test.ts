import { describe, expect, it } from 'vitest';
import { getRefusal, parseCondition, parseConditions, parseFilter, withCondition, withoutCondition } from './filter.ts';

const asked = (text: string) => new URLSearchParams(text);

describe('the filters of an address', () => {
  it('are those that the service knows, and nothing else', () => {
    expect(parseFilter(asked('tag=a&tag=b&tier=working&source=&query=x&top_k=5&metadata.room=kitchen'))).toEqual({
      tag: ['a', 'b'],
      tier: 'working',
      source: '',
      metadata: { room: 'kitchen' },
    });
    expect(parseFilter(asked('query=x'))).toEqual({});
    // A key that a plain object would take for something else.
    expect(Object.entries(parseFilter(asked('metadata.__proto__=x')).metadata ?? {})).toEqual([['__proto__', 'x']]);
  });

  it('hold several tags, and one of everything else', () => {
    const wider = ['tag=a', 'tag=b', 'tag=a', 'tier=working', 'tier=semantic'].reduce((address, condition) => {
      const [name = '', value = ''] = condition.split('=');
      return withCondition(address, { name, value });
    }, asked('query=x'));
    expect(parseConditions(wider)).toEqual([
      { name: 'tag', value: 'b' },
      { name: 'tag', value: 'a' },
      { name: 'tier', value: 'semantic' },
    ]);
  });

  it('are taken away one by one, and leave what is asked', () => {
    const narrower = withoutCondition(asked('query=x&tag=a&tag=b'), { name: 'tag', value: 'a' });
    expect(narrower.toString()).toBe('query=x&tag=b');
  });

  it.each([
    ['tag', ' family ', { name: 'tag', value: 'family' }],
    ['metadata', 'room = kitchen=big', { name: 'metadata.room', value: 'kitchen=big' }],
    ['metadata', 'room', undefined],
    ['source', '  ', undefined],
    ['since', '2026-02-01T10:30', { name: 'since', value: new Date(2026, 1, 1, 10, 30).toISOString() }],
  ] as const)('come of what is typed: %s %j', (field, typed, expected) => {
    expect(parseCondition(field, typed)).toEqual(expected);
  });

  it('are refused with what is right where a metadata field has no value, and else are not', () => {
    expect(getRefusal('metadata', 'room')).toBe(
      'Metadata must be a field, an equals sign and a value, such as room=kitchen.',
    );
    expect([getRefusal('metadata', 'room=kitchen'), getRefusal('tag', 'room')]).toEqual([undefined, undefined]);
  });
});
