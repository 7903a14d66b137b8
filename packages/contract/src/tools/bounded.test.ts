import fc from 'fast-check';
import { expect, it } from 'vitest';
import { firstThatFit } from './bounded.ts';

const getBytes = (items: string[]) => items.reduce((sum, item) => sum + Buffer.byteLength(JSON.stringify(item)), 0);

it('firstThatFit returns the longest prefix of a list within 128 KiB, but at least one item', () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 150_000 }), { maxLength: 12 });
  fc.assert(
    fc.property(sizes, (lengths) => {
      const items = lengths.map((length) => 'é'.repeat(length / 2));
      const fitting = firstThatFit(items);
      expect(fitting).toEqual(items.slice(0, fitting.length));
      if (fitting.length < items.length) {
        expect(fitting.length).toBeGreaterThan(0);
        expect(getBytes(items.slice(0, fitting.length + 1))).toBeGreaterThan(128 * 1024);
      }
      if (fitting.length > 1) expect(getBytes(fitting)).toBeLessThanOrEqual(128 * 1024);
    }),
  );
});
