// Bundles the package in the working directory by its rolldown.config.js. Prints nothing on success.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'rolldown';

const { default: config } = await import(pathToFileURL(resolve('rolldown.config.js')));
await build([config].flat());
