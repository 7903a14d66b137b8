import { describe, expect, it } from 'vitest';
import { StringShortener } from './shorten-strings.ts';

/** Shortens strings to 8 bytes, in chunks of one and of many bytes. */
function shorten(text: string): string {
  const whole = new StringShortener(8).shorten(Buffer.from(text));
  const byByte = new StringShortener(8);
  const parts = Array.from(Buffer.from(text), (byte) => byByte.shorten(Uint8Array.of(byte)));
  expect(Buffer.concat(parts)).toEqual(whole);
  return whole.toString();
}

describe('StringShortener', () => {
  it.each([
    ['strings of at most the limit', '{"id": "12345678", "n": 123456789012}', '{"id": "12345678", "n": 123456789012}'],
    ['a long string', '["123456789", 1]', '["12345678", 1]'],
    ['an escape of a quote at the limit', '["1234567\\"9", "\\\\"]', '["1234567\\"", "\\\\"]'],
    ['an escape of a character at the limit', '["1234567\\u00e99"]', '["1234567\\u00e9"]'],
    ['a quote behind the limit', '["12345678\\"9\\\\", 1]', '["12345678", 1]'],
    ['a line without its last quote', '{"a":"123456789\n{"b":1}', '{"a":"12345678\n{"b":1}'],
  ])('shortens %s', (_case, text, expected) => {
    expect(shorten(text)).toBe(expected);
  });
});
