import { expect, it } from 'vitest';
import { WHITE_SPACE } from './semantic-sources.ts';

it('WHITE_SPACE contains exactly the characters that JavaScript trims', () => {
  const units = Array.from({ length: 0x1_0000 }, (_, unit) => String.fromCharCode(unit));
  expect(WHITE_SPACE).toBe(units.filter((unit) => unit.trim() === '').join(''));
});
