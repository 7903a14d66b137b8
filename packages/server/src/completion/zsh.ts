import type { CommandWords } from './command-words.ts';
import { getChoices, getFlagsWithPath, getFlagsWithValue, getStepPatterns, quote } from './shell-cases.ts';

/** Returns a completion script for zsh, to be sourced or placed in the function path as `_memoryd`. */
export function zshCompletion(all: readonly CommandWords[]): string {
  const choices = getChoices(all).map(
    ({ path, flag, choices: words }) => `    ${quote(`${path}:${flag}`)}) compadd -- ${words.join(' ')}; return ;;`,
  );
  const commands = all.map(({ path, commands: names, options, choices: words, takesPath }) => {
    const offered = [...names.map(({ name, description }) => describeWord(name, description)), ...words].join(' ');
    const flags = options.map(({ flag, description }) => describeWord(flag, description)).join(' ');
    return `    ${quote(path)}) offered=(${offered}) flags=(${flags}) files=${takesPath ? 'yes' : ''} ;;`;
  });
  return `#compdef memoryd
# Completes memoryd in zsh; written by: memoryd completion zsh
_memoryd() {
  local at= files=
  local -i i=2
  local -a offered flags
  while ((i < CURRENT)); do
    case "$at $words[i]" in
    (${getStepPatterns(all).join('|')}) at="\${at:+$at }$words[i]" ;;
    (${getFlagsWithValue(all)
      .map((flag) => `*' ${flag}'`)
      .join('|')}) ((i += 1)) ;;
    esac
    ((i += 1))
  done
  case "$at:$words[CURRENT-1]" in
${choices.join('\n')}
    (${getFlagsWithPath(all)
      .map((flag) => `*':${flag}'`)
      .join('|')}) _files; return ;;
    (${getFlagsWithValue(all)
      .map((flag) => `*':${flag}'`)
      .join('|')}) return ;;
  esac
  case "$at" in
${commands.join('\n')}
  esac
  if [[ $words[CURRENT] == -* ]]; then
    _describe -o option flags
    return
  fi
  (( $#offered )) && _describe command offered
  [[ -n $files ]] && _files
}
if [[ $funcstack[1] == _memoryd ]]; then _memoryd "$@"; else compdef _memoryd memoryd; fi
`;
}

function describeWord(word: string, description: string): string {
  return quote(`${word.replaceAll(':', '\\:')}:${description}`);
}
