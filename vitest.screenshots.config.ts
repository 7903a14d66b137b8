import { defineConfig } from 'vitest/config';

/** Takes the pictures of the dashboard in docs/images. */
export default defineConfig({
  test: {
    globalSetup: './scripts/folder-for-tests.mjs',
    include: ['apps/dashboard/tests/screenshots.ts'],
    env: { BROWSER_TESTS: 'required' },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
