import { suggestion } from '../near.ts';
import { SETTING_NAMES } from './names.ts';
import type { Environment } from './read.ts';

const KEYS: readonly string[] = SETTING_NAMES.map(({ key }) => key);

/** Whether a setting is called so in a settings file. */
export function isKey(name: string): boolean {
  return KEYS.includes(name);
}

/** What there is to say of a name in a settings file that is no key. */
export function unknownKey(name: string): string {
  return `no setting is called ${JSON.stringify(name)}${suggestedKey(name)}`;
}

/** The key that is near, also where it was written as its flag or its variable. */
function suggestedKey(key: string): string {
  const words = key.replace(/^(--|SERVICE_)/, '').replace(/([a-z])([A-Z])/g, '$1-$2');
  const asKey = words.toLowerCase().replace(/[-_]+(.)/g, (_, letter: string) => letter.toUpperCase());
  return KEYS.includes(asKey) ? ` (Did you mean ${asKey}?)` : suggestion(asKey, KEYS);
}

const PREFIX = 'SERVICE_';

/** What there is to say of variables that look like settings and are none, a sentence each. */
export function unknownVariables(env: Environment): string[] {
  const known = SETTING_NAMES.map(({ env: variable }) => variable.slice(PREFIX.length));
  const unknown = Object.keys(env).filter(
    (name) => name.startsWith(PREFIX) && !known.includes(name.slice(PREFIX.length)),
  );
  return unknown.map((name) => {
    const meant = suggestion(name.slice(PREFIX.length), known).replace(/\b[A-Z]+(_[A-Z]+)*(?=,|\?)/g, `${PREFIX}$&`);
    return `${name} is no setting, and is ignored${meant}`;
  });
}
