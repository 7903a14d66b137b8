import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { createProgram } from '../command-line.ts';
import { isDestructive } from '../commands/command.ts';
import { commandsPage } from './commands.ts';

it('docs/reference/cli.md is what `npm run commands-page --workspace memoryd` writes', () => {
  const page = readFileSync(new URL('../../../../docs/reference/cli.md', import.meta.url), 'utf8');
  expect(page).toBe(commandsPage());
});

function getPaths(command: Command, before: string): string[] {
  return command.commands.flatMap((each) => {
    const path = `${before} ${each.name()}`.trim();
    return [path, ...getPaths(each, path)];
  });
}

it('the page names the aliases of a command', () => {
  expect(commandsPage()).toContain('`memoryd show [options] <id>`\n\nAlso `memoryd get`.');
});

it('every command that wants --yes counts as destructive', () => {
  const program = createProgram({});
  const named = (path: string) =>
    path.split(' ').reduce((at, name) => at.commands.find((each) => each.name() === name) ?? at, program);
  const wanting = getPaths(program, '').filter((path) => named(path).options.some(({ long }) => long === '--yes'));
  expect(wanting).not.toEqual([]);
  expect(wanting.filter((path) => isDestructive(named(path)))).toEqual(wanting);
});

it('the page has a section for every command, and every command says what it does', () => {
  const page = commandsPage();
  for (const path of getPaths(createProgram({}), ''))
    expect(page).toMatch(new RegExp(`^## ${path}\n\n\\S.*\n\n\`memoryd ${path}`, 'm'));
});
