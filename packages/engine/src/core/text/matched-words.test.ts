import { describe, expect, it } from 'vitest';
import { wordMatcher } from './matched-words.ts';

const matched = (query: string, text: string) => wordMatcher(query, 1000)(text);

describe('the words of a text that match a query', () => {
  it.each([
    ['are told as they are written there', 'PEANUTS', 'No peanuts; Peanuts are out.', ['peanuts', 'Peanuts']],
    ['include other forms of a word', 'who was running', 'He runs, and ran; running helps.', ['runs', 'running']],
    ['include what leans on them', 'caroline', 'It is Caroline’s.', ['Caroline’s']],
    ['leave out words that say nothing', 'what is the key', 'The key is what it is.', ['key']],
    ['are the same without accents', 'velo', 'Le vélo de Camille', ['vélo']],
    [
      'include forms of the language that the text is in',
      'mit den Kindern',
      'Die Kinder sind nicht da, sie spielen mit dem Ball.',
      ['Kinder'],
    ],
    ['are pairs of letters in scripts without spaces', '読書会', '来月の読書会です', ['読書', '書会']],
    ['include numbers however they are grouped', '1200', 'It costs 1,200 euros', ['1,200']],
    ['are whole compounds where a part matches', 'timeout', 'the readTimeout of C++', ['readTimeout']],
    ['are none where none matches', 'zebra', 'a horse', []],
  ])('%s', (_, query, text, expected) => {
    expect(matched(query, text).toSorted()).toEqual(expected.toSorted());
  });

  it('are looked for in so much of all texts, and in no more', () => {
    const match = wordMatcher('key', 10);
    expect(match('a key')).toEqual(['key']);
    expect(match('12345key')).toEqual([]);
    expect(match('key')).toEqual([]);
  });
});
