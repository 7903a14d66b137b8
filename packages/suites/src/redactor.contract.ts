import type { Redactor } from '@memoryd/core/models';
import { propertyRuns } from '@memoryd/search/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

/** Assembled at run time, so that secret scanners do not report this file. */
const GITHUB_TOKEN = ['ghp', 'R8sK2mVq7LxT4bNw9ZcY1fHj6DpG3uE5aQoI'].join('_');
const CARD = '4111 1111 1111 1111';
const SECRETS = [
  { row: 'a token', secret: GITHUB_TOKEN },
  { row: 'a payment card number', secret: CARD },
];

/** Contract tests of the `Redactor` port. */
export function redactorContract(redactor: Redactor): void {
  const markers = /\[redacted:[a-z]+(?:-[a-z]+)*\]/g;

  describe.each(SECRETS)('$row', ({ secret }) => {
    it('a secret is replaced at every occurrence by a marker with its kind', () => {
      const { text, kinds } = redactor.redact(`${secret} and ${secret}`);
      expect(text).toBe(`[redacted:${kinds[0]}] and [redacted:${kinds[1]}]`);
      expect(kinds).toHaveLength(2);
    });

    it('a secret is replaced without changing a byte of the surrounding text', () => {
      const word = fc.string({ unit: 'binary' }).filter((text) => redactor.redact(text).kinds.length === 0);
      const separators = fc.constantFrom(' ', '\n', '"', '，', '。', '🎉 ', '\t', ')', '\u2028');
      fc.assert(
        fc.property(word, separators, separators, word, (before, left, right, after) => {
          const { text, kinds } = redactor.redact(`${before}${left}${secret}${right}${after}`);
          expect(text).toBe(`${before}${left}[redacted:${kinds[0]}]${right}${after}`);
        }),
        { numRuns: propertyRuns(500) },
      );
    });
  });

  it('returns the kinds of the replaced secrets in the order of their occurrence', () => {
    const { text, kinds } = redactor.redact(`${CARD}, then ${GITHUB_TOKEN}, then ${CARD}.`);
    expect(text.match(markers)).toEqual(kinds.map((kind) => `[redacted:${kind}]`));
    expect(kinds[0]).toBe(kinds[2]);
    expect(kinds[0]).not.toBe(kinds[1]);
  });

  it('a redactor does not change a text without secrets', () => {
    for (const text of ['', ' ', 'She keeps bees on the roof.', '明日は雨が降るそうです。', '🎉\r\n\0']) {
      expect(redactor.redact(text)).toEqual({ text, kinds: [] });
    }
  });

  it('a redactor does not change a text that was already redacted', () => {
    const parts = ['password=', 'token: ', 'Bearer ', '"', "'", ' ', 'https://u:', '@h', 'Tr0ub4dor&3'];
    const text = fc.array(fc.constantFrom(GITHUB_TOKEN, CARD, ...parts)).map((some) => some.join(''));
    fc.assert(
      fc.property(text, fc.constantFrom(undefined, 'db_password', 'api_key'), (before, name) => {
        const { text: once, kinds } = redactor.redact(before, name);
        expect(once.match(markers) ?? []).toEqual(kinds.map((kind) => `[redacted:${kind}]`));
        expect(redactor.redact(once, name)).toEqual({ text: once, kinds: [] });
      }),
      { numRuns: propertyRuns(500), examples: [[`https://u:${CARD}@h`, undefined]] },
    );
  });

  it('leaves no secret in a very long text that repeats the beginning of a secret', () => {
    const characters = propertyRuns(1_000_000);
    const beginnings = [
      '-----BEGIN PRIVATE KEY-----',
      'password=',
      'eyJ',
      'eyJ.',
      'Bearer a',
      'https://a:',
      '4111 ',
      'sk-',
      'a:',
      '@',
      '=',
      ' ',
      '\\n',
    ];
    for (const beginning of beginnings) {
      const { text } = redactor.redact(beginning.repeat(characters / beginning.length));
      expect(redactor.redact(text).kinds, beginning).toEqual([]);
    }
  });

  it('redacts the value of a field whose name indicates a password', () => {
    expect(redactor.redact('Tr0ub4dor&3').kinds).toEqual([]);
    const { text, kinds } = redactor.redact('Tr0ub4dor&3', 'db_password');
    expect(text).toBe(`[redacted:${kinds[0]}]`);
    expect(redactor.redact(text, 'db_password').kinds).toEqual([]);
    expect(redactor.redact('Tr0ub4dor&3', 'title').kinds).toEqual([]);
  });
}
