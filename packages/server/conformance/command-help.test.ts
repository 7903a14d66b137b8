import type { Command } from 'commander';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { createProgram } from '../src/command-line.ts';
import { runInProcess } from './command-in-process.ts';

function getPaths(command: Command, before: readonly string[] = []): string[][] {
  return command.commands.flatMap((each) => {
    const path = [...before, each.name()];
    return [path, ...getPaths(each, path)];
  });
}

const PATHS = [[], ...getPaths(createProgram({}))];

async function getHelp(path: readonly string[]): Promise<string> {
  const { code, stdout } = await runInProcess([...path, '--help']);
  expect(code).toBe(0);
  return stdout;
}

describe('the command help', () => {
  it.each(PATHS.map((path) => ({ path })))(
    'the command help of memoryd $path fits into 80 columns',
    async ({ path }) => {
      for (const line of (await getHelp(path)).split('\n')) expect(stringWidth(line), line).toBeLessThanOrEqual(80);
    },
  );

  it('describes what each flag that begins with --no- does', () => {
    const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];
    const negations = all(createProgram({})).flatMap(({ options }) => options.filter(({ negate }) => negate));
    expect(negations.map(({ long }) => long)).toEqual(expect.arrayContaining(['--no-track', '--no-superseded']));
    for (const { long, description } of negations) expect(description, long).toMatch(/^(Do not|Leave out) /);
  });

  it('lists every command under a heading, one per line', async () => {
    const help = await getHelp([]);
    for (const heading of ['Run', 'Memories', 'Maintenance', 'Access']) expect(help).toMatch(`\n${heading}:\n`);
    expect(help).not.toContain('\nCommands:\n');
    for (const { length, 0: name } of PATHS) {
      if (length === 1) expect(help).toMatch(new RegExp(`^  ${name}(\\|\\w+)? +\\S.*\\.$`, 'm'));
    }
  });

  it.each(['serve', 'mcp', 'store', 'recall', 'list', 'show', 'session', 'update', 'forget', 'consolidate', 'backup'])(
    'the command help of %s has one to three examples with existing options',
    async (name) => {
      const [, examples = ''] = (await getHelp([name])).split('\nExamples:\n');
      const lines = examples.trimEnd().split('\n');
      expect(lines.length).toBeLessThanOrEqual(3);
      const known = createProgram({}).commands.find((command) => command.name() === name)?.options ?? [];
      for (const line of lines) {
        expect(line).toMatch(new RegExp(`^  memoryd ${name}\\b`));
        for (const [flag] of line.matchAll(/--[a-z-]+/g)) expect(known.map(({ long }) => long)).toContain(flag);
      }
    },
  );
});
