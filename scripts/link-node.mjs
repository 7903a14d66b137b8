// Links `node_modules/.bin/node` to the Node that npm installed in this clone. npm 10 removes the link when it skips
// the Node package of another platform, which has the same command name.
import { existsSync, symlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const modules = fileURLToPath(new URL('../node_modules/', import.meta.url));
const executable = `node-${process.platform}-${process.arch}/bin/node`;
const link = `${modules}.bin/node`;

if (existsSync(modules + executable) && !existsSync(link)) symlinkSync(`../${executable}`, link);
