import { STATE_SIZE } from '@memoryd/minilm/parts';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { areWhole, nearnessTo, packStates } from './token-states.ts';

const states = (constraints: { minLength: number; maxLength: number }) =>
  fc
    .array(fc.int8Array({ min: -127, max: 127, minLength: STATE_SIZE, maxLength: STATE_SIZE }), constraints)
    .map((tokens) => Int8Array.from(tokens.flatMap((token) => [...token])));

function tokensOf(some: Int8Array): Int8Array[] {
  return Array.from({ length: some.length / STATE_SIZE }, (_, i) =>
    some.subarray(i * STATE_SIZE, (i + 1) * STATE_SIZE),
  );
}

function cosine(one: Int8Array, other: Int8Array): number {
  return one.reduce((sum, value, i) => sum + value * (other[i] as number), 0) / 127 ** 2;
}

it('is the mean over the query’s tokens of the nearest token, in the best part', () => {
  fc.assert(
    fc.property(
      states({ minLength: 1, maxLength: 5 }),
      fc.array(states({ minLength: 0, maxLength: 6 }), { maxLength: 4 }),
      (query, parts) => {
        const nearnesses = parts
          .filter(({ length }) => length > 0)
          .map((part) => {
            const nearest = tokensOf(query).map((token) =>
              Math.max(0, ...tokensOf(part).map((own) => cosine(token, own))),
            );
            return nearest.reduce((sum, value) => sum + value, 0) / nearest.length;
          });
        const expected = nearnesses.length === 0 ? Number.NaN : Math.max(...nearnesses);
        const told = nearnessTo(query)(packStates(parts));
        if (Number.isNaN(expected)) expect(told).toBeNaN();
        else expect(told).toBeCloseTo(expected, 10);
      },
    ),
  );
});

it('reads nothing beyond a text that says that it has more tokens', () => {
  const query = new Int8Array(STATE_SIZE).fill(1);
  const packed = packStates([new Int8Array(3 * STATE_SIZE).fill(1)]);
  packed.writeUInt16LE(65_535, 0);
  expect(areWhole(packed)).toBe(false);
  expect(nearnessTo(query)(packed)).toBeLessThan(1);
});

it('goes through a text of a hundred thousand tokens', () => {
  const part = Int8Array.from({ length: 254 * STATE_SIZE }, (_, i) => (i % STATE_SIZE === 0 ? 127 : 0));
  const query = Int8Array.from({ length: STATE_SIZE }, (_, i) => (i === 0 ? 127 : 0));
  expect(nearnessTo(query)(packStates(Array(400).fill(part)))).toBe(1);
});
