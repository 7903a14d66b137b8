import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../packages/server/conformance/folders.ts';
import { startProcessClient } from '../packages/server/conformance/under-test.ts';
import { canTrace } from '../packages/server/faults/system-calls.ts';
import { SETTING_NAMES } from '../packages/server/src/settings/names.ts';
import { isThere } from './tools.ts';

const path = fileURLToPath(new URL('systemd/memoryd.service', import.meta.url));
const unit = readFileSync(path, 'utf8');
const getValues = (name: string) =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value ?? '');
const systemdIsThere = isThere('systemd-analyze');
const analyze = (...args: string[]) => execFileSync('systemd-analyze', args, { encoding: 'utf8', stdio: 'pipe' });

/** How exposed systemd thinks a service is: from 0, not at all, to 100; most are above 90. */
const MAX_EXPOSURE = 15;

/**
 * Calls that the unit refuses and the service works without. V8 asks for protection keys, and uses `pkey_mprotect` only if it
 * gets them; SQLite as root changes the owner of files.
 */
const REFUSED_WITHOUT_HARM = ['pkey_alloc', 'fchown'];

describe('the unit for systemd', () => {
  it.runIf(systemdIsThere)('is one that systemd takes without a warning', () => {
    expect(analyze('verify', path)).toBe('');
  });

  it.runIf(systemdIsThere)('leaves the service little to do harm with', () => {
    const args = ['security', '--offline=true', `--threshold=${MAX_EXPOSURE}`, '--no-pager'];
    expect(analyze(...args, path)).toContain('Overall exposure level');
  });

  it('starts production, with the key in a file, and its data where systemd makes room', () => {
    expect(getValues('Environment')).toEqual(['NODE_ENV=production', 'XDG_DATA_HOME=/var/lib']);
    expect(getValues('EnvironmentFile')).toEqual(['/etc/memoryd/environment']);
    expect(getValues('StateDirectory')).toEqual(['memoryd']);
    expect(SETTING_NAMES.find(({ key }) => key === 'apiKey')?.env).toBe('SERVICE_API_KEY');
  });

  it('waits for the network, and starts the service again however often it fails', () => {
    expect(getValues('Wants')).toEqual(['network-online.target']);
    expect(getValues('After')).toEqual(['network-online.target']);
    expect(getValues('StartLimitIntervalSec')).toEqual(['0']);
    expect(getValues('Restart')).toEqual(['on-failure']);
  });

  it.runIf(systemdIsThere && canTrace())('forbids no call to the system that the service makes', async () => {
    const counts = join(temporaryFolder(), 'calls');
    // Refused as by the unit, since what follows depends on it.
    const refusal = `inject=${REFUSED_WITHOUT_HARM}:error=EPERM`;
    const under = ['strace', '-D', '-f', '-qq', '-c', '-e', 'signal=none', '-e', refusal, '-o', counts];
    const client = await startProcessClient({
      under,
      env: { NODE_ENV: 'production', SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' },
    });
    await client.store({ content: 'kept' });
    await client.recall('what is there');
    await client.consolidate();
    await client.get('/export');
    await client.server.stop();
    const made = [...readFileSync(counts, 'utf8').matchAll(/^ *[\d.]+ .* (\w+)$/gm)].map(([, name]) => name ?? '');
    expect(made).toContain('fsync');
    const [allowed = '', denied = ''] = getValues('SystemCallFilter');
    const [may, mayNot] = [getCalls(allowed), getCalls(denied.replace('~', ''))];
    const needed = made.filter((name) => ![...REFUSED_WITHOUT_HARM, 'total'].includes(name));
    expect(needed.filter((name) => !may.has(name) || mayNot.has(name))).toEqual([]);
  });
});

/** The calls of a set, and of those that it is made of. */
function getCalls(set: string): Set<string> {
  const members = analyze('syscall-filter', set)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^@?\w[\w-]*$/.test(line) && line !== set);
  return new Set(members.flatMap((member) => (member.startsWith('@') ? [...getCalls(member)] : [member])));
}
