import type { CommandWords } from './command-words.ts';
import { getChoices, getFlagsWithPath, getFlagsWithValue, getStepPatterns, quote } from './shell-cases.ts';

/** Returns a completion script to be sourced by bash 3 or later. */
export function bashCompletion(all: readonly CommandWords[]): string {
  const choices = getChoices(all).map(
    ({ path, flag, choices: words }) => `    ${quote(`${path}:${flag}`)}) words=${quote(words.join(' '))} ;;`,
  );
  const commands = all.map(({ path, commands: names, options, choices: words, takesPath }) => {
    const offered = quote([...names.map(({ name }) => name), ...words].join(' '));
    const flags = quote(options.map(({ flag }) => flag).join(' '));
    return `    ${quote(path)}) commands=${offered} flags=${flags} files=${takesPath ? 'yes' : ''} ;;`;
  });
  return `# Completes memoryd in bash; written by: memoryd completion bash
_memoryd() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  local at= i=1 words= commands= flags= files=
  while [ "$i" -lt "$COMP_CWORD" ]; do
    case "$at \${COMP_WORDS[i]}" in
    ${getStepPatterns(all).join(' | ')}) at="\${at:+$at }\${COMP_WORDS[i]}" ;;
    ${getFlagsWithValue(all)
      .map((flag) => `*' ${flag}'`)
      .join(' | ')}) i=$((i + 1)) ;;
    esac
    i=$((i + 1))
  done
  COMPREPLY=()
  case "$at:$before" in
${choices.join('\n')}
    ${getFlagsWithPath(all)
      .map((flag) => `*':${flag}'`)
      .join(' | ')}) files=only ;;
    ${getFlagsWithValue(all)
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
