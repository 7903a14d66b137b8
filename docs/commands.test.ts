import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isInstalled } from '../deploy/tools.ts';
import { createTemporaryFolder, startProcess } from '../packages/server/conformance/process.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const documents = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'README.md', 'docs'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path.endsWith('.md'));

/** A block of commands in a document. */
interface Block {
  commands: string;
  /** The reason in a comment `not run`. */
  notRun: string | undefined;
  /** The program in a comment `needs`. */
  needs: string | undefined;
  /** The response shown on the page, if any. */
  answer: unknown;
}

function getBlocks(path: string): Block[] {
  const pattern = /(?:<!-- (not run|needs): ([^\n]+) -->\n)?```sh\n([\s\S]*?)\n```(?:\n\n```json\n([\s\S]+?)\n```)?/g;
  return [...readFileSync(join(root, path), 'utf8').matchAll(pattern)].map(([, kind, why, commands = '', answer]) => ({
    commands,
    notRun: kind === 'not run' ? why : undefined,
    needs: kind === 'needs' ? why : undefined,
    answer: answer === undefined ? undefined : JSON.parse(answer),
  }));
}

const pages = documents.map((path) => ({ path, blocks: getBlocks(path) }));

describe('commands in the documentation', () => {
  it('commands in the documentation are in code blocks with the language sh', () => {
    for (const { path, blocks } of pages) {
      const text = readFileSync(join(root, path), 'utf8');
      expect(
        text.match(/^```(bash|shell|console|shell-session|zsh)?$/gm)?.filter((fence) => fence !== '```') ?? [],
        path,
      ).toEqual([]);
      expect(blocks.length, path).toBe(text.match(/^```sh$/gm)?.length ?? 0);
    }
  });

  it('commands in the documentation are tested in more than half of the code blocks', () => {
    const all = pages.flatMap(({ blocks }) => blocks);
    expect(all.filter(({ notRun }) => notRun === undefined).length).toBeGreaterThan(all.length / 2);
  });

  it('commands in the documentation in running text are existing memoryd commands', () => {
    const known = getCommands();
    for (const { path } of pages) {
      const named = readFileSync(join(root, path), 'utf8').matchAll(/`(?:npx )?memoryd ([a-z]+)/g);
      expect(
        [...named].map(([, name]) => name).filter((name) => !known.includes(name as string)),
        path,
      ).toEqual([]);
    }
  });

  const run = pages.filter(({ blocks }) => blocks.some(({ notRun }) => notRun === undefined));
  it.each(run)(
    'commands in the documentation in $path return the documented responses, and recall likely answers',
    async ({ blocks }) => {
      const folder = createSandbox();
      const server = await startProcess({ dbPath: join(folder, 'memory.db') });
      const runnable = blocks.filter(
        ({ notRun, needs }) => notRun === undefined && (needs === undefined || isInstalled(needs)),
      );
      const printed = runAll(runnable, folder, server.port);
      await server.stop();
      for (const [n, { commands, answer }] of runnable.entries()) {
        if (answer !== undefined)
          expect(toComparable(JSON.parse(printed[n] ?? '')), commands).toEqual(toComparable(answer));
      }
      for (const { output, score } of getRecalled(folder)) expect(score, output).toBeGreaterThanOrEqual(0.5);
    },
    180_000,
  );
});

function getCommands(): string[] {
  const { stdout } = spawnSync('node', [join(root, 'packages/server'), '--help'], { encoding: 'utf8' });
  return [...stdout.matchAll(/^ {2}([a-z]+)(?:\|([a-z]+))?/gm)].flatMap(([, ...names]) => names.filter((name) => name));
}

/** Creates a folder with everything that documents assume: the files that they name and the command `memoryd`. */
function createSandbox(): string {
  const folder = createTemporaryFolder();
  for (const name of ['deploy', 'examples']) symlinkSync(join(root, name), join(folder, name));
  mkdirSync(join(folder, 'bin'));
  const programs = {
    // The service of the test is the one that connect uses by default.
    memoryd: `[ "$1" = connect ] && export SERVICE_URL="$CONNECT_URL"\n${recording('recall?*', `node '${join(root, 'packages/server')}' "$@"`)}`,
    npx: '[ "$1" = memoryd ] && exec "$@"; echo "npx $1 is not run here" >&2; exit 1',
    // Makes curl fail on an error response, as a reader would notice it.
    curl: recording('*/recall*', '/usr/bin/curl --fail-with-body "$@"'),
  };
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, 'bin', name), 0o755);
  }
  return folder;
}

/** Returns a script that runs a command, and saves its output if its arguments match the pattern of a recall. */
function recording(recall: string, command: string): string {
  const save = `${command} > "$HOME/recalled-$$"; code=$?; cat "$HOME/recalled-$$"; exit $code`;
  return `case "$*" in ${recall}) ${save};; esac\nexec ${command}`;
}

/** Returns the output of each recall, and the score of its first result; 0 without a result. */
function getRecalled(folder: string): { output: string; score: number }[] {
  const names = readdirSync(folder).filter((name) => name.startsWith('recalled-'));
  return names.map((name) => {
    const output = readFileSync(join(folder, name), 'utf8');
    const [, json, headline] = /"score": ?([\d.]+)|^([01]\.\d\d) /m.exec(output) ?? [];
    return { output, score: Number(json ?? headline ?? 0) };
  });
}

/** Runs the blocks of a page in order in one shell against a server, and returns the output of each. */
function runAll(blocks: Block[], folder: string, port: number): string[] {
  const script = blocks.map(({ commands }, n) => {
    const here = commands.replaceAll('127.0.0.1:8090', `127.0.0.1:${port}`);
    return `block=${n}\n{\n${here}\n} > block-${n}.out 2> block-${n}.err`;
  });
  // File descriptor 3 is the script's own output, because each block redirects its output to a file.
  const setup = `exec 3>&1; trap 'echo "block $block" >&3' EXIT`;
  const { status, stdout } = spawnSync('bash', ['-e', '-o', 'pipefail', '-c', [setup, ...script].join('\n')], {
    cwd: folder,
    env: {
      PATH: `${folder}/bin:${process.env.PATH}`,
      HOME: folder,
      SERVICE_DB_PATH: join(folder, 'memory.db'),
      CONNECT_URL: `http://127.0.0.1:${port}`,
    },
    encoding: 'utf8',
    timeout: 150_000,
  });
  const read = (n: number, stream: string) => readFileSync(join(folder, `block-${n}.${stream}`), 'utf8');
  if (status !== 0) {
    const last = Number(/block (\d+)/.exec(stdout)?.[1] ?? 0);
    throw new Error(`${blocks[last]?.commands}\n\nfailed:\n${read(last, 'out')}\n${read(last, 'err')}`);
  }
  return blocks.map((_, n) => read(n, 'out'));
}

/** Replaces the values that differ between runs by their types. */
function toComparable(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (key, value: unknown) =>
    key === 'id' || key === 'created_at' ? typeof value : value,
  );
}
