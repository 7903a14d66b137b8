import { expect, it } from 'vitest';
import { BLANKS } from './semantic-sources.ts';

it('takes for blank all that JavaScript trims', () => {
  const units = Array.from({ length: 0x1_0000 }, (_, unit) => String.fromCharCode(unit));
  expect(BLANKS).toBe(units.filter((unit) => unit.trim() === '').join(''));
});
