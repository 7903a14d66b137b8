import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTimeZone } from './time-zone.ts';

describe('a time zone', () => {
  it.each([
    ['America/Los_Angeles', '2026-11-28T04:30:00.000Z', '2026-11-27T20:30:00.000-08:00'],
    // Clocks are set back at 9:00 UTC, so they show 1:30 twice.
    ['America/Los_Angeles', '2026-11-01T08:30:00.000Z', '2026-11-01T01:30:00.000-07:00'],
    ['America/Los_Angeles', '2026-11-01T09:30:00.000Z', '2026-11-01T01:30:00.000-08:00'],
    // Clocks are set forward at 10:00 UTC.
    ['America/Los_Angeles', '2026-03-08T09:59:59.999Z', '2026-03-08T01:59:59.999-08:00'],
    ['America/Los_Angeles', '2026-03-08T10:00:00.000Z', '2026-03-08T03:00:00.000-07:00'],
    ['Asia/Kolkata', '2026-11-28T18:30:00.000Z', '2026-11-29T00:00:00.000+05:30'],
    ['Pacific/Kiritimati', '2026-12-31T10:00:00.000Z', '2027-01-01T00:00:00.000+14:00'],
    ['Europe/London', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000+00:00'],
    ['-03:30', '2026-01-01T00:00:00.000Z', '2025-12-31T20:30:00.000-03:30'],
    ['Etc/UTC', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'],
    // The offset was -7:52:58.
    ['America/Los_Angeles', '1850-01-01T12:00:00.000Z', '1850-01-01T04:08:00.000-07:52'],
    // The year would be 10000 and -1.
    ['Asia/Kolkata', '9999-12-31T23:00:00.000Z', '9999-12-31T23:00:00.000Z'],
    ['America/Los_Angeles', '0000-01-01T00:00:00.000Z', '0000-01-01T00:00:00.000Z'],
  ])('%s shows %s as %s', (name, time, local) => {
    expect(createTimeZone(name).toLocal(time)).toBe(local);
  });

  it('shows every time as the same instant', () => {
    const zones = fc.constantFrom(
      'America/St_Johns',
      'Africa/Monrovia',
      'Asia/Kathmandu',
      'Pacific/Apia',
      'Etc/GMT+12',
    );
    const time = fc.date({
      noInvalidDate: true,
      min: new Date('0001-01-02T00:00Z'),
      max: new Date('9999-12-30T00:00Z'),
    });
    fc.assert(
      fc.property(zones, time, (name, date) => {
        expect(Date.parse(createTimeZone(name).toLocal(date.toISOString()))).toBe(date.getTime());
      }),
    );
  });

  it.each(['Mars/Olympus', '', 'Etc/Unknown', '2026-01-01', 'UTC\n'])(
    'a time zone cannot have the name "%s"',
    (name) => {
      expect(() => createTimeZone(name)).toThrow(
        new RangeError('timezone must be an IANA time zone name, such as Europe/Berlin or UTC'),
      );
    },
  );
});
