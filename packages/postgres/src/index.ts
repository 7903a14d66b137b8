export { inspectPostgres } from './inspect.ts';
export { openPostgres } from './open.ts';
