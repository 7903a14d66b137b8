/** Databases for tests in other packages. Requires vitest and a server. */

export { type DatabaseServer, TEST_CONNECTIONS, usePostgres } from './database.fixture.ts';
