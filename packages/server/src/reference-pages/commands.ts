import type { Argument, Command, Option } from 'commander';
import { createProgram } from '../command-line.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { SETTING_NAMES } from '../settings/names.ts';
import { SERVICE_SETTINGS } from '../settings/options.ts';
import { markdownTable } from './markdown-table.ts';

/** Returns the reference page of all commands in Markdown. */
export function commandsPage(): string {
  const program = createProgram({});
  return `<!-- Written by \`npm run commands-page --workspace memoryd\`; edit packages/server/src/commands instead. -->
# Commands

Without a command, \`memoryd\` runs the server: \`memoryd --port 8091\` is \`memoryd serve --port 8091\`. Put a text that
begins with \`-\` after \`--\`. \`memoryd COMMAND --help\` prints the help of a command, with examples.

Commands use the database file of \`--db-path\`, or the running service of \`--url\`, or the one that
[variables and the settings file](settings.md) name. If these name both, the service is used. Standard output has the result
only: text for people, or with \`--json\` one JSON document, or one a line for lists (\`session\`, \`history\`,
\`users list\`, \`consolidate runs\`, \`consolidate show\`, and \`store\` with many lines). Notes and progress go to standard
error, and progress to a terminal only. Colors are for terminals, unless \`NO_COLOR\` is set.

The id of a memory can be shortened to its first or last characters, at least 4, if only one memory matches. \`recall\`,
\`list\` and \`session\` print the last 8 characters, or the whole ids with \`--ids\` or \`--json\`.

## Exit codes

${markdownTable(
  ['Code', 'Meaning'],
  Object.values(EXIT_CODES).map(({ code, meaning }) => [String(code), meaning]),
)}

${program.commands.flatMap((command) => sections(command, [])).join('\n')}`;
}

/** Returns the section of a command and the sections of its subcommands. */
function sections(command: Command, parents: readonly string[]): string[] {
  const names = [...parents, command.name()];
  const usage = `memoryd ${names.join(' ')} ${command.usage()}`;
  const parts = [
    `## ${names.join(' ')}`,
    escapeCell(command.description()),
    `\`${usage.trim()}\``,
    ...command.aliases().map((alias) => `Also \`memoryd ${[...parents, alias].join(' ')}\`.`),
    ...getSettings(command),
    ...getTables(command),
  ];
  return [`${parts.join('\n\n')}\n`, ...command.commands.flatMap((each) => sections(each, names))];
}

/** Number of the settings of the service: all except `--url`. */
const SERVICE_SETTING_COUNT = SERVICE_SETTINGS.length;

/** Returns a sentence that lists the settings that a command accepts as flags, with a link to the settings page. */
function getSettings({ options }: Command): string[] {
  const flags = options.filter(isSetting).map(({ long }) => `\`${long}\``);
  if (flags.length === 0) return [];
  const all = flags.length > SERVICE_SETTING_COUNT ? 'every setting' : 'every setting except `--url`';
  const accepted = flags.length < SERVICE_SETTING_COUNT ? `the settings ${flags.join(', ')}` : `${all} as a flag`;
  return [`Accepts ${accepted}, and \`--config\` ([settings](settings.md)).`];
}

function isSetting({ long, description }: Option): boolean {
  return SETTING_NAMES.some(
    (name) => name.flag === long && description.startsWith(name.description.replaceAll('`', '')),
  );
}

function getTables(command: Command): string[] {
  const isListed = (option: Option) => !isSetting(option) && option.long !== '--config';
  const rows = [
    ...command.registeredArguments.map((argument) => [`\`${getName(argument)}\``, getMeaning(argument)]),
    ...command.options
      .filter(isListed)
      .map((option) => [`\`${option.flags.replaceAll('|', '\\|')}\``, getMeaning(option)]),
  ];
  return rows.length === 0 ? [] : [markdownTable(['Argument or option', 'Meaning'], rows)];
}

function getName(argument: Argument): string {
  const name = argument.name() + (argument.variadic ? '...' : '');
  return argument.required ? `<${name}>` : `[${name}]`;
}

function getMeaning({ description, defaultValue, argChoices }: Argument | Option): string {
  const sentence = description.endsWith('.') ? description : `${description}.`;
  const choices = argChoices ? ` One of ${argChoices.join(', ')}.` : '';
  const byDefault = defaultValue === undefined ? '' : ` Default: ${defaultValue}.`;
  return escapeCell(`${sentence}${choices}${byDefault}`);
}

function escapeCell(text: string): string {
  return text.replaceAll('|', '\\|');
}
