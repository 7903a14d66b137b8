export { inspectPostgres } from './migrate-database.ts';
export { openPostgres } from './open.ts';
