import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The licences of the packages that a chunk of Rolldown holds, as the comments that it begins with. */
export function bundledLicences({ moduleIds }) {
  const folders = moduleIds.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id) ?? []);
  return [...new Set(folders)].map(licenceIn).join('\n');
}

function licenceIn(folder) {
  const { name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  if (file === undefined) throw new Error(`${name} has no licence to be bundled with`);
  return `/*!\n${name}\n${readFileSync(join(folder, file), 'utf8')}*/`;
}
