import { validate, version } from 'uuid';
import { expect, it } from 'vitest';
import { uuidV7 } from './system.ts';

it('uuidV7 returns unique UUIDs of version 7 that sort in order of creation', () => {
  const ids = Array.from({ length: 5000 }, () => uuidV7.next());
  expect(new Set(ids).size).toBe(5000);
  expect(ids.every((id) => validate(id) && version(id) === 7)).toBe(true);
  expect(ids.toSorted()).toEqual(ids);
});

it('uuidV7 returns ids whose last six bytes are unique', () => {
  const tails = Array.from({ length: 2000 }, () => uuidV7.next().slice(-12));
  expect(new Set(tails).size).toBe(2000);
});
