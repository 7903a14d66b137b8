import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine } from './engine.ts';
import { openEngine } from './open-engine.ts';

describe('recent hook settings', () => {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-hooks-'));
  const dbPath = join(folder, 'memory.db');
  let engine: Engine;
  let other: Engine;

  beforeAll(async () => {
    engine = await openEngine(dbPath, { embedder: 'none' });
    other = await openEngine(dbPath, { embedder: 'none' });
  });
  afterAll(async () => {
    await engine.close();
    await other.close();
    rmSync(folder, { recursive: true });
  });

  it('recent hook settings show a change of the same engine at once, even if a read was in progress', async () => {
    const reading = engine.hooks.getRecentSettings('default', 'ada');
    const changed = await engine.hooks.putSettings('default', 'ada', { paused: true });
    await reading;
    expect(changed).toEqual({ paused: true, ignored_folders: [] });
    expect(await engine.hooks.getRecentSettings('default', 'ada')).toEqual(changed);
    expect(await engine.hooks.getRecentSettings('default', undefined)).toMatchObject({ paused: false });
    expect(await engine.hooks.getRecentSettings('other', 'ada')).toMatchObject({ paused: false });
  });

  it('recent hook settings show a change by another engine of the same database', async () => {
    await engine.hooks.putSettings('default', 'ben', { ignored_folders: ['/one'] });
    expect(await other.hooks.getRecentSettings('default', 'ben')).toMatchObject({ ignored_folders: ['/one'] });
    await engine.hooks.putSettings('default', 'ben', { ignored_folders: ['/two'] });
    await expect
      .poll(async () => (await other.hooks.getRecentSettings('default', 'ben')).ignored_folders)
      .toEqual(['/two']);
  });

  it('recent hook settings are not read for an invalid user or namespace', async () => {
    const refusal = expect.objectContaining({ code: 'INVALID_REQUEST' });
    await expect(engine.hooks.getRecentSettings('default', '')).rejects.toEqual(refusal);
    await expect(engine.hooks.putSettings('a\0', 'ada', { paused: true })).rejects.toEqual(refusal);
    await expect(engine.hooks.putSettings('default', 'ada', { paused: 1 as never })).rejects.toEqual(refusal);
  });
});
