import { defineConfig } from 'vitest/config';

/** The faults at their full length; `npm test` has them in a short form. */
export default defineConfig({
  test: {
    globalSetup: './scripts/folder-for-tests.mjs',
    include: ['packages/server/faults/**/*.test.ts'],
    env: { FAULTS_KILLS: process.env.FAULTS_KILLS ?? '60' },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: 'forks',
    disableConsoleIntercept: true,
    reporters: ['verbose'],
  },
});
