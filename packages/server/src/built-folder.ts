import { fileURLToPath } from 'node:url';

/**
 * Returns the folder of a built web bundle: the dashboard (`ui`) or Redoc (`redoc`). This file must stay at the top of
 * `src`: the path is relative to the file, and the bundled code is at the top of `dist`.
 */
export function getBuildFolder(name: 'ui' | 'redoc'): string {
  return fileURLToPath(new URL(`../dist/${name}`, import.meta.url));
}

/** Returns the path of a built file: one that connect copies to the user, or the process that reads uploads. */
export function getBuiltFile(name: 'hook.cjs' | 'opencode-plugin.js' | 'memoryd-import-reader.js'): string {
  return fileURLToPath(new URL(`../dist/${name}`, import.meta.url));
}
