import { fileURLToPath } from 'node:url';

/**
 * The folder of what the build makes beside the code: the dashboard, or the bundle that shows the OpenAPI document. It is
 * told here because the built code lies at the top of `dist`, as this file does of `src`.
 */
export function builtFolder(name: 'ui' | 'redoc'): string {
  return fileURLToPath(new URL(`../dist/${name}`, import.meta.url));
}
