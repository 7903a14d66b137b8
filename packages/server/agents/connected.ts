import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { runCommand } from '../conformance/command.ts';
import { type Client, expectCleanEnd, startClient, WORDS_ONLY } from '../conformance/under-test.ts';
import type { ProgramUnderTest } from './run.ts';

/** The user of connected programs. */
export const USER = 'ada';

/** Starts a service until the end of the test. Recall uses words only, so that hooks meet their deadline. */
export async function startService(): Promise<Client> {
  const service = await startClient({ env: WORDS_ONLY });
  onTestFinished(() => expectCleanEnd(service.server));
  return service;
}

/** Creates a repository with a remote and a branch. The URL of the remote has credentials. */
export function createRepository(folder: string): void {
  for (const name of ['objects', 'refs']) mkdirSync(join(folder, '.git', name), { recursive: true });
  writeFileSync(join(folder, '.git/HEAD'), 'ref: refs/heads/spring\n');
  writeFileSync(
    join(folder, '.git/config'),
    '[remote "origin"]\n\turl = https://ada:secret@github.com/ada/garden.git\n',
  );
}

/** Runs `memoryd` in the home folder of a program, and expects success. Returns its output. */
export async function memoryd(running: ProgramUnderTest, ...args: string[]): Promise<string> {
  const env = { HOME: running.home, XDG_DATA_HOME: join(running.home, '.local/share') };
  const { code, stdout, stderr } = await runCommand(args, { env, cwd: running.project });
  running.output += `\nmemoryd ${args.join(' ')}\n${stdout}${stderr}`;
  expect(code, stderr).toBe(0);
  return stdout;
}

export function connect(running: ProgramUnderTest, url: string, ...options: string[]): Promise<string> {
  return memoryd(running, 'connect', running.program.name, ...toOptions(url), ...options);
}

export function toOptions(url: string): string[] {
  return ['--url', url, '--user', USER];
}

export function toUrl({ server }: Client): string {
  return `http://127.0.0.1:${server.port}`;
}
