import type { CommandWords, OptionWords } from './command-words.ts';
import { flagsWithValue } from './shell-cases.ts';

/** What fish sources, or finds in its folder of completions. */
export function fishCompletion(all: readonly CommandWords[]): string {
  const steps = all.flatMap(({ path, commands }) => commands.map(({ name }) => quoted(`${path} ${name}`)));
  return `# Completes memoryd in fish; written by: memoryd completion fish
function __memoryd_at
    set -l at ''
    set -l skip no
    for word in (commandline -opc)[2..-1]
        if test $skip = yes
            set skip no
        else if contains -- "$at $word" ${steps.join(' ')}
            set at (string trim -- "$at $word")
        else if contains -- $word ${flagsWithValue(all).join(' ')}
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
  const here = `complete -c memoryd -n ${quoted(`__memoryd_at ${quoted(path)}`)}`;
  return [
    ...commands.map(({ name, description }) => `${here} -a ${name} -d ${quoted(description)}`),
    ...options.map(
      (option) => `${here} -l ${option.flag.slice(2)}${followedBy(option)} -d ${quoted(option.description)}`,
    ),
    ...(choices.length > 0 ? [`${here} -a ${quoted(choices.join(' '))}`] : []),
    ...(takesPath ? [`${here} -F`] : []),
  ];
}

function followedBy({ value }: OptionWords): string {
  if (value === undefined) return '';
  if (value.kind === 'path') return ' -r -F';
  return value.kind === 'choice' ? ` -x -a ${quoted(value.choices.join(' '))}` : ' -x';
}

/** A text as fish takes it literally. */
function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
