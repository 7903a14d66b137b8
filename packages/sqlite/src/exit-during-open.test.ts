import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

const resolve = createRequire(import.meta.url).resolve;

// Loads the native library late in every thread, and writes a file before and after that.
const SLOW_LIBRARY = `
  const { writeFileSync } = require('node:fs');
  const { isMainThread } = require('node:worker_threads');
  const { dlopen } = process;
  process.dlopen = (...args) => {
    if (isMainThread || !args[1].includes('sqlite')) return dlopen.apply(process, args);
    writeFileSync('begun', '');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
    const loaded = dlopen.apply(process, args);
    writeFileSync('loaded', '');
    return loaded;
  };`;

const EXIT = `
  const { existsSync } = require('node:fs');
  const { openSqlite } = require(${JSON.stringify(resolve('@memoryd/sqlite'))});
  openSqlite({ path: 'memory.db', workingMax: 10 }).catch(() => {});
  setInterval(() => existsSync('begun') && process.exit(3), 5);`;

describe('a process that exits while a thread loads SQLite', () => {
  it('waits for the thread, and keeps its exit code', () => {
    const cwd = mkdtempSync(join(tmpdir(), 'memoryd-'));
    onTestFinished(() => rmSync(cwd, { recursive: true }));
    writeFileSync(join(cwd, 'slow-library.cjs'), SLOW_LIBRARY);
    writeFileSync(join(cwd, 'exit.cjs'), EXIT);
    const { status, stderr } = spawnSync(process.execPath, ['--require', './slow-library.cjs', 'exit.cjs'], { cwd });
    expect({ status, stderr: String(stderr) }).toEqual({ status: 3, stderr: '' });
    expect(existsSync(join(cwd, 'loaded'))).toBe(true);
  });
});
