import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../conformance/process.ts';
import { expectCleanEnd, startProcessClient } from '../conformance/under-test.ts';
import { canTrace } from './system-calls.ts';

describe.runIf(canTrace())('a server that is told of no other', () => {
  it('connects to nobody, from its start to its end, and leaves nothing in the folder of its user', async () => {
    const trace = join(temporaryFolder(), 'trace');
    const home = temporaryFolder();
    const client = await startProcessClient({
      // Its libraries too: as where somebody uses it, and not as where a test or a build runs.
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
