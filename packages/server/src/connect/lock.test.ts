import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withLock } from './lock.ts';
import { getMachine, getOwnFiles } from './machine.ts';
import type { Machine } from './types.ts';

let home: string;
let machine: Machine;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'memoryd-lock-'));
  machine = { ...getMachine(), home, folders: { config: join(home, 'a', 'b'), log: join(home, 'log') } };
});

afterEach(() => rmSync(home, { recursive: true, force: true }));

describe('the lock of connect', () => {
  it('runs one action after the other, and leaves no file or folder', async () => {
    const events: string[] = [];
    const run = (name: string) =>
      withLock(machine, async () => {
        events.push(`${name} starts`);
        await delay(20);
        events.push(`${name} ends`);
      });
    await Promise.all([run('one'), run('two')]);
    expect(events).toEqual(['one starts', 'one ends', 'two starts', 'two ends']);
    expect(readdirSync(home)).toEqual([]);
  });

  it('the lock is free again after an action that fails', async () => {
    await expect(withLock(machine, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await withLock(machine, async () => 'done')).toBe('done');
  });

  it('ignores the lock of a process that was killed', async () => {
    const { lock } = getOwnFiles(machine);
    mkdirSync(dirname(lock), { recursive: true });
    writeFileSync(lock, String(spawnSync(process.execPath, ['--version']).pid));
    expect(await withLock(machine, async () => existsSync(lock))).toBe(true);
    expect(existsSync(lock)).toBe(false);
  });
});
