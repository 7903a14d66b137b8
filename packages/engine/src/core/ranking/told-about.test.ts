import { describe, expect, it } from 'vitest';
import { isToldAbout } from './told-about.ts';

describe('a memory', () => {
  const at = (text: string) => Date.parse(`${text}T12:00:00Z`);

  it.each([
    [{ year: 2023, month: 5, day: 7 }, '2023-05-07', true],
    [{ year: 2023, month: 5, day: 7 }, '2023-05-14', true],
    [{ year: 2023, month: 5, day: 7 }, '2023-05-05', false],
    [{ year: 2023, month: 5, day: 7 }, '2023-05-16', false],
    [{ year: 2023, month: 5, day: 7 }, '2024-05-07', false],
    [{ month: 5, day: 7 }, '2024-05-08', true],
    [{ month: 12, day: 31 }, '2024-01-02', true],
    [{ month: 1, day: 1 }, '2023-12-31', true],
    [{ year: 2023, month: 5 }, '2023-05-31', true],
    [{ year: 2023, month: 5 }, '2023-06-05', true],
    [{ year: 2023, month: 5 }, '2023-06-20', false],
  ])('may speak of %j when created on %s: %j', (date, created, told) => {
    expect(isToldAbout(date, at(created))).toBe(told);
  });
});
