// Makes `node_modules/.bin/node` the Node that npm installed for this clone. npm 10 removes that link again when it leaves
// out the Node of another platform, whose command has the same name.
import { existsSync, symlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const modules = fileURLToPath(new URL('../node_modules/', import.meta.url));
const executable = `node-${process.platform}-${process.arch}/bin/node`;
const link = `${modules}.bin/node`;

if (existsSync(modules + executable) && !existsSync(link)) symlinkSync(`../${executable}`, link);
