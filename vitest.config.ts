import { defineConfig } from 'vitest/config';

/** Tests that need the PostgreSQL server at TEST_DATABASE_URL. */
const POSTGRES = ['packages/postgres/src/**/*.test.ts', 'packages/*/**/*.postgres.test.ts'];

/** Conformance tests of REST endpoints that use the database. These tests run on SQLite and on PostgreSQL. */
const ON_POSTGRES_TOO = [
  ...[
    'changes',
    'concurrency',
    'consolidations',
    'context',
    'corrections',
    'counts',
    'date-questions',
    'durability',
    'events',
    'external-ids',
    'forget',
    'health',
    'history',
    'hooks',
    'filters',
    'idempotency',
    'import-files',
    'imports',
  ],
  ...[
    'listing',
    'map',
    'missing-database',
    'outdated-facts',
    'recall',
    'recalls',
    'related',
    'reranking',
    'session',
    'similar',
    'store',
    'store-batch',
    'tiers',
    'two-users',
    'update',
    'user-scopes',
    'users',
    'what-holds',
  ],
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
    // Long, because a loaded machine may be slow. A poll ends as soon as its condition is met.
    expect: { poll: { timeout: 20_000 } },
    pool: 'forks',
    // May exceed the number of processors, because tests spend time waiting.
    maxWorkers: 3,
    projects: [
      project(
        'fast',
        [
          'packages/*/src/**/*.test.ts',
          'packages/*/conformance/**/*.test.ts',
          'bench/src/**/*.test.ts',
          'apps/*/src/**/*.test.ts',
          'docs/{dashboard,documents,version}.test.ts',
          'scripts/*.test.mjs',
        ],
        { exclude: [...POSTGRES, 'packages/client/conformance/runtimes.test.ts'], isolate: false },
      ),
      project('postgres', [...POSTGRES, ...ON_POSTGRES_TOO], { env: { CONFORMANCE_DATABASE: 'postgres' } }),
      project('faults', ['packages/server/faults/**/*.test.ts']),
      project('fuzz', ['packages/server/fuzz/**/*.test.ts']),
      project('protocol', ['packages/server/protocol/**/*.test.ts']),
      project('agents', ['packages/server/agents/**/*.test.ts'], {
        globalSetup: './packages/server/agents/install.ts',
      }),
      project('generators', ['packages/server/generators/**/*.test.ts'], {
        globalSetup: './packages/server/generators/install.ts',
      }),
      project('models', ['packages/server/models/**/*.test.ts']),
      project('browser', ['apps/*/tests/**/*.test.ts', 'packages/client/conformance/runtimes.test.ts']),
      project('packages', ['docs/{commands,examples,languages,packages}.test.ts', 'deploy/*.test.ts']),
    ],
  },
});
