import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createTemporaryFolder } from '../packages/server/conformance/folders.ts';
import { startProcessClient } from '../packages/server/conformance/under-test.ts';
import { canTrace } from '../packages/server/faults/system-calls.ts';
import { SETTING_NAMES } from '../packages/server/src/settings/names.ts';
import { isInstalled } from './tools.ts';

const path = fileURLToPath(new URL('systemd/memoryd.service', import.meta.url));
const unit = readFileSync(path, 'utf8');
const getValues = (name: string) =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value ?? '');
const hasSystemd = isInstalled('systemd-analyze');
const analyze = (...args: string[]) => execFileSync('systemd-analyze', args, { encoding: 'utf8', stdio: 'pipe' });

/** Maximum exposure level of `systemd-analyze security`, from 0 (best) to 100. Most services are above 90. */
const MAX_EXPOSURE = 15;

/**
 * System calls that the unit denies and that the service does not need. V8 tries to allocate protection keys and uses
 * `pkey_mprotect` only if that succeeds. SQLite changes the owner of files if it runs as root.
 */
const DENIED_CALLS = ['pkey_alloc', 'fchown'];

describe('the systemd unit', () => {
  it.runIf(hasSystemd)('passes systemd-analyze verify without a warning', () => {
    expect(analyze('verify', path)).toBe('');
  });

  it.runIf(hasSystemd)('stays below the maximum exposure level of systemd-analyze security', () => {
    const args = ['security', '--offline=true', `--threshold=${MAX_EXPOSURE}`, '--no-pager'];
    expect(analyze(...args, path)).toContain('Overall exposure level');
  });

  it('runs in production mode, with the API key in an environment file and the data in the state directory', () => {
    expect(getValues('Environment')).toEqual(['NODE_ENV=production', 'XDG_DATA_HOME=/var/lib']);
    expect(getValues('EnvironmentFile')).toEqual(['/etc/memoryd/environment']);
    expect(getValues('StateDirectory')).toEqual(['memoryd']);
    expect(SETTING_NAMES.find(({ key }) => key === 'apiKey')?.env).toBe('SERVICE_API_KEY');
  });

  it('waits for the network, and does not limit the number of restarts', () => {
    expect(getValues('Wants')).toEqual(['network-online.target']);
    expect(getValues('After')).toEqual(['network-online.target']);
    expect(getValues('StartLimitIntervalSec')).toEqual(['0']);
    expect(getValues('Restart')).toEqual(['on-failure']);
  });

  it.runIf(hasSystemd && canTrace())('allows every system call that the service makes', async () => {
    const counts = join(createTemporaryFolder(), 'calls');
    // Denied as by the unit, because the service makes other calls when these succeed.
    const refusal = `inject=${DENIED_CALLS}:error=EPERM`;
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
    const calls = [...readFileSync(counts, 'utf8').matchAll(/^ *[\d.]+ .* (\w+)$/gm)].map(([, name]) => name ?? '');
    expect(calls).toContain('fsync');
    const [allowed = '', denied = ''] = getValues('SystemCallFilter');
    const [allowedCalls, deniedCalls] = [getCalls(allowed), getCalls(denied.replace('~', ''))];
    const needed = calls.filter((name) => ![...DENIED_CALLS, 'total'].includes(name));
    expect(needed.filter((name) => !allowedCalls.has(name) || deniedCalls.has(name))).toEqual([]);
  });
});

/** Returns the system calls of a set, including its nested sets. */
function getCalls(set: string): Set<string> {
  const members = analyze('syscall-filter', set)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^@?\w[\w-]*$/.test(line) && line !== set);
  return new Set(members.flatMap((member) => (member.startsWith('@') ? [...getCalls(member)] : [member])));
}
