import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isThere } from '../deploy/tools.ts';
import { startProcess, temporaryFolder } from '../packages/server/conformance/process.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const documents = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'README.md', 'docs'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path.endsWith('.md'));

/** Commands as a reader copies them. */
interface Block {
  commands: string;
  /** What is said before it: why it is not run, or the program that has to be there for it. */
  notRun: string | undefined;
  needs: string | undefined;
  /** What the page says that comes back. */
  answer: unknown;
}

function getBlocks(path: string): Block[] {
  const pattern = /(?:<!-- (not run|needs): ([^\n]+) -->\n)?```sh\n([\s\S]*?)\n```(?:\n\n```json\n([^\n]+)\n```)?/g;
  return [...readFileSync(join(root, path), 'utf8').matchAll(pattern)].map(([, kind, why, commands = '', answer]) => ({
    commands,
    notRun: kind === 'not run' ? why : undefined,
    needs: kind === 'needs' ? why : undefined,
    answer: answer === undefined ? undefined : JSON.parse(answer),
  }));
}

const pages = documents.map((path) => ({ path, blocks: getBlocks(path) }));

describe('commands in documents', () => {
  it('stand in blocks of the kind that is run', () => {
    for (const { path, blocks } of pages) {
      const text = readFileSync(join(root, path), 'utf8');
      expect(
        text.match(/^```(bash|shell|console|shell-session|zsh)?$/gm)?.filter((fence) => fence !== '```') ?? [],
        path,
      ).toEqual([]);
      expect(blocks.length, path).toBe(text.match(/^```sh$/gm)?.length ?? 0);
    }
  });

  it('are run, but for few', () => {
    const all = pages.flatMap(({ blocks }) => blocks);
    expect(all.filter(({ notRun }) => notRun === undefined).length).toBeGreaterThan(all.length / 2);
  });

  it('in the middle of a sentence are commands of memoryd that there are', () => {
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
    'of $path do what the page says',
    async ({ blocks }) => {
      const folder = sandbox();
      const server = await startProcess({ dbPath: join(folder, 'memory.db') });
      const taken = blocks.filter(
        ({ notRun, needs }) => notRun === undefined && (needs === undefined || isThere(needs)),
      );
      const printed = runAll(taken, folder, server.port);
      await server.stop();
      for (const [n, { commands, answer }] of taken.entries()) {
        if (answer !== undefined)
          expect(comparable(JSON.parse(printed[n] ?? '')), commands).toEqual(comparable(answer));
      }
    },
    180_000,
  );
});

function getCommands(): string[] {
  const { stdout } = spawnSync('node', [join(root, 'packages/server'), '--help'], { encoding: 'utf8' });
  return [...stdout.matchAll(/^ {2}([a-z]+)(?:\|([a-z]+))?/gm)].flatMap(([, ...names]) => names.filter((name) => name));
}

/** An empty folder with what documents take for granted: the files that they name, and the command of the clone. */
function sandbox(): string {
  const folder = temporaryFolder();
  for (const name of ['deploy', 'examples']) symlinkSync(join(root, name), join(folder, name));
  mkdirSync(join(folder, 'bin'));
  const programs = {
    memoryd: `exec node '${join(root, 'packages/server')}' "$@"`,
    npx: '[ "$1" = memoryd ] && exec "$@"; echo "npx $1 is not run here" >&2; exit 1',
    // An error that is answered fails the command, as a reader would see it.
    curl: 'exec /usr/bin/curl --fail-with-body "$@"',
  };
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, 'bin', name), 0o755);
  }
  return folder;
}

/** Runs the blocks of a page, one after the other in one shell, against a server, and answers what each printed. */
function runAll(blocks: Block[], folder: string, port: number): string[] {
  const script = blocks.map(({ commands }, n) => {
    const here = commands.replaceAll('127.0.0.1:8090', `127.0.0.1:${port}`);
    return `block=${n}\n{\n${here}\n} > block-${n}.out 2> block-${n}.err`;
  });
  // Whatever a command's output goes to, the page's goes here.
  const told = `exec 3>&1; trap 'echo "block $block" >&3' EXIT`;
  const { status, stdout } = spawnSync('bash', ['-e', '-o', 'pipefail', '-c', [told, ...script].join('\n')], {
    cwd: folder,
    env: {
      PATH: `${folder}/bin:${process.env.PATH}`,
      HOME: folder,
      SERVICE_DB_PATH: join(folder, 'memory.db'),
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

/** An answer with what differs from run to run replaced by what it is. */
function comparable(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer), (key, value: unknown) =>
    key === 'id' || key === 'created_at' ? typeof value : value,
  );
}
