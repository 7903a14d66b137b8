import { createRequire } from 'node:module';

/*
 * Preloaded into a server, makes its connections commit with `synchronous=NORMAL`, which does not wait for the disk. A
 * durability test must detect that.
 */
const engine = createRequire(import.meta.resolve('@memoryd/engine'));
const { prototype } = engine('better-sqlite3');
const { pragma } = prototype;

prototype.pragma = function (statement, ...options) {
  return pragma.call(this, statement.replace(/^synchronous\s*=.*/, 'synchronous = NORMAL'), ...options);
};
