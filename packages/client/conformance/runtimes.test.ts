import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { useServer, WORDS_ONLY } from '../../server/conformance/under-test.ts';

const program = fileURLToPath(new URL('smoke.fixture.mjs', import.meta.url));
const run = promisify(execFile);

/** Commands that run a module with access only to the network. A runtime without a command is not installed. */
const RUNTIMES = [
  { name: 'Node', command: [process.execPath] },
  { name: 'Deno', command: process.env.DENO && [process.env.DENO, 'run', '--no-config', '--no-prompt', '--allow-net'] },
  { name: 'Bun', command: process.env.BUN && [process.env.BUN, 'run'] },
];

for (const { name, command } of RUNTIMES) {
  if (command) continue;
  // biome-ignore lint/suspicious/noConsole: reports skipped runtimes to the developer
  console.log(`skipped: client in ${name}; set ${name.toUpperCase()} to the path of its binary`);
}

describe.each(RUNTIMES.filter(({ command }) => command))('the client in $name', ({ command }) => {
  const memoryd = useServer({ env: WORDS_ONLY });

  it('stores, recalls, streams events, exports, imports, and reports errors', async () => {
    const [binary = '', ...args] = command || [];
    const { stdout } = await run(binary, [...args, program, `http://127.0.0.1:${memoryd.server.port}`]);
    expect(JSON.parse(stdout)).toEqual({
      context: ['Ein Wendehals 🐦', 'Guten Morgen'],
      refusal: ['MemoryError', 'NOT_FOUND', 404],
      aborted: 'gone',
      exported: 3,
      imported: 1,
      listed: ['Ein Wendehals 🐦', 'Guten Morgen'],
      followed: 'stored',
      recalled: ['Ein Wendehals 🐦'],
    });
  });
});
