import { defineConfig } from 'vitest/config';

/** Tests of a PostgreSQL server, which TEST_DATABASE_URL names. */
const POSTGRES = ['packages/postgres/src/**/*.test.ts', 'packages/*/**/*.postgres.test.ts'];

/** The verbs of the REST interface that rest on the database, which are tested on a PostgreSQL server too. */
const ON_POSTGRES_TOO = [
  ...['concurrency', 'consolidations', 'durability', 'events', 'forget', 'history', 'idempotency', 'listing'],
  ...['recall', 'session', 'store', 'store-batch', 'tiers', 'two-users', 'update', 'user-scopes', 'users'],
].map((name) => `packages/server/conformance/${name}.test.ts`);

const project = (name: string, include: string[], options: object = {}) => ({
  extends: true as const,
  test: { name, include, ...options },
});

export default defineConfig({
  test: {
    globalSetup: './scripts/folder-for-tests.mjs',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Longer than anything takes on a loaded machine. A test that waits ends as soon as its condition holds.
    expect: { poll: { timeout: 20_000 } },
    pool: 'forks',
    // More than processors, since tests also wait.
    maxWorkers: 3,
    projects: [
      project(
        'fast',
        [
          'packages/*/src/**/*.test.ts',
          'packages/*/conformance/**/*.test.ts',
          'bench/src/**/*.test.ts',
          'apps/*/src/**/*.test.ts',
          'docs/{documents,version}.test.ts',
          'scripts/*.test.mjs',
        ],
        { exclude: [...POSTGRES, 'packages/client/conformance/runtimes.test.ts'], isolate: false },
      ),
      project('postgres', [...POSTGRES, ...ON_POSTGRES_TOO], { env: { CONFORMANCE_DATABASE: 'postgres' } }),
      project('faults', ['packages/server/faults/**/*.test.ts']),
      project('fuzz', ['packages/server/fuzz/**/*.test.ts']),
      project('browser', ['apps/*/tests/**/*.test.ts', 'packages/client/conformance/runtimes.test.ts']),
      project('packages', ['docs/{commands,examples,packages}.test.ts', 'deploy/*.test.ts']),
    ],
  },
});
