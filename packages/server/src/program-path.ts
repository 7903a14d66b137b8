import { fileURLToPath } from 'node:url';

/**
 * Returns the absolute path of the script of the command `memoryd`. This file must stay at the top of `src`: the path is
 * relative to the file, and the bundled code is at the top of `dist`.
 */
export function getProgramPath(): string {
  return fileURLToPath(new URL('../bin/memoryd.mjs', import.meta.url));
}
