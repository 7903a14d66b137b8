import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { toConnection } from './connection.fixture.ts';
import { formatConnection } from './report.ts';
import type { Machine } from './types.ts';

let machine: Machine;

beforeEach(() => {
  const home = mkdtempSync(join(tmpdir(), 'memoryd-report-'));
  machine = { platform: 'linux', env: {}, home, node: '/usr/bin/node', folders: { config: home, log: home } };
});

afterEach(() => rmSync(machine.home, { recursive: true, force: true }));

describe('the report of a connection', () => {
  const getImports = (user = 'ada') =>
    formatConnection(toConnection('claude-code', { user }), machine).filter((line) => line.includes('import'));

  it('the report of a connection names the command that imports earlier conversations, if there are any', () => {
    expect(getImports()).toEqual([]);
    mkdirSync(join(machine.home, '.claude/projects'), { recursive: true });
    const command = 'memoryd import --from claude-code --user ada --url http://127.0.0.1:8090';
    expect(getImports()).toEqual([`  Bring earlier conversations: ${command}`]);
  });

  it('the report of a connection quotes the name of a user for the shell', () => {
    mkdirSync(join(machine.home, '.claude/projects'), { recursive: true });
    expect(getImports("Ada L'Amour")[0]).toContain(` --user 'Ada L'\\''Amour' `);
  });
});
