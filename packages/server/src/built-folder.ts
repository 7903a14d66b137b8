import { fileURLToPath } from 'node:url';

/**
 * Returns the folder of a built web bundle: the dashboard (`ui`) or Redoc (`redoc`). The path is resolved in this file
 * because bundled code lies at the top of `dist`, as this file lies at the top of `src`.
 */
export function getBuildFolder(name: 'ui' | 'redoc'): string {
  return fileURLToPath(new URL(`../dist/${name}`, import.meta.url));
}
