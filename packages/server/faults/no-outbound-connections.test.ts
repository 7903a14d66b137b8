import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createTemporaryFolder } from '../conformance/process.ts';
import { expectCleanEnd, startProcessClient } from '../conformance/under-test.ts';
import { canTrace } from './system-calls.ts';

describe.runIf(canTrace())('a server with default settings', () => {
  it('makes no network connections and writes nothing to the home directory', async () => {
    const trace = join(createTemporaryFolder(), 'trace');
    const home = createTemporaryFolder();
    const client = await startProcessClient({
      // Sets the cache folder, so that files written by libraries are found too.
      env: { HOME: home, XDG_CACHE_HOME: join(home, 'cache') },
      under: ['strace', '-D', '-f', '-e', 'signal=none', '-e', 'trace=connect', '-o', trace],
    });
    await client.store({ content: 'Ada is allergic to peanuts' });
    expect((await client.recall('what food should she avoid')).total).toBe(1);
    await expectCleanEnd(client.server);
    expect(readFileSync(trace, 'latin1').match(/connect\(.*AF_INET.*/g)).toBeNull();
    expect(readdirSync(home)).toEqual([]);
  });
});
