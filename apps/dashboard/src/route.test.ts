import { describe, expect, it } from 'vitest';
import { getAddressInScope, getScope, getScopeRequest, isOwn } from './route.ts';

const params = (text: string) => new URLSearchParams(text);

describe('the scope in the address', () => {
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
  ])('the scope in the address is parsed from %s', (text, scope, request) => {
    expect(getScope(params(text))).toEqual(scope);
    expect(getScopeRequest(params(text))).toEqual(request);
  });

  it('the scope in the address can be replaced without changing the other parameters', () => {
    const before = params('query=x&user_id=anna&agent_id=cook&shared=true&tag=a');
    expect(getAddressInScope({ userId: 'a&b é' }, 'recall', before)).toBe(
      '#/recall?query=x&tag=a&user_id=a%26b+%C3%A9',
    );
    expect(getAddressInScope(undefined, 'recall', before)).toBe('#/recall?query=x&tag=a');
    expect(getAddressInScope(undefined, 'explore', params('user_id=anna'))).toBe('#/explore');
  });

  it('the scope in the address is the same after formatting and parsing', () => {
    const scope = { userId: ' ?&=#%', agentId: '読書', shared: true };
    const [, query] = getAddressInScope(scope, 'explore', params('')).split(/\?(.*)/s);
    expect(getScope(params(query ?? ''))).toEqual(scope);
  });

  it.each([
    ['', {}, true],
    ['', { user_id: 'anna' }, true],
    ['user_id=anna&shared=true', { user_id: 'anna', agent_id: 'cook' }, true],
    ['user_id=anna&shared=true', {}, false],
    ['user_id=anna&agent_id=cook&shared=true', { user_id: 'anna' }, false],
    ['agent_id=cook', { user_id: 'anna', agent_id: 'cook' }, true],
  ])(
    'the scope in the address with the parameters "%s" owns a memory with the fields %j: %s',
    (text, owner, expected) => {
      expect(isOwn(owner, params(text))).toBe(expected);
    },
  );
});
