#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { explainOldNode } from '@memoryd/engine/node-version';

const problem = explainOldNode();
if (problem !== undefined) {
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}

// An installed package brings its build along; a clone makes it at the first start.
const workspace = new URL('../../../', import.meta.url);
const isBuilt = existsSync(new URL('../dist/memoryd.js', import.meta.url));
if (!isBuilt && existsSync(new URL('tsconfig.base.json', workspace))) {
  const [{ spawnSync }, { fileURLToPath }] = await Promise.all([import('node:child_process'), import('node:url')]);
  process.stderr.write('Building memoryd …\n');
  const build = spawnSync('npm', ['run', '--silent', 'build'], {
    cwd: fileURLToPath(workspace),
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (build.status !== 0) process.exit(1);
}

const [, , command, ...args] = process.argv;
const load = () => import('../dist/memoryd.js');
if (command !== 'mcp' || !(await import('../dist/memoryd-front.js')).serveFront(args, process.env, load)) {
  await (await load()).main();
}
