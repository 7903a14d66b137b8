import { defineConfig } from 'vitest/config';

const { TEST_DATABASE_URL } = process.env;

/** The REST interface where it rests on the database: run on each kind that there is. */
const CONFORMANCE = [
  'consolidations',
  'distil',
  'durability',
  'events',
  'forget',
  'history',
  'idempotency',
  'listing',
  'recall',
  'session',
  'store',
  'store-batch',
  'tiers',
  'update',
].map((name) => `packages/server/conformance/${name}.test.ts`);

/** Those whose tests need several processes on one database, or the bundled model: on PostgreSQL alone, beside files. */
const CONFORMANCE_SHARED = ['access', 'concurrency', 'meaning'].map(
  (name) => `packages/server/conformance/${name}.test.ts`,
);

export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: 'forks',
    // Most of the time of most tests goes by waiting for processes of their own.
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: 'file',
          include: [
            'packages/*/src/**/*.test.ts',
            'packages/*/conformance/**/*.test.ts',
            'packages/server/faults/**/*.test.ts',
            'packages/server/fuzz/**/*.test.ts',
            'bench/src/**/*.test.ts',
            'docs/*.test.ts',
          ],
        },
      },
      {
        extends: true,
        test: { name: 'pglite', include: CONFORMANCE, env: { CONFORMANCE_DATABASE: 'pglite' } },
      },
      ...(TEST_DATABASE_URL
        ? [
            {
              extends: true as const,
              test: {
                name: 'postgres',
                include: [...CONFORMANCE, ...CONFORMANCE_SHARED],
                env: { CONFORMANCE_DATABASE: 'postgres' },
              },
            },
          ]
        : []),
    ],
  },
});
