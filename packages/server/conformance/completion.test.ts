import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runInProcess } from './command-in-process.ts';
import { createTemporaryFolder } from './process.ts';

const TIMEOUT_MS = 240_000;

describe('shell completion', { timeout: TIMEOUT_MS }, () => {
  const folder = createTemporaryFolder();

  beforeAll(async () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { stdout } = await runInProcess(['completion', shell]);
      writeFileSync(join(folder, `completion.${shell}`), stdout);
    }
    writeFileSync(join(folder, 'a copy.db'), '');
  }, TIMEOUT_MS);

  /** Returns the words that bash offers for the last word of a line. */
  function getOffers(...words: string[]): string[] {
    const script = `source ./completion.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _memoryd
      printf '%s\\n' "\${COMPREPLY[@]}"`;
    const shown = execFileSync('bash', ['-c', script, 'bash', 'memoryd', ...words], { cwd: folder, encoding: 'utf8' });
    return shown.split('\n').filter((word) => word !== '');
  }

  it.each<[string[], string[]]>([
    [['rec'], ['recall']],
    [['l'], ['list', 'ls']],
    [['ls', '--curs'], ['--cursor']],
    [
      ['search', '--tier', ''],
      ['working', 'episodic', 'semantic'],
    ],
    [
      ['keys', ''],
      ['add', 'list', 'revoke', 'open'],
    ],
    [['consolidate', 'u'], ['undo']],
    [['--por'], ['--port']],
    [['recall', '--tie'], ['--tier']],
    [
      ['recall', '--tier', ''],
      ['working', 'episodic', 'semantic'],
    ],
    [['recall', '--tier', 'working', '--min'], ['--min-score']],
    [['keys', 'add', '--scope', 'w'], ['write']],
    [['--log-level', 'd'], ['debug']],
    [['restore', 'a'], ['a copy.db']],
    [['stats', '--db-path', 'a'], ['a copy.db']],
    [['stats', '--url', ''], []],
    [['stats', '--db-path', 'keys', ''], []],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
  ])('shell completion of %j in bash offers %j', (words, expected) => {
    expect(getOffers(...words)).toEqual(expected);
  });

  const has = (shell: string) => spawnSync(shell, ['--version']).status === 0;
  for (const shell of ['zsh', 'fish']) {
    // biome-ignore lint/suspicious/noConsole: reports that a test is skipped
    if (!has(shell)) console.warn(`no ${shell}: its completion is generated, but not run`);
  }

  it.runIf(has('fish'))('shell completion in fish offers commands, options, words and files', () => {
    const complete = (line: string) =>
      execFileSync('fish', ['--no-config', '-c', `source completion.fish; complete -C '${line}'`], {
        cwd: folder,
        encoding: 'utf8',
      })
        .trim()
        .split('\n')
        .map((each) => each.split('\t')[0]);
    expect(complete('memoryd rec')).toEqual(['recall']);
    expect(complete('memoryd keys ')).toEqual(['add', 'list', 'revoke', 'open']);
    expect(complete('memoryd recall --tier e')).toEqual(['episodic']);
    expect(complete('memoryd restore comp')).toEqual(['completion.fish']);
  });

  it.runIf(has('zsh'))('shell completion in zsh is a script without syntax errors', () => {
    execFileSync('zsh', ['-fn', 'completion.zsh'], { cwd: folder });
  });

  it('contains the commands recall, consolidate, doctor and quota for every shell', () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const script = readFileSync(join(folder, `completion.${shell}`), 'utf8');
      for (const name of ['recall', 'consolidate', 'doctor', 'quota']) expect(script, shell).toContain(name);
    }
    expect(readFileSync(join(folder, 'completion.zsh'), 'utf8')).toMatch(/^#compdef memoryd\n/);
  });
});
