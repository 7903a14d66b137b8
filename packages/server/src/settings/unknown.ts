import { getSuggestion } from '../suggestion.ts';
import { SETTING_NAMES } from './names.ts';
import type { Environment } from './read.ts';

const KEYS: readonly string[] = SETTING_NAMES.map(({ key }) => key);

export function isSettingKey(name: string): boolean {
  return KEYS.includes(name);
}

/** Returns the error message for an unknown key in a settings file. */
export function describeUnknownKey(name: string): string {
  return `unknown setting ${JSON.stringify(name)}${suggestKey(name) || '; memoryd serve --help lists all settings'}`;
}

/** Returns a suggestion of a similar key. `key` may have the form of a flag or of an environment variable. */
function suggestKey(key: string): string {
  const words = key.replace(/^(--|SERVICE_)/, '').replace(/([a-z])([A-Z])/g, '$1-$2');
  const asKey = words.toLowerCase().replace(/[-_]+(.)/g, (_, letter: string) => letter.toUpperCase());
  return KEYS.includes(asKey) ? ` (Did you mean ${asKey}?)` : getSuggestion(asKey, KEYS);
}

const PREFIX = 'SERVICE_';

/** Returns a warning for each unknown environment variable with the prefix of settings. */
export function unknownVariables(env: Environment): string[] {
  const known = SETTING_NAMES.map(({ env: variable }) => variable.slice(PREFIX.length));
  const unknown = Object.keys(env).filter(
    (name) => name.startsWith(PREFIX) && !known.includes(name.slice(PREFIX.length)),
  );
  return unknown.map((name) => {
    const hint = getSuggestion(name.slice(PREFIX.length), known).replace(/\b[A-Z]+(_[A-Z]+)*(?=,|\?)/g, `${PREFIX}$&`);
    return `${name} is not a setting and is ignored${hint}`;
  });
}
