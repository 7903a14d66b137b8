import { describe, expect, it } from 'vitest';
import { askedDate, isToldAbout } from './asked-date.ts';

describe('the date that a query names', () => {
  it.each([
    ['What did Ann do on 7 May 2023?', { year: 2023, month: 5, day: 7 }],
    ['What happened on May 7th?', { month: 5, day: 7 }],
    ['Where was she in May 2023?', { year: 2023, month: 5 }],
    ['notes of 2023-05-08', { year: 2023, month: 5, day: 8 }],
    ['Was geschah am 7. Mai 2023?', { year: 2023, month: 5, day: 7 }],
    ["Qu'a-t-elle fait le 7 mai 2023 ?", { year: 2023, month: 5, day: 7 }],
    ['2023年5月7日に何をした？', { year: 2023, month: 5, day: 7 }],
  ])('of %j', (query, date) => expect(askedDate(query)).toEqual(date));

  it.each([
    'What did Ann do last week?',
    'What happens in 3 days?',
    'What did she do 2 days ago?',
    'Which of the 12 rooms is free?',
    'Was it 7 May 2023 or 9 June 2023?',
    'May I come in?',
    '',
    '5'.repeat(8000),
  ])('is none in %j', (query) => expect(askedDate(query)).toBeUndefined());
});

describe('a memory', () => {
  const at = (text: string) => Date.parse(`${text}T12:00:00Z`);

  it.each([
    [{ year: 2023, month: 5, day: 7 }, '2023-05-07', true],
    [{ year: 2023, month: 5, day: 7 }, '2023-05-14', true],
    [{ year: 2023, month: 5, day: 7 }, '2023-05-05', false],
    [{ year: 2023, month: 5, day: 7 }, '2023-05-16', false],
    [{ year: 2023, month: 5, day: 7 }, '2024-05-07', false],
    [{ month: 5, day: 7 }, '2024-05-08', true],
    [{ month: 12, day: 31 }, '2024-01-02', true],
    [{ month: 1, day: 1 }, '2023-12-31', true],
    [{ year: 2023, month: 5 }, '2023-05-31', true],
    [{ year: 2023, month: 5 }, '2023-06-05', true],
    [{ year: 2023, month: 5 }, '2023-06-20', false],
  ])('may speak of %j when created on %s: %j', (date, created, told) => {
    expect(isToldAbout(date, at(created))).toBe(told);
  });
});
