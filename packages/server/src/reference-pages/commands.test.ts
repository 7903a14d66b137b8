import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { createProgram } from '../command-line.ts';
import { isDestructive } from '../commands/command.ts';
import { commandsPage } from './commands.ts';

it('docs/reference/cli.md matches the output of `npm run commands-page --workspace memoryd`', () => {
  const page = readFileSync(new URL('../../../../docs/reference/cli.md', import.meta.url), 'utf8');
  expect(page).toBe(commandsPage());
});

function getPaths(command: Command, before: string): string[] {
  return command.commands.flatMap((each) => {
    const path = `${before} ${each.name()}`.trim();
    return [path, ...getPaths(each, path)];
  });
}

it('the commands page lists the aliases of a command', () => {
  expect(commandsPage()).toContain('`memoryd show [options] <id>`\n\nAlso `memoryd get`.');
});

it('isDestructive returns true for every command with the option --yes', () => {
  const program = createProgram({});
  const findCommand = (path: string) =>
    path.split(' ').reduce((at, name) => at.commands.find((each) => each.name() === name) ?? at, program);
  const withYes = getPaths(program, '').filter((path) =>
    findCommand(path).options.some(({ long }) => long === '--yes'),
  );
  expect(withYes).not.toEqual([]);
  expect(withYes.filter((path) => isDestructive(findCommand(path)))).toEqual(withYes);
});

it('the commands page has a section with a description for every command', () => {
  const page = commandsPage();
  for (const path of getPaths(createProgram({}), ''))
    expect(page).toMatch(new RegExp(`^## ${path}\n\n\\S.*\n\n\`memoryd ${path}`, 'm'));
});
