import { beforeAll, describe, expect, it } from 'vitest';
import { useServer } from './under-test.ts';

const memoryd = useServer();

/** Monday, 23 November 2026 in each zone, and the hours around it. */
const ZONES = [
  { zone: 'UTC', offset: 'Z' },
  { zone: 'America/Los_Angeles', offset: '-08:00' },
  { zone: 'Asia/Tokyo', offset: '+09:00' },
  { zone: 'Asia/Kolkata', offset: '+05:30' },
];

const ON_MONDAY = ['The bakery had no rye left.', 'Priya repaired the gate.', 'The recipe of the soup needs leek.'];

describe.each(ZONES)('a question that consists of a date, asked in $zone', ({ zone, offset }) => {
  const user = `of ${zone}`;
  const at = (local: string) => `${local}${offset}`;

  beforeAll(async () => {
    const store = (content: string, local: string) =>
      memoryd.store({ content, created_at: at(local), user_id: user, session_id: `${content}` });
    await store('On Monday, 23 November 2026, what happened was a storm.', '2026-10-02T12:00:00');
    await store('We did a lot on Mondays.', '2026-11-02T09:00:00');
    await store('Late on Sunday, the owls called.', '2026-11-22T23:30:00');
    await store(ON_MONDAY[0] as string, '2026-11-23T00:10:00');
    await store(ON_MONDAY[1] as string, '2026-11-23T12:00:00');
    await store(ON_MONDAY[2] as string, '2026-11-23T23:50:00');
    await store('The train to Lyon was full.', '2026-11-24T15:00:00');
    await memoryd.embedded();
  });

  const ask = async (question: string) => {
    const parameters = new URLSearchParams({ user_id: user, timezone: zone, asked_at: at('2026-11-25T08:00:00') });
    return (await memoryd.recall(question, `${parameters}`)).results;
  };

  it.each([
    'what did we do on Monday?',
    'Monday',
    'what happened on 23 November 2026?',
    'was haben wir am Montag gemacht?',
    "qu'avons-nous fait lundi ?",
    '¿qué hicimos el lunes?',
    '月曜日に何をした？',
    '我们星期一做了什么？',
  ])('returns the memories of that day first, then those of its fringe: %s', async (question) => {
    const results = await ask(question);
    const ofDay = results.slice(0, ON_MONDAY.length);
    expect(ofDay.map(({ content }) => content).sort()).toEqual([...ON_MONDAY].sort());
    for (const { score } of ofDay) expect(score).toBeGreaterThanOrEqual(0.5);
    const [fringe, ...rest] = results.slice(ON_MONDAY.length);
    expect(fringe?.content).toBe('Late on Sunday, the owls called.');
    expect(fringe?.score).toBeGreaterThan(0.15);
    expect(fringe?.score, 'not relevant').toBeLessThan(0.25);
    for (const { score } of rest) expect(score).toBeLessThan(0.1);
  });
});
