import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { toInstant, toShortTime } from './local-time.ts';

const module = new URL('./local-time.ts', import.meta.url).href;

/** Returns the first and last instant of a day in a time zone. In a process of its own, which gets the zone at start. */
function getDay(zone: string, day: string): string[] {
  const code = `import { toInstant } from '${module}';
    console.log(['first', 'last'].map((edge) => toInstant('${day}', edge, {})).join());`;
  const env = { ...process.env, TZ: zone };
  return execFileSync(process.execPath, ['--input-type=module', '--eval', code], { env, encoding: 'utf8' })
    .trim()
    .split(',');
}

describe('toInstant', () => {
  it.each([
    ['America/Los_Angeles', '2026-11-28', '2026-11-28T08:00:00.000Z', '2026-11-29T07:59:59.999Z'],
    ['Asia/Kolkata', '2026-11-28', '2026-11-27T18:30:00.000Z', '2026-11-28T18:29:59.999Z'],
    ['Pacific/Kiritimati', '2026-11-28', '2026-11-27T10:00:00.000Z', '2026-11-28T09:59:59.999Z'],
    ['a day of 25 hours: America/New_York', '2026-11-01', '2026-11-01T04:00:00.000Z', '2026-11-02T04:59:59.999Z'],
    ['a day of 23 hours: Europe/Berlin', '2026-03-29', '2026-03-28T23:00:00.000Z', '2026-03-29T21:59:59.999Z'],
    ['a day without midnight: America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00:00.000Z', '2018-11-05T01:59:59.999Z'],
    ['the first year: Asia/Tokyo', '0000-01-01', '0000-01-01T00:00:00.000Z', '0000-01-01T14:41:00.999Z'],
    ['the last year: America/Los_Angeles', '9999-12-31', '9999-12-31T08:00:00.000Z', '9999-12-31T23:59:59.999Z'],
  ])('returns the first and the last instant of the local day in %s', (zone, day, first, last) => {
    expect(getDay(zone.replace(/^.*: /, ''), day)).toEqual([first, last]);
  });

  it.each(['2026-02-30', '2026-13-01', 'yesterday', '2026-01-31T09:30Z', '2026-01-31 09:30+01:00', ''])(
    'returns %j unchanged, because it is not a date of the calendar without a time',
    (text) => {
      expect(toInstant(text, 'first', {})).toBe(text);
    },
  );

  it('returns a date unchanged with utc', () => {
    expect(toInstant('2026-01-31', 'last', { utc: true })).toBe('2026-01-31');
  });
});

it('toShortTime marks a time in UTC', () => {
  expect(toShortTime('2026-01-31T09:30:59.999Z', { utc: true })).toBe('2026-01-31 09:30Z');
  expect(toShortTime('2026-01-31T09:30:59.999Z', {})).toMatch(/^2026-01-3\d \d\d:\d\d$/);
});
