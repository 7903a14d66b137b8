import { describe, expect, it } from 'vitest';
import { readDateQuestion } from './date-question.ts';

/** A Wednesday, as wall-clock time. */
const NOW = Date.parse('2026-11-25T14:00:00Z');

/** Returns the first and the last day of a question's period; null for the beginning of time. */
function getDays(question: string, now = NOW): [from: string | null, last: string] | undefined {
  const period = readDateQuestion(question, now);
  const day = (time: number) => new Date(time).toISOString().slice(0, 10);
  return period && [period.from < 0 ? null : day(period.from), day(period.until - 1)];
}

/** One question a line, in English, German, French, Spanish, Japanese and Chinese, with its first and last day. */
const QUESTIONS = `
Monday | Montag | lundi | lunes | 月曜日 | 周一 = 2026-11-23 2026-11-23
on Monday | am Montag | le lundi | el lunes | 月曜日に | 在星期一 = 2026-11-23 2026-11-23
what did we do on Monday? | was haben wir am Montag gemacht? | qu'avons-nous fait lundi ? | ¿qué hicimos el lunes? | 月曜日に何をした？ | 我们星期一做了什么？ = 2026-11-23 2026-11-23
What did we do on Wednesday? | Was hab ich am Mittwoch gemacht? | On a fait quoi mercredi ? | ¿Qué hice el miércoles? | 水曜日は何をしましたか | 星期三我做了什么 = 2026-11-25 2026-11-25
last Monday | letzten Montag | lundi dernier | el lunes pasado | この前の月曜日 | 上周一 = 2026-11-16 2026-11-16
what happened on 24 November 2026? | Was geschah am 24. November 2026? | Que s'est-il passé le 24 novembre 2026 ? | ¿Qué pasó el 24 de noviembre de 2026? | 2026年11月24日に何があった？ | 2026年11月24日发生了什么？ = 2026-11-24 2026-11-24
November 24th | 24. November | le 24 novembre | 24 de noviembre | 11月24日 | 11月24号 = 2026-11-24 2026-11-24
2026-11-24 | 24.11.2026 | 24/11/2026 | 24-11-2026 | 2026/11/24 | 2026.11.24 = 2026-11-24 2026-11-24
on the 23rd | am 23. | et le 23, on a fait quoi ? | ¿qué hicimos el día 23? | 23日に | 23号 = 2026-11-23 2026-11-23
anything from yesterday? | gibt's was von gestern? | quelque chose d'hier ? | ¿algo de ayer? | 昨日の出来事は？ | 昨天有什么事？ = 2026-11-24 2026-11-24
the day before yesterday | vorgestern | avant-hier | anteayer | 一昨日 | 前天 = 2026-11-23 2026-11-23
this morning | heute Morgen | ce matin | esta mañana | 今朝 | 今天早上 = 2026-11-25 2026-11-25
last night | gestern Abend | hier soir | anoche | 昨夜 | 昨晚 = 2026-11-24 2026-11-24
three days ago | vor drei Tagen | il y a trois jours | hace tres días | 三日前 | 三天前 = 2026-11-22 2026-11-22
two weeks ago | vor zwei Wochen | il y a deux semaines | hace dos semanas | 二週間前 | 两周前 = 2026-11-09 2026-11-15
what did we talk about last week? | worüber haben wir letzte Woche gesprochen? | de quoi avons-nous parlé la semaine dernière ? | ¿de qué hablamos la semana pasada? | 先週何を話した？ | 上周我们聊了什么？ = 2026-11-16 2026-11-22
this week | diese Woche | cette semaine | esta semana | 今週 | 这周 = 2026-11-23 2026-11-29
Friday of last week | Freitag letzte Woche | vendredi de la semaine dernière | el viernes de la semana pasada | 先週の金曜日 | 上周五 = 2026-11-20 2026-11-20
last Friday | letzten Freitag | vendredi dernier | el viernes pasado | 前の金曜日 | 上个星期五 = 2026-11-20 2026-11-20
2024 to 2025 | 2024 bis 2025 | de 2024 à 2025 | de 2024 a 2025 | 2024年から2025年まで | 2024年到2025年 = 2024-01-01 2025-12-31
last weekend | letztes Wochenende | le week-end dernier | el fin de semana pasado | 先週末 | 上周末 = 2026-11-21 2026-11-22
this month | diesen Monat | ce mois-ci | este mes | 今月 | 这个月 = 2026-11-01 2026-11-30
last month | letzten Monat | le mois dernier | el mes pasado | 先月 | 上个月 = 2026-10-01 2026-10-31
in October | im Oktober | au mois d'octobre | en octubre | 10月 | 十月 = 2026-10-01 2026-10-31
in December | im Dezember | en décembre | en diciembre | 12月に | 12月份 = 2025-12-01 2025-12-31
in October 2025 | im Oktober 2025 | en octobre 2025 | en octubre de 2025 | 2025年10月 | 2025年10月 = 2025-10-01 2025-10-31
Q3 2026 | im dritten Quartal 2026 | le troisième trimestre 2026 | el tercer trimestre de 2026 | 2026年第3四半期 | 2026年第三季度 = 2026-07-01 2026-09-30
last year | letztes Jahr | l'année dernière | el año pasado | 去年 | 去年 = 2025-01-01 2025-12-31
in 2024 | im Jahr 2024 | en 2024 | en 2024 | 2024年 | 2024年 = 2024-01-01 2024-12-31
since Monday | seit Montag | depuis lundi | ¿qué ha pasado desde el lunes? | 月曜日から | 从周一到现在 = 2026-11-23 2026-11-25
before 24 November 2026 | vor dem 24. November 2026 | avant le 24 novembre 2026 | antes del 24 de noviembre de 2026 | 2026年11月24日より前 | 2026年11月24日之前 = null 2026-11-23
between 20 and 22 November 2026 | zwischen dem 20. und 22. November 2026 | du 20 au 22 novembre 2026 | entre el 20 y el 22 de noviembre de 2026 | 2026年11月20日から22日まで | 2026年11月20日到22日 = 2026-11-20 2026-11-22
the week before last | vorletzte Woche | l'avant-dernière semaine | la penúltima semana | 先々週 | 上上周 = 2026-11-09 2026-11-15
the Monday before last | vorletzten Montag | l'avant-dernier lundi | el penúltimo lunes | 先々週の月曜日 | 上上周一 = 2026-11-09 2026-11-09
a week ago today | heute vor einer Woche | il y a une semaine aujourd'hui | hace una semana hoy | 7日前 | 一周前的今天 = 2026-11-18 2026-11-18
Hey, summarize Monday | Was hab ich am Montag so gemacht? | Quoi de neuf lundi ? | Cuéntame del lunes | 月曜日はどうだった？ | 周一怎么样？ = 2026-11-23 2026-11-23
what happened on 11/24? | am 24.11. | le 24/11 | el 24/11 | 11/24に何があった | 11/24发生了什么 = 2026-11-24 2026-11-24
24 Nov 26 | Dienstag, dem 24.11., | mardi 24/11 | el martes 24/11 | 11月24日 | 2026年11月24号 = 2026-11-24 2026-11-24
20261124 | 24.11. | 2026-11-24T10:00 | 24-11-2026 | 2026/11/24 | 2026.11.24 = 2026-11-24 2026-11-24
the last three days | die letzten drei Tage | ces trois derniers jours | los últimos tres días | ここ3日間 | 最近三天 = 2026-11-22 2026-11-25`;

