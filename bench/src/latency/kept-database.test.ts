import { describe, expect, it } from 'vitest';
import { withTemporaryFolder } from '../temporary-folder.ts';
import { newKeptFolder, noteFilled, reusedFolder } from './kept-database.ts';

describe('a kept database', () => {
  const filling = { count: 1000, seed: 1, data: ['locomo'] };

  it('is found again by what it was filled with', () =>
    withTemporaryFolder(async (folder) => {
      const path = newKeptFolder(folder, filling);
      noteFilled(path, filling);
      expect(reusedFolder(folder, filling)).toBe(path);
    }));

  it('is not filled over', () =>
    withTemporaryFolder(async (folder) => {
      newKeptFolder(folder, filling);
      expect(() => newKeptFolder(folder, filling)).toThrow('--reuse');
    }));

  it('is refused where its filling was not finished', () =>
    withTemporaryFolder(async (folder) => {
      newKeptFolder(folder, filling);
      expect(() => reusedFolder(folder, filling)).toThrow('no filled database');
    }));

  it('is refused where it holds other texts', () =>
    withTemporaryFolder(async (folder) => {
      noteFilled(newKeptFolder(folder, filling), filling);
      expect(() => reusedFolder(folder, { ...filling, seed: 2 })).toThrow('other texts');
    }));
});
