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

/** Replaces the one match of a pattern in a file. */
function replaceIn(path, pattern, text) {
  const source = readFileSync(root + path, 'utf8');
  if (!pattern.test(source)) throw new Error(`${path} must match ${pattern}`);
  writeFileSync(root + path, source.replace(pattern, text));
}

// Source files contain the version, because a client in a browser cannot read package.json.
replaceIn('packages/client/src/version.ts', /^export const VERSION = '.*';$/m, `export const VERSION = '${version}';`);
replaceIn('clients/python/src/memoryd/_version.py', /^VERSION = ".*"$/m, `VERSION = "${version}"`);
for (const project of ['clients/python/pyproject.toml', 'clients/python-server/pyproject.toml']) {
  replaceIn(project, /^version = ".*"$/m, `version = "${version}"`);
}
// The extra `server` of the Python client.
replaceIn('clients/python/pyproject.toml', /"memoryd-server==[^"]*"/, `"memoryd-server==${version}"`);
