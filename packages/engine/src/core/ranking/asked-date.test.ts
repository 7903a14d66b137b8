import { describe, expect, it } from 'vitest';
import { askedDate } from './asked-date.ts';

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
