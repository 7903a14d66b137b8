import { STATE_SIZE } from '@memoryd/minilm/parts';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Nearness } from './nearness.ts';
import { areIntactStates, packStates } from './token-states.ts';

/** Returns the score of a memory with an empty cache. */
function measure(query: Int8Array, packed: Buffer): number {
  const nearness = new Nearness({ maxBytes: 0 });
  nearness.setQuery(query);
  return nearness.addAndScore(1, packed);
}

const states = (constraints: { minLength: number; maxLength: number }) =>
  fc
    .array(fc.int8Array({ min: -127, max: 127, minLength: STATE_SIZE, maxLength: STATE_SIZE }), constraints)
    .map((tokens) => Int8Array.from(tokens.flatMap((token) => [...token])));

function getTokens(some: Int8Array): Int8Array[] {
  return Array.from({ length: some.length / STATE_SIZE }, (_, i) =>
    some.subarray(i * STATE_SIZE, (i + 1) * STATE_SIZE),
  );
}

function cosine(one: Int8Array, other: Int8Array): number {
  return one.reduce((sum, value, i) => sum + value * (other[i] as number), 0) / 127 ** 2;
}

it('nearness is the mean over all query tokens of the best cosine in a part of the text, for the best part', () => {
  fc.assert(
    fc.property(
      states({ minLength: 1, maxLength: 5 }),
      fc.array(states({ minLength: 0, maxLength: 6 }), { maxLength: 4 }),
      (query, parts) => {
        const nearnesses = parts
          .filter(({ length }) => length > 0)
          .map((part) => {
            const nearest = getTokens(query).map((token) =>
              Math.max(0, ...getTokens(part).map((own) => cosine(token, own))),
            );
            return nearest.reduce((sum, value) => sum + value, 0) / nearest.length;
          });
        const expected = nearnesses.length === 0 ? Number.NaN : Math.max(...nearnesses);
        const score = measure(query, packStates(parts));
        if (Number.isNaN(expected)) expect(score).toBeNaN();
        else expect(score).toBeCloseTo(expected, 10);
      },
    ),
  );
});

it('nearness does not read past the token states if the stored token count is too large', () => {
  const query = new Int8Array(STATE_SIZE).fill(1);
  const packed = packStates([new Int8Array(3 * STATE_SIZE).fill(1)]);
  packed.writeUInt16LE(65_535, 0);
  expect(areIntactStates(packed)).toBe(false);
  expect(measure(query, packed)).toBeLessThan(1);
});

it('nearness can be computed for a text of a hundred thousand tokens', () => {
  const part = Int8Array.from({ length: 254 * STATE_SIZE }, (_, i) => (i % STATE_SIZE === 0 ? 127 : 0));
  const query = Int8Array.from({ length: STATE_SIZE }, (_, i) => (i === 0 ? 127 : 0));
  expect(measure(query, packStates(Array(400).fill(part)))).toBe(1);
});

it('Nearness caches the latest token states up to its limit until they are forgotten', () => {
  const query = Int8Array.from({ length: 3 * STATE_SIZE }, (_, i) => (i % 7) - 3);
  const maxBytes = 3000;
  const ordinals = [...Array(10).keys()];
  const change = fc.record({
    ordinal: fc.nat({ max: 9 }),
    packed: fc.option(states({ minLength: 0, maxLength: 20 }).map((part) => packStates([part]))),
  });
  fc.assert(
    fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
      const fill = new Float64Array(2);
      const nearness = new Nearness({ maxBytes, fill });
      nearness.setQuery(query);
      const latest = new Map<number, Buffer>();
      const added: typeof changes = [];
      for (const { ordinal, packed } of changes) {
        nearness.forget(ordinal);
        latest.delete(ordinal);
        if (packed) {
          const hadRoom = nearness.hasRoom(packed.length);
          const before = ordinals.filter((some) => nearness.has(some));
          expect(nearness.addAndScore(ordinal, packed)).toBe(measure(query, packed));
          if (hadRoom) expect(ordinals.filter((some) => nearness.has(some))).toEqual(expect.arrayContaining(before));
          latest.set(ordinal, packed);
          added.unshift({ ordinal, packed });
        }
        const cached = ordinals.filter((some) => nearness.getScore(some) !== undefined);
        for (const some of cached) expect(nearness.getScore(some)).toBe(measure(query, latest.get(some) as Buffer));
        const bytes = getBytes(cached.map((some) => latest.get(some)));
        expect(bytes).toBeLessThanOrEqual(maxBytes);
        expect([...fill]).toEqual([cached.length, bytes]);
        const recent = added.filter((_, i) => 2 * getBytes(added.slice(0, i + 1).map((one) => one.packed)) < maxBytes);
        const expected = recent.filter((one) => latest.get(one.ordinal) === one.packed).map((one) => one.ordinal);
        expect(cached).toEqual(expect.arrayContaining(expected));
      }
    }),
  );
});

function getBytes(packed: (Buffer | null | undefined)[]): number {
  return packed.reduce((sum, one) => sum + (one?.length ?? 0), 0);
}
