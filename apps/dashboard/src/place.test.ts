import { describe, expect, it } from 'vitest';
import { addressFor, getScope, isOwn, requestScope } from './place.ts';

const asked = (text: string) => new URLSearchParams(text);

describe('the scope of an address', () => {
  it.each([
    ['query=x&tag=a', undefined, {}],
    ['user_id=anna', { userId: 'anna' }, { user_id: 'anna' }],
    ['agent_id=cook&id=7', { agentId: 'cook' }, { agent_id: 'cook' }],
    [
      'user_id=a%26b+%C3%A9&agent_id=cook&shared=true',
      { userId: 'a&b é', agentId: 'cook', shared: true },
      { user_id: 'a&b é', agent_id: 'cook', shared: true },
    ],
    ['user_id=anna&shared=false', { userId: 'anna' }, { user_id: 'anna' }],
    ['user_id=&shared=true', undefined, {}],
  ])('is read from %s', (text, scope, request) => {
    expect(getScope(asked(text))).toEqual(scope);
    expect(requestScope(asked(text))).toEqual(request);
  });

  it('is replaced, and the other conditions stay', () => {
    const before = asked('query=x&user_id=anna&agent_id=cook&shared=true&tag=a');
    expect(addressFor({ userId: 'a&b é' }, 'recall', before)).toBe('#/recall?query=x&tag=a&user_id=a%26b+%C3%A9');
    expect(addressFor(undefined, 'recall', before)).toBe('#/recall?query=x&tag=a');
    expect(addressFor(undefined, 'explore', asked('user_id=anna'))).toBe('#/explore');
  });

  it('survives being written and read', () => {
    const scope = { userId: ' ?&=#%', agentId: '読書', shared: true };
    const [, query] = addressFor(scope, 'explore', asked('')).split(/\?(.*)/s);
    expect(getScope(asked(query ?? ''))).toEqual(scope);
  });

  it.each([
    ['', {}, true],
    ['', { user_id: 'anna' }, true],
    ['user_id=anna&shared=true', { user_id: 'anna', agent_id: 'cook' }, true],
    ['user_id=anna&shared=true', {}, false],
    ['user_id=anna&agent_id=cook&shared=true', { user_id: 'anna' }, false],
    ['agent_id=cook', { user_id: 'anna', agent_id: 'cook' }, true],
  ])('"%s" has %j as its own: %s', (text, owner, expected) => {
    expect(isOwn(owner, asked(text))).toBe(expected);
  });
});
