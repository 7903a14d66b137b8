export { lockFile } from './lock.fixture.ts';
export { migrate } from './migrate.ts';
export { openNewSqlite } from './open.fixture.ts';
export { openForWriting } from './open-connection.ts';
export { MIGRATIONS } from './schema.ts';
