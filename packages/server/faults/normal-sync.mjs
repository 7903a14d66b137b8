import { createRequire } from 'node:module';

/*
 * Preloaded into a server, lets its connections commit with `synchronous=NORMAL`, which does not wait for the disk: what
 * a test of durability must not take for durable.
 */
const engine = createRequire(import.meta.resolve('@memoryd/engine'));
const { prototype } = engine('better-sqlite3');
const { pragma } = prototype;

prototype.pragma = function (statement, ...options) {
  return pragma.call(this, statement.replace(/^synchronous\s*=.*/, 'synchronous = NORMAL'), ...options);
};
