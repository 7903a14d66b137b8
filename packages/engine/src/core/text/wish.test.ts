import { describe, expect, it } from 'vitest';
import { instructs, prefers } from './wish.ts';

describe('an instruction that stands', () => {
  it.each([
    'Always put units behind numbers.',
    'user: never call me before nine',
    'Thanks. Please, always answer in French!',
    'user: "Always quote the source."',
    'Notes:\n- Never use tabs',
    'From now on I eat no meat.',
    'Give me short answers whenever I ask about code.',
  ])('is given by %j', (text) => expect(instructs(text)).toBe(true));

  it.each([
    'I always lose my keys.',
    'Never mind!',
    'Always happy to help.',
    'Never give up!',
    'Always been a fan of jazz.',
    'I prefer trains to planes',
    '',
  ])('is not given by %j', (text) => expect(instructs(text)).toBe(false));

  it('is looked for where a text begins', () => {
    expect(instructs(`${'It went on. '.repeat(40)}Never share it.`)).toBe(false);
  });
});

describe('a preference', () => {
  it.each([
    'I prefer trains to planes',
    'Well, I really prefer the window seat.',
    'I’d rather walk than drive.',
    'Ann prefers tea.',
    'Ann would rather stay at home.',
    'The user always wants a summary first.',
  ])('is stated by %j', (text) => expect(prefers(text)).toBe(true));

  it.each([
    'Always answer in French.',
    'You may use tabs if you prefer.',
    'What would you rather do?',
    'We saw her once.',
    '',
  ])('is not stated by %j', (text) => expect(prefers(text)).toBe(false));
});
