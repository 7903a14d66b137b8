import { describe, expect, it } from 'vitest';
import { askedDate, readQueryIntent as readIntent } from './asked-date.ts';

/** A Monday. */
const NOW = Date.parse('2026-11-23T09:00:00Z');

const readQueryIntent = (query: string) => readIntent(query, { now: NOW, zone: 'UTC' });

describe('readQueryIntent', () => {
  it.each([
    'What did I buy?',
    'where were we',
    'the trains that I mentioned',
    'Which books have I read?',
    "Which of those I've read?",
    'HAS she moved',
  ])('recognizes a question about the past: %s', async (query) =>
    expect((await readQueryIntent(query)).looksBack).toBe(true),
  );

  it.each(['What should I buy?', 'Which seat do I take?', 'how do I behave', 'wash cycle', ''])(
    'recognizes that a question is not about the past: %j',
    async (query) => expect((await readQueryIntent(query)).looksBack).toBe(false),
  );

  it.each(['What should I wear?', 'Would you take the train?', 'Can you recommend a book'])(
    'recognizes a question for advice: %s',
    async (query) => expect((await readQueryIntent(query)).asksAdvice).toBe(true),
  );

  it.each(['What does Ann drink in the morning?', 'Who is my dentist?'])(
    'recognizes a question about a fact: %s',
    async (query) => expect((await readQueryIntent(query)).asksAdvice).toBe(false),
  );

  it('returns the date that a question names', async () => {
    expect((await readQueryIntent('What did we do on 3 May 2025?')).date).toMatchObject({ isWholeQuery: true });
    const { date } = await readQueryIntent('What did we cook on 3 May 2025?');
    expect(date).toMatchObject({ text: 'on 3 May 2025' });
    expect(date?.isWholeQuery).toBeUndefined();
    expect((await readQueryIntent('What did we do?')).date).toBeUndefined();
  });
});

