import type { CommandWords } from './command-words.ts';
import { flagsWithPath, flagsWithValue, getChoices, quoted, stepPatterns } from './shell-cases.ts';

/** What bash sources to complete the commands; from version 3 on. */
export function bashCompletion(all: readonly CommandWords[]): string {
  const choices = getChoices(all).map(
    ({ path, flag, choices: words }) => `    ${quoted(`${path}:${flag}`)}) words=${quoted(words.join(' '))} ;;`,
  );
  const commands = all.map(({ path, commands: names, options, choices: words, takesPath }) => {
    const offered = quoted([...names.map(({ name }) => name), ...words].join(' '));
    const flags = quoted(options.map(({ flag }) => flag).join(' '));
    return `    ${quoted(path)}) commands=${offered} flags=${flags} files=${takesPath ? 'yes' : ''} ;;`;
  });
  return `# Completes memoryd in bash; written by: memoryd completion bash
_memoryd() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  local at= i=1 words= commands= flags= files=
  while [ "$i" -lt "$COMP_CWORD" ]; do
    case "$at \${COMP_WORDS[i]}" in
    ${stepPatterns(all).join(' | ')}) at="\${at:+$at }\${COMP_WORDS[i]}" ;;
    ${flagsWithValue(all)
      .map((flag) => `*' ${flag}'`)
      .join(' | ')}) i=$((i + 1)) ;;
    esac
    i=$((i + 1))
  done
  COMPREPLY=()
  case "$at:$before" in
${choices.join('\n')}
    ${flagsWithPath(all)
      .map((flag) => `*':${flag}'`)
      .join(' | ')}) files=only ;;
    ${flagsWithValue(all)
      .map((flag) => `*':${flag}'`)
      .join(' | ')}) return ;;
  esac
  if [ -z "$words$files" ]; then
    case "$at" in
${commands.join('\n')}
    esac
    case "$current" in
    -*) words=$flags files= ;;
    *) words=$commands ;;
    esac
  fi
  if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$current")); fi
  if [ -n "$files" ]; then
    local IFS=$'\\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -f -- "$current"))
  fi
}
complete -F _memoryd memoryd
`;
}
