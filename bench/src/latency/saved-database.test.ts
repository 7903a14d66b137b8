import { describe, expect, it } from 'vitest';
import { withTemporaryFolder } from '../temporary-folder.ts';
import { createDatabaseFolder, getFilledFolder, markFilled } from './saved-database.ts';

describe('a saved database', () => {
  const filling = { count: 1000, seed: 1, data: ['locomo'] };

  it('a saved database is returned for the count, seed and data sets with which it was filled', () =>
    withTemporaryFolder(async (folder) => {
      const path = createDatabaseFolder(folder, filling);
      markFilled(path, filling);
      expect(getFilledFolder(folder, filling)).toBe(path);
    }));

  it('a saved database is not overwritten', () =>
    withTemporaryFolder(async (folder) => {
      createDatabaseFolder(folder, filling);
      expect(() => createDatabaseFolder(folder, filling)).toThrow('--reuse');
    }));

  it('a saved database is rejected if it was filled only partly', () =>
    withTemporaryFolder(async (folder) => {
      createDatabaseFolder(folder, filling);
      expect(() => getFilledFolder(folder, filling)).toThrow('contains no filled database');
    }));

  it('a saved database is rejected if it was filled with other texts', () =>
    withTemporaryFolder(async (folder) => {
      markFilled(createDatabaseFolder(folder, filling), filling);
      expect(() => getFilledFolder(folder, { ...filling, seed: 2 })).toThrow('other texts');
    }));
});
