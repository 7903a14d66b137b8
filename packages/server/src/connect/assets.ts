import { readFileSync } from 'node:fs';
import { getBuiltFile } from '../built-folder.ts';
import { type Capture, OWNED_MARK } from './types.ts';

const BANNER = `// ${OWNED_MARK}: \`memoryd connect\` writes and deletes it.\n`;

/** Returns the text of the program that hooks run, which logs its last error of a day to a file. */
export function getHookText(log: string): string {
  return fill(readFileSync(getBuiltFile('hook.cjs'), 'utf8'), { LOG: log });
}

/** Returns the text of the OpenCode plugin. */
export function getPluginText(settings: { url: string; capture: Capture; keyFile: string; log: string }): string {
  return fill(readFileSync(getBuiltFile('opencode-plugin.js'), 'utf8'), { SETTINGS: JSON.stringify(settings) });
}

/** Adds the mark of an owned file, and replaces the string literals `__NAME__`, with any quotes. */
function fill(text: string, values: Readonly<Record<string, string>>): string {
  const replace = (_: string, _quote: string, name: string) => JSON.stringify(values[name]);
  return BANNER + text.replace(/(["'`])__([A-Z_]+)__\1/g, replace);
}
