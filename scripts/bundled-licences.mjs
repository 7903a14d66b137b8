import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the licenses of the packages in a Rolldown chunk, as comments for its start. */
export function getBundledLicenses({ moduleIds }) {
  const folders = moduleIds.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id) ?? []);
  return [...new Set(folders)].map(readLicense).join('\n');
}

function readLicense(folder) {
  const { name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  if (file === undefined) throw new Error(`cannot bundle ${name}: the package has no license file`);
  return `/*!\n${name}\n${readFileSync(join(folder, file), 'utf8')}*/`;
}
