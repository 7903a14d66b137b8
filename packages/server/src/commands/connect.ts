import { Option } from 'commander';
import { CAPTURES, PROGRAMS } from '../connect/types.ts';
import type { Environment } from '../settings/read.ts';
import { type AddCommand, withExamples, withOptions } from './command.ts';

const MODES = ['dryRun', 'remove', 'pause', 'resume', 'status'];

/** Returns an option that excludes the other modes. */
function toMode(flag: string, key: string, description: string): Option {
  return new Option(flag, description).conflicts(MODES.filter((mode) => mode !== key && !isDryRemove(mode, key)));
}

function isDryRemove(...modes: string[]): boolean {
  return modes.every((mode) => mode === 'dryRun' || mode === 'remove');
}

/** `memoryd connect [PROGRAM…]`. */
export const connectCommand: AddCommand = (program, env) => {
  const command = program
    .command('connect')
    .argument('[program...]', `program to connect: ${PROGRAMS.join(', ')}`)
    .summary('Connect agent programs, so that they remember by themselves.')
    .description(
      'Connect agent programs to a service: their hooks store your prompts and give the memories that fit, and the model gets ' +
        'the tools. Shows every change of a file, keeps a copy, and takes it back with --remove. Without a program, lists the ' +
        'installed programs and asks.',
    );
  withOptions(command, [
    new Option('--project', 'Use the files of the project in the working directory, not those of the user.'),
    new Option(
      '--user <id>',
      'User whose memories the programs store and read. Default: as connected before, or your login name.',
    ),
    new Option(
      '--url <address>',
      'Address of the service. Default: as connected before, or SERVICE_URL, or http://127.0.0.1:8090.',
    ),
    new Option(
      '--capture <texts>',
      'Texts that hooks store: prompts; turns, which adds the last answer of each turn; or off. Default: as connected before, or prompts.',
    ).choices(CAPTURES),
    new Option('--recall <switch>', 'Whether hooks give memories. Default: as connected before, or on.').choices([
      'on',
      'off',
    ]),
    new Option(
      '--budget <tokens>',
      'Maximum tokens that a hook gives, from 50 to 20000. Default: 800 at the start of a session, 600 for a prompt.',
    ),
    toMode('--dry-run', 'dryRun', 'Show the changes, and write nothing.'),
    toMode('--remove', 'remove', 'Take the changes back. Without a program: of all connected programs.'),
    toMode('--pause', 'pause', 'Let hooks store and give nothing; with --project, in this folder.'),
    toMode('--resume', 'resume', 'End the pause.'),
    toMode('--status', 'status', 'Show what is connected, and what hooks stored and gave today.'),
    new Option('--service', 'Install a service of this user without asking, if none runs.').conflicts([
      'pause',
      'resume',
      'status',
      'remove',
    ]),
    new Option('--no-service', 'Do not install a service, and do not ask.'),
    new Option('--json', 'With --status: print JSON, for programs.'),
  ]);
  withExamples(
    command,
    'memoryd connect codex',
    'memoryd connect claude-code cursor --project --capture turns',
    'memoryd connect --status',
    'memoryd connect --remove codex',
  );
  command.action((names: string[], flags) => run(names, flags, env));
};

async function run(names: string[], flags: Record<string, unknown>, env: Environment): Promise<void> {
  const { runConnect } = await import('../connect/run.ts');
  await runConnect(names, flags, env);
}
