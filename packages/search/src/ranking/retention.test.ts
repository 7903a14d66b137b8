import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { getRetention, RETENTION_STEPS, type Retainable, WHOLE_RETENTION } from './retention.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const STORED_AT = Date.UTC(2026, 0, 1);

const unused: Retainable = { importance: 0.5, storedAt: STORED_AT, accessCount: 0, accessedAt: null };
const afterDays = (days: number, fields: Partial<Retainable> = {}) =>
  getRetention({ ...unused, ...fields }, STORED_AT + days * DAY_MS);

/** Any memory at any time, including times before it was stored, as after a clock was set back. */
const anyTime = fc.integer({ min: Date.UTC(0), max: Date.UTC(9999) });
const anyMemory: fc.Arbitrary<Retainable> = fc.record({
  importance: fc.double({ min: 0, max: 1, noNaN: true }),
  storedAt: anyTime,
  accessCount: fc.nat(1_000_000_000),
  accessedAt: fc.option(anyTime),
});
/** A memory whose last use is after its storing and before the evaluation. */
const ordinary = fc
  .record({
    importance: fc.double({ min: 0, max: 1, noNaN: true }),
    accessCount: fc.integer({ min: 1, max: 100_000 }),
    toUse: fc.integer({ min: 0, max: 5000 * DAY_MS }),
    toNow: fc.integer({ min: 0, max: 5000 * DAY_MS }),
  })
  .map(({ importance, accessCount, toUse, toNow }) => ({
    memory: { importance, storedAt: STORED_AT, accessCount, accessedAt: STORED_AT + toUse },
    now: STORED_AT + toUse + toNow,
  }));
const later = fc.integer({ min: 1, max: 5000 * DAY_MS });

describe('retention', () => {
  it('retention is from 0 to 1 for any memory at any time', () => {
    fc.assert(
      fc.property(anyMemory, anyTime, (memory, now) => {
        const retention = getRetention(memory, now);
        expect(retention).toBeGreaterThan(0);
        expect(retention).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('never increases as time passes', () => {
    fc.assert(
      fc.property(anyMemory, anyTime, later, (memory, now, ms) => {
        expect(getRetention(memory, now + ms)).toBeLessThanOrEqual(getRetention(memory, now));
      }),
    );
  });

  it('rounds to 1 for a new memory, whatever its number of uses', () => {
    const soon = fc.integer({ min: 0, max: DAY_MS });
    fc.assert(
      fc.property(anyMemory, soon, soon, ({ importance, accessCount }, toUse, age) => {
        const now = STORED_AT + age;
        const used = { importance, storedAt: STORED_AT, accessCount, accessedAt: STORED_AT + Math.min(toUse, age) };
        fc.pre(getRetention({ ...used, accessCount: 0, accessedAt: null }, now) >= WHOLE_RETENTION);
        expect(Math.round(getRetention(used, now) * RETENTION_STEPS)).toBe(RETENTION_STEPS);
      }),
    );
  });

  it('never decreases when a memory is used', () => {
    fc.assert(
      fc.property(ordinary, fc.integer({ min: 1, max: 1000 }), ({ memory, now }, uses) => {
        const used = { ...memory, accessCount: memory.accessCount + uses, accessedAt: now };
        expect(getRetention(used, now)).toBeGreaterThanOrEqual(getRetention(memory, now));
      }),
    );
  });

  it('never decreases if the last use is later', () => {
    fc.assert(
      fc.property(ordinary, fc.double({ min: 0, max: 1, noNaN: true }), ({ memory, now }, part) => {
        const accessedAt = memory.accessedAt + Math.floor(part * (now - memory.accessedAt));
        expect(getRetention({ ...memory, accessedAt }, now)).toBeGreaterThanOrEqual(getRetention(memory, now));
      }),
    );
  });

  it('never decreases if the importance is higher', () => {
    fc.assert(
      fc.property(anyMemory, anyTime, fc.double({ min: 0, max: 1, noNaN: true }), (memory, now, importance) => {
        const [less, more] = [memory.importance, importance].sort((a, b) => a - b);
        const retentions = [less, more].map((value) => getRetention({ ...memory, importance: value as number }, now));
        expect(retentions[0]).toBeLessThanOrEqual(retentions[1] as number);
      }),
    );
  });

  it('depends on time, importance and use at medium values', () => {
    const retention = afterDays(60);
    expect(afterDays(61)).toBeLessThan(retention);
    expect(afterDays(60, { importance: 0.6 })).toBeGreaterThan(retention);
    expect(afterDays(60, { accessCount: 1, accessedAt: STORED_AT })).toBeGreaterThan(retention);
    expect(afterDays(60, { accessCount: 1, accessedAt: STORED_AT + 30 * DAY_MS })).toBeGreaterThan(
      afterDays(60, { accessCount: 1, accessedAt: STORED_AT }),
    );
  });

  it('retention is .5 after 30 days for a memory of importance .5 without uses', () => {
    expect(afterDays(30)).toBeCloseTo(0.5, 9);
    expect(afterDays(365)).toBeGreaterThan(0);
  });

  it('reaches .5 after 4 days for importance 0 and after 220 days for importance 1', () => {
    expect(afterDays(4, { importance: 0 })).toBeCloseTo(0.5, 1);
    expect(afterDays(220, { importance: 1 })).toBeCloseTo(0.5, 1);
  });

  it('stays at its initial value in the first hour, and if the storing time is in the future', () => {
    expect(afterDays(0)).toBe(afterDays(1 / 24));
    expect(afterDays(-1000)).toBe(afterDays(0));
    expect(afterDays(1)).toBeLessThan(afterDays(0));
  });

  it('approximates the exact sum over all uses if the uses are evenly spread', () => {
    const days = 100;
    const uses = 49;
    const ages = Array.from({ length: uses + 1 }, (_, i) => days - i * 2);
    const activation = Math.log(ages.reduce((sum, age) => sum + age ** -0.5, 0));
    const exact = 1 / (1 + Math.exp((-Math.log(30) / 2 - activation) / 0.4));
    const accessedAt = STORED_AT + (days - 2) * DAY_MS;
    expect(afterDays(days, { accessCount: uses, accessedAt })).toBeCloseTo(exact, 3);
  });
});
