import { IMPORT_FORMATS, type ImportFormat } from '@memoryd/contract';
import { Option } from 'commander';
import type { Environment } from '../settings/read.ts';
import { UsageError } from '../usage-error.ts';
import { type AddCommand, destructive, withExamples, withOptions } from './command.ts';
import type { ImportFlags } from './import-foreign.ts';
import { listImports, type UndoFlags, undoImport } from './import-undo.ts';
import { isTyped } from './input.ts';
import { OWN_SCOPE_OPTIONS, withMemoryOptions } from './memories.ts';

/** The options for importing a file. They conflict with `--list` and `--undo`. */
const FILE_OPTIONS: readonly Option[] = [
  new Option('--from <format>', 'Format of the file. Default: recognized by its content.').choices(IMPORT_FORMATS),
  new Option('--dry-run', 'Show the preview, and store nothing.'),
  new Option(
    '--map <pairs>',
    'For csv and jsonl: the column of each field, such as content=text,created_at=date. Can be repeated.',
  ).argParser((value: string, before: string[] = []) => [...before, value]),
  new Option('--rest <place>', 'For csv and jsonl: store columns without a field as metadata.').choices(['metadata']),
  new Option(
    '--capture <texts>',
    'For agent programs: store prompts, or turns, which are prompts and the last answer to each. Default: prompts.',
  ).choices(['prompts', 'turns']),
  new Option('--source-user <name>', 'Import only the memories of this user of the file.'),
  new Option('--no-redact', 'Do not remove passwords and keys from the texts.'),
];

/** The keys under which commander stores the options of a file. */
const FILE_KEYS = FILE_OPTIONS.map((option) => option.attributeName()).filter((key) => key !== 'redact');

/** `memoryd import [FILE]`: exit code 1 if an item was refused. */
export const importCommand: AddCommand = (program, env) => {
  const command = destructive(program.command('import'))
    .argument('[file]', 'file or folder; - reads an export of memoryd from standard input')
    .summary('Store memories from an export, or from another program.')
    .description(
      'Store memories from an export of memoryd, or from a file or folder of another program. For another program, the ' +
        'command shows a preview, and asks on a terminal. A repeated import stores nothing twice, and overwrites no memory ' +
        'that you have changed. The exit code is 1 if an item was refused. With --from claude-code, codex or gemini-cli, the ' +
        'default file is the folder of its conversations.',
    );
  withOptions(command, [
    ...FILE_OPTIONS,
    new Option('--list', 'List imports, newest first.').conflicts([...FILE_KEYS, 'undo', 'yes']),
    new Option(
      '--undo [id]',
      'Forget the memories that an import brought, except memories that were changed later. Without an id, asks about the newest import.',
    ).conflicts(FILE_KEYS),
    new Option('--yes', 'Do not ask.'),
  ]);
  withExamples(
    command,
    'memoryd import chatgpt.zip --dry-run',
    'memoryd import --from claude-code --user ada',
    'memoryd import --list',
  );
  withMemoryOptions(command, OWN_SCOPE_OPTIONS).action(
    // `redact` is also a setting, with other values.
    (file: string | undefined, { redact, ...flags }: ImportFlags & { redact: boolean }) =>
      run(file, { ...flags, keepSecrets: !redact }, env),
  );
};

async function run(file: string | undefined, flags: ImportFlags & UndoFlags, env: Environment): Promise<void> {
  const mode = flags.list ? 'list' : flags.undo === undefined ? undefined : 'undo';
  if (mode === undefined) {
    const { importPath } = await import('./import-file.ts');
    return importPath(file ?? (await getDefaultPath(flags.from)), flags, env);
  }
  if (file !== undefined) throw new UsageError(`--${mode} takes no file; leave out ${file}`);
  return mode === 'list' ? listImports(flags, env) : undoImport(flags, env);
}

/** Returns the path that is imported if none is given: the conversations of an agent program, or standard input. */
async function getDefaultPath(from: ImportFormat | undefined): Promise<string> {
  if (from === undefined || from === 'memoryd') {
    if (!isTyped()) return '-';
    throw new UsageError('memoryd import needs a file, a folder, or an export of memoryd on standard input');
  }
  const [{ AGENT_PROGRAMS }, { getMachine }] = await Promise.all([
    import('../connect/programs/index.ts'),
    import('../connect/machine.ts'),
  ]);
  const program = Object.values(AGENT_PROGRAMS).find(({ name }) => name === from);
  const folder = program?.getConversationFolder?.(getMachine());
  if (folder !== undefined) return folder;
  throw new UsageError(`--from ${from} needs the path of a file or folder`);
}