/** Returns the first and the last day of the date of a query, in a zone. */
async function getDays(query: string, now = NOW, zone = 'UTC'): Promise<[from: string, last: string] | undefined> {
  const date = await askedDate(query, { now, zone });
  const day = (time: number) => new Intl.DateTimeFormat('sv', { timeZone: zone }).format(time);
  return date && [day(date.from), day(date.until - 1)];
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
  ])('the date that a query asks about is named by %j', async (query, from, last) =>
    expect(await getDays(query)).toEqual([from, last]),
  );

  it.each([
    ['What did we do yesterday?', '2026-11-22', '2026-11-22'],
    ['the day before yesterday', '2026-11-21', '2026-11-21'],
    ['What did she do 3 days ago?', '2026-11-20', '2026-11-20'],
    ['what happened in the last 3 days', '2026-11-20', '2026-11-23'],
    ['what I said last Friday', '2026-11-20', '2026-11-20'],
    ['this morning', '2026-11-23', '2026-11-23'],
    ['What happened last week?', '2026-11-16', '2026-11-22'],
    ['What did Ann cook last week?', '2026-11-15', '2026-11-22'],
    ['Where were we last weekend?', '2026-11-21', '2026-11-22'],
    ['the week of March 3, 2026', '2026-03-01', '2026-03-08'],
    ['two weeks ago', '2026-11-09', '2026-11-15'],
    ['What did Ann cook two weeks ago?', '2026-11-08', '2026-11-15'],
    ['what is done this month', '2026-11-01', '2026-11-30'],
    ['last month', '2026-10-01', '2026-10-31'],
    ['a year ago', '2025-01-01', '2025-12-31'],
    ['What have I been working on lately?', '2026-11-09', '2026-11-23'],
    ['Was haben wir gestern gemacht?', '2026-11-22', '2026-11-22'],
    ['la semaine dernière', '2026-11-16', '2026-11-22'],
    ['¿qué hice ayer?', '2026-11-22', '2026-11-22'],
    ['что было вчера', '2026-11-22', '2026-11-22'],
    ['Напомни, пожалуйста, о чём мы с Аней говорили в кафе на вокзале вчера вечером', '2026-11-22', '2026-11-22'],
    ['что было 3   дня\n назад', '2026-11-20', '2026-11-20'],
    ['昨日何をした', '2026-11-22', '2026-11-22'],
    ['昨天做了什么', '2026-11-22', '2026-11-22'],
  ])('the date that a query asks about is relative to now in %j', async (query, from, last) =>
    expect(await getDays(query)).toEqual([from, last]),
  );

  it.each([
    ['what happened on Monday', '2026-11-23', '2026-11-23'],
    ['What did I do on Friday?', '2026-11-20', '2026-11-20'],
    ['who I met on Sunday', '2026-11-22', '2026-11-22'],
    ['since Monday', '2026-11-23', '2026-11-23'],
    ['notes since Thursday', '2026-11-19', '2026-11-23'],
    ['on the 23rd', '2026-11-23', '2026-11-23'],
    ['what did we decide on the 24th?', '2026-10-24', '2026-10-24'],
    ['what did we decide on the 31st', '2026-10-31', '2026-10-31'],
    ['since the 20th', '2026-11-20', '2026-11-23'],
    ['in Q4 2026', '2026-10-01', '2026-12-31'],
    ['Q1', '2026-01-01', '2026-03-31'],
    ['the third quarter of 2025', '2025-07-01', '2025-09-30'],
    ['last quarter', '2026-07-01', '2026-09-30'],
    ['in spring 2026', '2026-03-01', '2026-05-31'],
    ['where were we last summer', '2026-06-01', '2026-08-31'],
    ['in the autumn', '2026-09-01', '2026-11-30'],
    ['last autumn', '2025-09-01', '2025-11-30'],
    ['in winter 2026', '2025-12-01', '2026-02-28'],
    ['in winter 2024', '2024-12-01', '2025-02-28'],
    ['before 24 November 2026', '0001-01-01', '2026-11-23'],
    ['before May 2023', '0001-01-01', '2023-04-30'],
    ['until May 2023', '0001-01-01', '2023-05-31'],
    ['before 2023', '0001-01-01', '2022-12-31'],
    ['before last Monday', '0001-01-01', '2026-11-15'],
    ['after 2024', '2025-01-01', '2026-11-23'],
  ])('the date that a query asks about is resolved to a period in %j', async (query, from, last) => {
    const [first, ...rest] = (await getDays(query)) ?? [];
    expect([first?.padStart(10, '0'), ...rest]).toEqual([from, last]);
  });

  it.each<[language: string, today: string, yesterday: string, lastWeek: string]>([
    ['English', 'What did I do today?', 'What did I do yesterday?', 'What did I do last week?'],
    ['German', 'Was war heute?', 'Was war gestern?', 'Was war letzte Woche?'],
    ['French', 'Qu’ai-je fait aujourd’hui ?', 'Qu’ai-je fait hier ?', 'Et la semaine dernière ?'],
    ['Spanish', '¿Qué hice hoy?', '¿Qué hice ayer?', '¿Qué hice la semana pasada?'],
    ['Portuguese', 'O que fiz hoje?', 'O que fiz ontem?', 'O que fiz na semana passada?'],
    ['Italian', 'Cosa ho fatto oggi?', 'Cosa ho fatto ieri?', 'Cosa ho fatto la settimana scorsa?'],
    ['Dutch', 'Wat deed ik vandaag?', 'Wat deed ik gisteren?', 'Wat deed ik vorige week?'],
    ['Swedish', 'Vad gjorde jag idag?', 'Vad gjorde jag i går?', 'Vad gjorde jag förra veckan?'],
    ['Danish', 'Hvad lavede jeg i dag?', 'Hvad lavede jeg i går?', 'Hvad lavede jeg i sidste uge?'],
    ['Norwegian', 'Hva gjorde jeg i dag?', 'Hva gjorde jeg i går?', 'Hva gjorde jeg forrige uke?'],
    ['Finnish', 'Mitä tein tänään?', 'Mitä tein eilen?', 'Mitä tein viime viikolla?'],
    ['Hungarian', 'Mit csináltam ma?', 'Mit csináltam tegnap?', 'Mit csináltam múlt héten?'],
    ['Romanian', 'Ce am făcut azi?', 'Ce am făcut ieri?', 'Ce am făcut săptămâna trecută?'],
    ['Turkish', 'Bugün ne yaptım?', 'Dün ne yaptım?', 'Geçen hafta ne yaptım?'],
    ['Indonesian', 'Apa yang terjadi hari ini?', 'Apa yang terjadi kemarin?', 'Apa yang terjadi minggu lalu?'],
    ['Irish', 'Cad a rinne mé inniu?', 'Cad a rinne mé inné?', 'Cad a rinne mé an tseachtain seo caite?'],
    ['Lithuanian', 'Ką veikiau šiandien?', 'Ką veikiau vakar?', 'Ką veikiau praėjusią savaitę?'],
    ['Russian', 'Что было сегодня?', 'Что было вчера?', 'Что было на прошлой неделе?'],
    ['Greek', 'Τι έκανα σήμερα;', 'Τι έκανα χθες;', 'Τι έκανα την προηγούμενη εβδομάδα;'],
    ['Arabic', 'ماذا فعلت اليوم؟', 'ماذا فعلت أمس؟', 'ماذا فعلت الأسبوع الماضي؟'],
    ['Hindi', 'आज क्या हुआ?', 'कल क्या हुआ?', 'पिछले हफ्ते क्या हुआ?'],
    ['Tamil', 'இன்று என்ன நடந்தது?', 'நேற்று என்ன நடந்தது?', 'கடந்த வாரம் என்ன நடந்தது?'],
  ])('the date that a query asks about can be relative to now in %s', async (_, today, yesterday, lastWeek) => {
    expect(await getDays(today)).toEqual(['2026-11-23', '2026-11-23']);
    expect(await getDays(yesterday)).toEqual(['2026-11-22', '2026-11-22']);
    // If the question consists of the date, the Sunday before the week is only in the fringe.
    expect(await getDays(lastWeek)).toEqual([expect.stringMatching(/^2026-11-1[56]$/), '2026-11-22']);
  });

  it('the date that a query asks about is not read from "ma" in Italian, which means "today" in Hungarian', async () => {
    expect(await askedDate('ma dove ho messo le chiavi', { now: NOW, zone: 'UTC' })).toBeUndefined();
  });

  it.each([
    ['What happened on May 7th?', '2026-05-07'],
    ['on 25 December', '2025-12-25'],
    ['last May', '2026-05-01'],
    ['the 7th of May', '2026-05-07'],
    ['since last Monday', '2026-11-16'],
    ['What did June say in December?', '2025-12-01'],
  ])('the date that a query asks about is the last occurrence of a recurring date in %j', async (query, from) =>
    expect((await getDays(query))?.[0]).toBe(from),
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
    'What does the baker have on Sunday?',
    'the 23rd floor',
    'on the 23rd birthday of Ann',
    'the spring of the clock',
    'the last quarter of the orange',
    'what Ann cooked in Q3 2025 and Q4 2025',
    'what is now the plan',
    'the meeting at 5pm',
    'on 05/12/2023',
    'what Ann cooked in 2020 to 2022',
    'release 2023.1 of 10.0.1.25',
    'Which books come out in 2031?',
    '',
    '5'.repeat(8000),
  ])('the date that a query asks about is undefined for %j', async (query) =>
    expect(await askedDate(query, { now: NOW, zone: 'UTC' })).toBeUndefined(),
  );

  // Without a limit, the parser takes minutes for these queries.
  it.each(['года', 'роки', 'час', 'года   ', 'роки    ', 'weeks ago   ', 'года,', 'год - '])(
    'the date that a query asks about is searched for in only a limited part of a query that repeats %j',
    async (words) => expect(await askedDate(`${words} `.repeat(200), { now: NOW, zone: 'UTC' })).toBeUndefined(),
  );

  it('the date that a query asks about is the day in the time zone of the query, with limits that include that day in all time zones', async () => {
    expect(await askedDate('on 7 May 2023', { now: NOW, zone: 'America/New_York' })).toEqual({
      from: Date.parse('2023-05-07T00:00:00-04:00'),
      until: Date.parse('2023-05-08T00:00:00-04:00'),
      earliest: Date.parse('2023-05-06T10:00:00-04:00'),
      latest: Date.parse('2023-05-08T12:00:00-04:00'),
      text: 'on 7 May 2023',
      isWholeQuery: true,
    });
  });

  it('the date that a query asks about is relative to the current day in the time zone of the query', async () => {
    const late = Date.parse('2026-11-23T23:59:00Z');
    expect(await getDays('yesterday', late)).toEqual(['2026-11-22', '2026-11-22']);
    expect(await getDays('yesterday', late + 60_000)).toEqual(['2026-11-23', '2026-11-23']);
    expect(await getDays('yesterday', late, 'Asia/Tokyo')).toEqual(['2026-11-23', '2026-11-23']);
    expect(await getDays('bugün', late, 'Asia/Tokyo')).toEqual(['2026-11-24', '2026-11-24']);
    expect(await getDays('since Monday', late, 'Asia/Tokyo')).toEqual(['2026-11-23', '2026-11-24']);
  });

  it('the date that a query asks about has 23 or 25 hours when daylight saving time begins or ends', async () => {
    const hours = async (query: string) => {
      const { from = 0, until = 0 } = (await askedDate(query, { now: NOW, zone: 'Europe/Berlin' })) ?? {};
      return (until - from) / 3_600_000;
    };
    expect([await hours('on 29 March 2026'), await hours('on 25 October 2026')]).toEqual([23, 25]);
  });
});
