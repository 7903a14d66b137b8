import { describe, expect, it } from 'vitest';
import { askedDate, queryIntentOf as queryIntentOfNow } from './asked-date.ts';

const queryIntentOf = (query: string) => queryIntentOfNow(query, Date.parse('2026-11-23T09:00:00Z'));

describe('a question', () => {
  it.each([
    'What did I buy?',
    'where were we',
    'the trains that I mentioned',
    'Which books have I read?',
    "Which of those I've read?",
    'HAS she moved',
  ])('looks back: %s', async (query) => expect((await queryIntentOf(query)).looksBack).toBe(true));

  it.each(['What should I buy?', 'Which seat do I take?', 'how do I behave', 'wash cycle', ''])(
    'does not look back: %j',
    async (query) => expect((await queryIntentOf(query)).looksBack).toBe(false),
  );

  it.each(['What should I wear?', 'Would you take the train?', 'Can you recommend a book'])(
    'asks for advice: %s',
    async (query) => expect((await queryIntentOf(query)).asksAdvice).toBe(true),
  );

  it.each(['What does Ann drink in the morning?', 'Who is my dentist?'])('asks for a fact: %s', async (query) =>
    expect((await queryIntentOf(query)).asksAdvice).toBe(false),
  );

  it('may name a date', async () => {
    expect((await queryIntentOf('What did we do on 3 May 2025?')).date).toMatchObject({ text: 'on 3 May 2025' });
    expect((await queryIntentOf('What did we do?')).date).toBeUndefined();
  });
});

/** A Monday. */
const NOW = Date.parse('2026-11-23T09:00:00Z');

/** The days of a date, the last one included, in UTC. */
async function daysOf(query: string, now = NOW): Promise<[from: string, last: string] | undefined> {
  const date = await askedDate(query, now);
  const day = (time: number) => new Date(time).toISOString().slice(0, 10);
  return date && [day(date.from + 14 * 3_600_000), day(date.until - 12 * 3_600_000 - 1)];
}

describe('the date that a query asks about', () => {
  it.each([
    ['What did Ann do on 7 May 2023?', '2023-05-07', '2023-05-07'],
    ['Where was she in May 2023?', '2023-05-01', '2023-05-31'],
    ['notes of 2023-05-08', '2023-05-08', '2023-05-08'],
    ['from 3 to 7 May 2023', '2023-05-03', '2023-05-07'],
    ['between 3 and 7 May 2023', '2023-05-03', '2023-05-07'],
    ['between April and June 2023', '2023-04-01', '2023-06-30'],
    ['the evening of 12 June 2023', '2023-06-12', '2023-06-12'],
    ['the 7th of May 2023', '2023-05-07', '2023-05-07'],
    ['since 2023', '2023-01-01', '2026-11-23'],
    ['What did I read since May 2023?', '2023-05-01', '2026-11-23'],
    ['after 7 May 2023', '2023-05-08', '2026-11-23'],
    ['am 12.05.2023', '2023-05-12', '2023-05-12'],
    ['12/31/2023', '2023-12-31', '2023-12-31'],
    ['Was geschah am 7. Mai 2023?', '2023-05-07', '2023-05-07'],
    ["Qu'a-t-elle fait le 7 mai 2023 ?", '2023-05-07', '2023-05-07'],
    ['2023年5月7日に何をした？', '2023-05-07', '2023-05-07'],
    ['Which books did I read in 2023?', '2023-01-01', '2023-12-31'],
    ['What did she finish last Friday on 23 January, 2022?', '2022-01-23', '2022-01-23'],
  ])('is named by %j', async (query, from, last) => expect(await daysOf(query)).toEqual([from, last]));

  it.each([
    ['What did we do yesterday?', '2026-11-22', '2026-11-22'],
    ['the day before yesterday', '2026-11-21', '2026-11-21'],
    ['What did she do 3 days ago?', '2026-11-20', '2026-11-20'],
    ['what happened in the last 3 days', '2026-11-20', '2026-11-23'],
    ['what I said last Friday', '2026-11-20', '2026-11-20'],
    ['this morning', '2026-11-23', '2026-11-23'],
    ['What happened last week?', '2026-11-15', '2026-11-22'],
    ['Where were we last weekend?', '2026-11-21', '2026-11-22'],
    ['the week of March 3, 2026', '2026-03-01', '2026-03-08'],
    ['two weeks ago', '2026-11-08', '2026-11-15'],
    ['what is done this month', '2026-11-01', '2026-11-30'],
    ['last month', '2026-10-01', '2026-10-31'],
    ['a year ago', '2025-01-01', '2025-12-31'],
    ['What have I been working on lately?', '2026-11-09', '2026-11-23'],
    ['Was haben wir gestern gemacht?', '2026-11-22', '2026-11-22'],
    ['la semaine dernière', '2026-11-15', '2026-11-22'],
    ['¿qué hice ayer?', '2026-11-22', '2026-11-22'],
    ['что было вчера', '2026-11-22', '2026-11-22'],
    ['Напомни, пожалуйста, о чём мы с Аней говорили в кафе на вокзале вчера вечером', '2026-11-22', '2026-11-22'],
    ['что было 3   дня\n назад', '2026-11-20', '2026-11-20'],
    ['昨日何をした', '2026-11-22', '2026-11-22'],
    ['昨天做了什么', '2026-11-22', '2026-11-22'],
  ])('counts from now in %j', async (query, from, last) => expect(await daysOf(query)).toEqual([from, last]));

  it.each([
    ['What happened on May 7th?', '2026-05-07'],
    ['on 25 December', '2025-12-25'],
    ['last May', '2026-05-01'],
    ['the 7th of May', '2026-05-07'],
    ['since last Monday', '2026-11-16'],
    ['What did June say in December?', '2025-12-01'],
  ])('is the last of those that come every year in %j', async (query, from) =>
    expect((await daysOf(query))?.[0]).toBe(from),
  );

  it.each([
    'What happens in 3 days?',
    'What is planned for tomorrow, and for next week?',
    'Which of the 12 rooms is free?',
    'Was it 7 May 2023 or 9 June 2023?',
    'May I come in?',
    'What did June say?',
    'Is the shop open on Sunday?',
    'Sunday roast',
    'what is now the plan',
    'the meeting at 5pm',
    'last quarter',
    'on 05/12/2023',
    'before May 2023',
    'what happened in 2020 to 2022',
    'release 2023.1 of 10.0.1.25',
    'Which books come out in 2031?',
    '',
    '5'.repeat(8000),
  ])('is none in %j', async (query) => expect(await askedDate(query, NOW)).toBeUndefined());

  // Those that take minutes otherwise, or longer than anybody waits.
  it.each(['года', 'роки', 'час', 'года   ', 'роки    ', 'weeks ago   ', 'года,', 'год - '])(
    'is looked for in so much as names one, whatever is said again and again: %j',
    async (words) => expect(await askedDate(`${words} `.repeat(200), NOW)).toBeUndefined(),
  );

  it('begins where it begins first on Earth, and ends where it is over last', async () => {
    expect(await askedDate('on 7 May 2023', NOW)).toEqual({
      from: Date.parse('2023-05-07T00:00:00+14:00'),
      until: Date.parse('2023-05-08T00:00:00-12:00'),
      text: 'on 7 May 2023',
    });
  });

  it('is that day in whatever zone the service runs', async () => {
    const late = Date.parse('2026-11-23T23:59:00Z');
    expect(await daysOf('yesterday', late)).toEqual(['2026-11-22', '2026-11-22']);
    expect(await daysOf('yesterday', late + 60_000)).toEqual(['2026-11-23', '2026-11-23']);
  });
});
