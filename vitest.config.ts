import { defineConfig } from 'vitest/config';

const { TEST_DATABASE_URL, TEST_EVERY_DATABASE } = process.env;

if (!TEST_DATABASE_URL) {
  process.stderr.write('Skipped on a PostgreSQL server: TEST_DATABASE_URL names none (scripts/postgres-for-tests).\n');
}

const conformance = (...names: string[]) => names.map((name) => `packages/server/conformance/${name}.test.ts`);

/** The verbs of the REST interface, which rest on the database most: run on every kind of database. */
const ON_ANY = conformance('forget', 'recall', 'session', 'store', 'update');

/** What else rests on it: beside files, on a server. */
const ON_SERVER = conformance(
  ...['concurrency', 'consolidations', 'durability', 'events', 'history', 'idempotency', 'listing'],
  ...['store-batch', 'tiers'],
);

const isEverywhere = TEST_EVERY_DATABASE !== undefined;

/** What of it one session at a time is enough for: on PGlite, where that is asked for. */
const ON_PGLITE_TOO = conformance('consolidations', 'events', 'history', 'idempotency', 'listing');

/** The rest of the REST interface and of MCP: on files, and on every kind of database where that is asked for. */
const ELSEWHERE_TOO = conformance(
  ...['browser', 'distil', 'documentation', 'errors', 'languages'],
  ...['mcp', 'mcp-http', 'mcp-memory-api', 'redaction'],
);

/** Of that, what has several processes at a time, or limits of a second: PGlite is one session, in the process of the test. */
const ON_SERVER_TOO = conformance('access', 'embedders', 'mcp-access', 'meaning', 'metrics-logs-cors', 'overload');

export default defineConfig({
  test: {
    globalSetup: './scripts/folder-for-tests.mjs',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Longer than anything takes on a machine that does much else: what comes is waited for no longer than it takes.
    expect: { poll: { timeout: 20_000 } },
    pool: 'forks',
    // Most of the time of most tests goes by waiting for processes of their own.
    maxWorkers: 3,
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
            'apps/*/src/**/*.test.ts',
            'apps/*/tests/**/*.test.ts',
            'docs/*.test.ts',
            'deploy/*.test.ts',
          ],
        },
      },
      {
        extends: true,
        test: {
          name: 'pglite',
          include: [...ON_ANY, ...(isEverywhere ? [...ON_PGLITE_TOO, ...ELSEWHERE_TOO] : [])],
          env: { CONFORMANCE_DATABASE: 'pglite' },
        },
      },
      ...(TEST_DATABASE_URL
        ? [
            {
              extends: true as const,
              test: {
                name: 'postgres',
                include: [...ON_ANY, ...ON_SERVER, ...(isEverywhere ? [...ELSEWHERE_TOO, ...ON_SERVER_TOO] : [])],
                env: { CONFORMANCE_DATABASE: 'postgres' },
              },
            },
          ]
        : []),
    ],
  },
});
