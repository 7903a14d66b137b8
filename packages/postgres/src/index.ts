export { inspectPostgres } from './migrate.ts';
export { openPostgres } from './open.ts';
