import { describe, expect, it } from 'vitest';
import { hasInstruction, hasPreference, MARKS, readTraits } from './traits.ts';

const asks = (text: string) => (readTraits(text, []).marks & MARKS.question) !== 0;

describe('the speaker name', () => {
  it.each([
    ['Ann: hello', 'Ann'],
    ['Ann Lee-Smith: hello', 'Ann Lee-Smith'],
    ['田中: こんにちは', '田中'],
    ['田中： こんにちは', '田中'],
    ['user: hi', 'user'],
    ['hello there', ''],
    ['https://example.org is down', ''],
    ['at 10:30 we met', ''],
    ['I said: no. Then: yes', 'I said'],
    ['No. Then: yes', ''],
    [': nobody', ''],
    [`${'a'.repeat(41)}: too long for a name`, ''],
    ['', ''],
  ])('the speaker name in %j is %j', (text, name) => expect(readTraits(text, []).speakerName).toBe(name));

  it.each([
    [['role:user'], 'user'],
    [['health', 'role:Dr. Ann Lee: on call', 'role:user'], 'Dr. Ann Lee: on call'],
    [['role: '], 'Note'],
    [['roles', 'user'], 'Note'],
  ])('the speaker name with the tags %j is %j', (tags, name) =>
    expect(readTraits('Note: hello', tags).speakerName).toBe(name),
  );

  it('identifies the same speaker regardless of case and accents', () => {
    expect(readTraits('JOSÉ: a', []).speaker).toBe(readTraits('Jose: b', []).speaker);
    expect(readTraits('Jose: a', []).speaker).not.toBe(readTraits('Ann: a', []).speaker);
    expect(readTraits('a', ['role:jose']).speaker).toBe(readTraits('Jose: b', []).speaker);
    expect(readTraits('nobody', []).speaker).toBe(0);
  });
});

describe('a question', () => {
  it.each([
    'Where is it?',
    'Where is it? ',
    'He said "where is it?"',
    '(Where is it?)',
    'どこですか？',
    'أين هو؟',
    'Where is it? [photo of a key]',
    'Where is it? [a] [b] ',
  ])('a question is detected in %j', (text) => expect(asks(text)).toBe(true));

  it.each(['It is here.', 'Where? Here.', 'a ? b', '', 'first; second;'])('a question is not detected in %j', (text) =>
    expect(asks(text)).toBe(false),
  );

  it('a question is detected only at the end of a text, also in a text of one megabyte', () => {
    expect(asks(`${'[ '.repeat(500_000)}?`)).toBe(true);
    expect(asks('?['.repeat(500_000))).toBe(false);
  });
});

describe('readTraits', () => {
  it('returns all marks of a text that is a question, an instruction and a preference', () => {
    const { question, instruction, preference, aboutUser } = MARKS;
    expect(readTraits('Ann: I prefer trains. Is there one tonight?', []).marks).toBe(question | preference);
    expect(readTraits('Always take the train. I prefer that. Clear?', []).marks).toBe(
      question | instruction | preference | aboutUser,
    );
    expect(readTraits('no train tonight', []).marks).toBe(0);
  });
});

describe('a lasting instruction', () => {
  it.each([
    'Always put units behind numbers.',
    'user: never call me before nine',
    'Thanks. Please, always answer in French!',
    'user: "Always quote the source."',
    'Notes:\n- Never use tabs',
    'From now on I eat no meat.',
    'Give me short answers whenever I ask about code.',
  ])('a lasting instruction is contained in %j', (text) => expect(hasInstruction(text)).toBe(true));

  it.each([
    'I always lose my keys.',
    'Never mind!',
    'Always happy to help.',
    'Never give up!',
    'Always been a fan of jazz.',
    'I prefer trains to planes',
    '',
  ])('a lasting instruction is not contained in %j', (text) => expect(hasInstruction(text)).toBe(false));

  it('a lasting instruction is detected only at the beginning of a text', () => {
    expect(hasInstruction(`${'It went on. '.repeat(40)}Never share it.`)).toBe(false);
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
  ])('a preference is stated by %j', (text) => expect(hasPreference(text)).toBe(true));

  it.each([
    'Always answer in French.',
    'You may use tabs if you prefer.',
    'What would you rather do?',
    'We saw her once.',
    '',
  ])('a preference is not stated by %j', (text) => expect(hasPreference(text)).toBe(false));
});
