import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
  engines: { node: string };
};

/** The version of this package, which all packages of memoryd share. */
export const VERSION = manifest.version;

/** The oldest Node that it runs on, such as `20.19`. */
export const LEAST_NODE = manifest.engines.node.replace('>=', '');
