import type { Argument, Command, Option } from 'commander';
import { createProgram } from '../command-line.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { SETTING_NAMES } from '../settings/names.ts';
import { SERVICE_SETTINGS } from '../settings/options.ts';
import { markdownTable } from './markdown-table.ts';

/** The reference page of all commands, in Markdown, as their tree has them. */
export function commandsPage(): string {
  const program = createProgram({});
  return `<!-- Written by \`npm run commands-page --workspace memoryd\`; edit packages/server/src/commands instead. -->
# Commands

Without a command, \`memoryd\` serves: \`memoryd --port 8091\` is \`memoryd serve --port 8091\`. What a text says that begins
with \`-\` stands behind \`--\`. \`memoryd COMMAND --help\` prints what this page says of a command.

Where memories are: the database file of \`--db-path\`, or a running service at \`--url\`, or what
[variables and the settings file](settings.md) say; of what these say, an address wins. Nothing is printed on standard
output but the answer: a table for people, or with \`--json\` one JSON document, or one a line for lists (\`session\`,
\`history\`, \`users list\`, \`consolidate runs\`, \`consolidate show\`, and \`store\` of many). Notes and progress go to standard error, progress where
that is a terminal. Colours are for terminals, unless \`NO_COLOR\` is set.

## Exit codes

${markdownTable(
  ['Code', 'Meaning'],
  Object.values(EXIT_CODES).map(({ code, meaning }) => [String(code), meaning]),
)}

${program.commands.flatMap((command) => sections(command, [])).join('\n')}`;
}

/** A section for a command, and one for each that follows its name. */
function sections(command: Command, before: readonly string[]): string[] {
  const names = [...before, command.name()];
  const usage = `memoryd ${[...before, command.name()].join(' ')} ${command.usage()}`;
  const parts = [
    `## ${names.join(' ')}`,
    escaped(command.description()),
    `\`${usage.trim()}\``,
    ...command.aliases().map((alias) => `Also \`memoryd ${[...before, alias].join(' ')}\`.`),
    ...getSettings(command),
    ...getTables(command),
  ];
  return [`${parts.join('\n\n')}\n`, ...command.commands.flatMap((each) => sections(each, names))];
}

/** Those of the service, which are all but `--url`. */
const EVERY_SETTING = SERVICE_SETTINGS.length;

/** The settings that a command takes as flags, which a page of their own describes. */
function getSettings({ options }: Command): string[] {
  const flags = options.filter(isSetting).map(({ long }) => `\`${long}\``);
  if (flags.length === 0) return [];
  const every = flags.length > EVERY_SETTING ? 'every setting as a flag' : 'every setting but `--url` as a flag';
  const which = flags.length < EVERY_SETTING ? `the settings ${flags.join(', ')}` : every;
  return [`Takes ${which}, and \`--config\` ([settings](settings.md)).`];
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
  const otherwise = defaultValue === undefined ? '' : ` Default: ${defaultValue}.`;
  return escaped(`${sentence}${choices}${otherwise}`);
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|');
}
