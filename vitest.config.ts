import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      'packages/*/src/**/*.test.ts',
      'packages/*/conformance/**/*.test.ts',
      'packages/server/faults/**/*.test.ts',
      'packages/server/fuzz/**/*.test.ts',
      'bench/src/**/*.test.ts',
      'docs/*.test.ts',
    ],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // Most of the time of most tests goes by waiting for processes of their own.
    maxWorkers: 2,
  },
});
