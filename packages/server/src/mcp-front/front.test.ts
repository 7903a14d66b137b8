import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

const BUNDLE = new URL('../../dist/memoryd-front.js', import.meta.url).href;

/** Serves the first messages, hands the remaining ones to a server, and prints the number of signal handlers then. */
const getScript = (pid: number) => `
  Object.defineProperty(process, 'pid', { value: ${pid} });
  const { serveFront } = await import(${JSON.stringify(BUNDLE)});
  const main = async (input) => {
    input.take();
    input.resume();
    process.stdout.write(JSON.stringify(['SIGINT', 'SIGTERM'].map((signal) => process.listenerCount(signal))));
    process.exit();
  };
  serveFront([], {}, async () => ({ main }));
`;

it.each([1, 2])('the front of memoryd mcp with process id %i leaves all signals to the server', (pid) => {
  const home = mkdtempSync(join(tmpdir(), 'memoryd-front-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', getScript(pid)], {
    input: '{"jsonrpc":"2.0","id":1,"method":"resources/list"}\n',
    encoding: 'utf8',
    env: { HOME: home },
    timeout: 60_000,
  });
  expect({ stdout, stderr }).toEqual({ stdout: '[0,0]', stderr: '' });
});
