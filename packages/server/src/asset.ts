import { readFileSync } from 'node:fs';

/**
 * Returns the text of a file that memoryd copies to other places. This file must stay at the top of `src`: the path is
 * relative to the file, and the bundled code is at the top of `dist`.
 */
export function readAsset(name: 'claude-desktop.cjs'): string {
  return readFileSync(new URL(`../assets/${name}`, import.meta.url), 'utf8');
}
