import type { CommandWords, OptionWords } from './command-words.ts';
import { getFlagsWithValue } from './shell-cases.ts';

/** Returns a completion script for fish, to be sourced or placed in the completions folder. */
export function fishCompletion(all: readonly CommandWords[]): string {
  const steps = all.flatMap(({ path, commands }) => commands.map(({ name }) => quote(`${path} ${name}`)));
  return `# Completes memoryd in fish; written by: memoryd completion fish
function __memoryd_at
    set -l at ''
    set -l skip no
    for word in (commandline -opc)[2..-1]
        if test $skip = yes
            set skip no
        else if contains -- "$at $word" ${steps.join(' ')}
            set at (string trim -- "$at $word")
        else if contains -- $word ${getFlagsWithValue(all).join(' ')}
            set skip yes
        end
    end
    test "$at" = "$argv[1]"
end
complete -c memoryd -f
${all.flatMap(getLines).join('\n')}
`;
}

function getLines({ path, commands, options, choices, takesPath }: CommandWords): string[] {
  const here = `complete -c memoryd -n ${quote(`__memoryd_at ${quote(path)}`)}`;
  return [
    ...commands.map(({ name, description }) => `${here} -a ${name} -d ${quote(description)}`),
    ...options.map(
      (option) => `${here} -l ${option.flag.slice(2)}${formatValue(option)} -d ${quote(option.description)}`,
    ),
    ...(choices.length > 0 ? [`${here} -a ${quote(choices.join(' '))}`] : []),
    ...(takesPath ? [`${here} -F`] : []),
  ];
}

function formatValue({ value }: OptionWords): string {
  if (value === undefined) return '';
  if (value.kind === 'path') return ' -r -F';
  return value.kind === 'choice' ? ` -x -a ${quote(value.choices.join(' '))}` : ' -x';
}

/** Quotes a text as a string literal of fish. */
function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
