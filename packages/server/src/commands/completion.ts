import { Argument } from 'commander';
import { bashCompletion } from '../completion/bash.ts';
import { commandWords } from '../completion/command-words.ts';
import { fishCompletion } from '../completion/fish.ts';
import { zshCompletion } from '../completion/zsh.ts';
import { type AddCommand, DEFAULT_COMMAND } from './command.ts';
import { write } from './output.ts';

const SHELLS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

export const completionCommand: AddCommand = (program) => {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'name of the shell').choices(Object.keys(SHELLS)))
    .summary('Print a script that completes commands in a shell.')
    .description('Print a script that completes commands in a shell: source <(memoryd completion bash).')
    .action((shell: keyof typeof SHELLS) => write(SHELLS[shell](commandWords(program, DEFAULT_COMMAND))));
};
