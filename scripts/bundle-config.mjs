import { defineConfig } from 'rolldown';
import { getBundledLicenses } from './bundled-licences.mjs';

/** Returns true for an import of a package, and false for an import of a file. */
export const isPackage = (id) => !/^[./]|^\0/.test(id);

/**
 * Returns the configuration that bundles entry points of a package in `dist/bundle`, because finding each file takes a
 * start a good part of a millisecond. Packages stay what was installed, except `bundled`: packages of many small
 * modules, of which every start would look for each.
 */
export function bundleEntries(input, bundled = []) {
  return defineConfig({
    input,
    platform: 'node',
    external: (id) => isPackage(id) && !bundled.some((name) => id === name || id.startsWith(`${name}/`)),
    output: { dir: 'dist/bundle', format: 'esm', sourcemap: true, cleanDir: true, banner: getBundledLicenses },
  });
}
