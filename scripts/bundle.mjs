// Bundles the package of the working directory by its rolldown.config.js, and says nothing where nothing is wrong.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'rolldown';

const { default: config } = await import(pathToFileURL(resolve('rolldown.config.js')));
await build([config].flat());
