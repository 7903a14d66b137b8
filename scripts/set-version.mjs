// Sets the version of every workspace to the version of the root package. `npm version` runs this script.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const { version, workspaces } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));
const names = new Set(
  workspaces.map((folder) => JSON.parse(readFileSync(`${root}${folder}/package.json`, 'utf8')).name),
);

function rewrite(path, change) {
  const content = JSON.parse(readFileSync(root + path, 'utf8'));
  change(content);
  writeFileSync(root + path, `${JSON.stringify(content, null, 2)}\n`);
}

/** Sets the version of a manifest or lock file entry, and of its dependencies on other workspaces. */
function setVersions(manifest) {
  manifest.version = version;
  for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies']) {
    for (const name of Object.keys(manifest[kind] ?? {})) {
      if (names.has(name)) manifest[kind][name] = version;
    }
  }
}

for (const folder of workspaces) rewrite(`${folder}/package.json`, setVersions);
rewrite('package-lock.json', ({ packages }) => {
  for (const folder of workspaces) setVersions(packages[folder]);
});

// In a browser, the client cannot read package.json, so a source file contains the version.
const clientVersion = `${root}packages/client/src/version.ts`;
const line = /^export const VERSION = '.*';$/m;
const source = readFileSync(clientVersion, 'utf8');
if (!line.test(source)) throw new Error(`${clientVersion} must have a line "export const VERSION = '…';"`);
writeFileSync(clientVersion, source.replace(line, `export const VERSION = '${version}';`));
