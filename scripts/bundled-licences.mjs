import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Returns the licenses of the packages in a Rolldown chunk, as comments for its start. */
export function getBundledLicenses({ moduleIds }) {
  const folders = moduleIds.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id) ?? []);
  return [...new Set(folders)].map(readLicense).join('\n');
}

function readLicense(folder) {
  const { name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const files = readdirSync(folder);
  const license = files.find((one) => /^licen[cs]e/i.test(one));
  if (license === undefined) throw new Error(`cannot bundle ${name}: the package has no license file`);
  // Licenses of what the package contains of others.
  const others = files.filter((one) => /^third.?party/i.test(one));
  const text = [license, ...others].map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
  return `/*!\n${name}\n${text}*/`;
}
