import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

/** Module that makes the process report Node 20. */
const OLD_NODE = `data:text/javascript,Object.defineProperty(process,"versions",{value:{...process.versions,node:"20.20.2"}})`;
const MESSAGE = 'memoryd needs Node 22 (22.12 or newer), 24 or 26; this is Node 20.20.2';
const COMMAND = fileURLToPath(new URL('../bin/memoryd.mjs', import.meta.url));

const run = (...args: string[]) =>
  spawnSync(process.execPath, ['--import', OLD_NODE, ...args], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    encoding: 'utf8',
  });

it('memoryd exits with a one-sentence error on an unsupported Node version', () => {
  expect(run(COMMAND, '--version')).toMatchObject({ status: 1, stdout: '', stderr: `${MESSAGE}\n` });
});

it('openMemory rejects with a one-sentence error on an unsupported Node version', () => {
  const program = `import { openMemory } from '@memoryd/engine';
    await openMemory('./never-made.db').catch(({ code, message }) => console.log(code, message));`;
  expect(run('--input-type=module', '--eval', program)).toMatchObject({
    status: 0,
    stdout: `UNAVAILABLE ${MESSAGE}\n`,
    stderr: '',
  });
});