const LANGUAGES = ['English', 'German', 'French', 'Spanish', 'Japanese', 'Chinese'];

const CASES = QUESTIONS.trim()
  .split('\n')
  .flatMap((line) => {
    const [questions = '', days = ''] = line.split(' = ');
    const [from, last] = days.split(' ');
    return questions
      .split(' | ')
      .map((question, i) => ({ language: LANGUAGES[i], question, days: [from === 'null' ? null : from, last] }));
  });

describe('readDateQuestion', () => {
  it.each(CASES)('reads the period of the $language question "$question"', ({ question, days }) =>
    expect(getDays(question)).toEqual(days),
  );

  it('reads a weekday on that day as today, and the last such weekday as a day before this week', () => {
    const monday = Date.parse('2026-11-23T08:00:00Z');
    expect(getDays('what did we do on Monday?', monday)).toEqual(['2026-11-23', '2026-11-23']);
    expect(getDays('last Monday', monday)).toEqual(['2026-11-16', '2026-11-16']);
    expect(getDays('last Friday', monday)).toEqual(['2026-11-20', '2026-11-20']);
  });

  it('reads "el pasado lunes" as a day, and "ha pasado el lunes" as a verb before it', () => {
    expect(getDays('el pasado lunes')).toEqual(getDays('el lunes pasado'));
    expect(getDays('¿qué ha pasado el lunes?')).toEqual(getDays('el lunes'));
  });

  it('reads Sonnabend as a Saturday', () => expect(getDays('Sonnabend')).toEqual(getDays('Samstag')));

  it('reads a week from Monday on, with the Sunday before it as its fringe', () => {
    const week = readDateQuestion('last week', NOW);
    expect(week?.fringeFrom).toBe(Date.parse('2026-11-15T00:00:00Z'));
  });

  it('reads questions without accents, in any case and with much white space', () => {
    expect(getDays('  LA   SEMAINE DERNIERE ?')).toEqual(['2026-11-16', '2026-11-22']);
    expect(getDays('que hicimos el miercoles')).toEqual(['2026-11-25', '2026-11-25']);
  });

  it.each([
    'what did we do on Monday with Ann?',
    'Is the shop open on Sunday?',
    'What did May say?',
    'What did June say?',
    'what happens in 3 days?',
    'who is she',
    'what',
    '',
    'call 5',
    'version 2.1',
    '5/6',
    'so',
    'what is new?',
    '12/11/2026',
    '31.02.2026',
    'was macht Ann am Montag',
    'où est le chat lundi',
    '¿cuánto pagué en octubre?',
    '月曜日に田中さんと何をした？',
    '周一和李雷做了什么',
  ])('returns undefined for %j, which has other words or no date', (question) =>
    expect(getDays(question)).toBeUndefined(),
  );
});
