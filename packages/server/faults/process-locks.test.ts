import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openEngine } from '@memoryd/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTemporaryFolder } from '../conformance/folders.ts';

const program = fileURLToPath(new URL('two-engines.mjs', import.meta.url));

/** User id of `nobody`. File modes do not restrict root, so root runs the program as this user. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/** Returns true if Python has SQLite. Throws in CI if not, so that no test is skipped there. */
function hasPython(): boolean {
  const { status, error, stderr } = spawnSync('python3', ['-c', 'import sqlite3'], { encoding: 'utf8' });
  if (status === 0) return true;
  if (process.env.CI) throw new Error(`python3 cannot import sqlite3: ${error ?? stderr}`);
  // biome-ignore lint/suspicious/noConsole: prints why tests were skipped
  console.log(`skipped, because python3 cannot import sqlite3: ${error ?? stderr}`);
  return false;
}

/** Opens the file with Python's SQLite, runs a statement, closes the file, and returns the first column. */
function runInPython(dbPath: string, sql: string): number {
  const code =
    'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); print(c.execute(sys.argv[2]).fetchone()[0]); c.close()';
  const { status, stdout, stderr } = spawnSync('python3', ['-c', code, dbPath, sql], { encoding: 'utf8' });
  expect(status, stderr).toBe(0);
  return Number(stdout);
}

async function perform(child: ChildProcess, act: string, argument?: string): Promise<unknown> {
  child.send({ act, argument });
  const [{ result }] = await once(child, 'message');
  return result;
}

describe.runIf(hasPython())('a process that is killed after another SQLite has opened and closed its file', () => {
  it.each([
    ['forgetInSecondEngine', 'closed'],
    ['verifyReadOnly', 'UNAVAILABLE'],
  ])('keeps the stores that it acknowledged before and after that (%s)', async (act, result) => {
    const folder = createTemporaryFolder();
    const dbPath = join(folder, 'memory.db');
    if (isRoot) chownSync(folder, NOBODY, NOBODY);
    const child = fork(program, [dbPath], isRoot ? { uid: NOBODY, gid: NOBODY } : {});
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child, 'message');
    const ids = [await perform(child, 'store', 'before')];
    // Empties the log.
    expect(runInPython(dbPath, 'PRAGMA wal_checkpoint(TRUNCATE)')).toBe(0);
    expect(await perform(child, act)).toBe(result);
    expect(runInPython(dbPath, 'SELECT count(*) FROM memory')).toBe(1);
    ids.push(await perform(child, 'store', 'after'));
    child.kill('SIGKILL');
    await once(child, 'exit');
    const engine = await openEngine({ dbPath, embedder: 'none', consolidationIntervalSeconds: 0 });
    onTestFinished(() => engine.close());
    const memories = engine.namespace('default');
    const texts = await Promise.all(ids.map(async (id) => (await memories.memory(String(id))).content));
    expect(texts).toEqual(['before', 'after']);
  });
});
