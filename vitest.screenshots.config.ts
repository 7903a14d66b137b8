import { defineConfig } from 'vitest/config';

/** Makes the pictures of the dashboard in docs/images anew. */
export default defineConfig({
  test: {
    globalSetup: './scripts/folder-for-tests.mjs',
    include: ['apps/dashboard/tests/screenshots.ts'],
    env: { BROWSER_TESTS: 'required' },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
