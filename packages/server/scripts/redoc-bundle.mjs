// Puts the Redoc bundle into dist/redoc without the one picture that it loads from an outside host.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const OUTSIDE_PICTURE = 'https://cdn.redoc.ly/redoc/logo-mini.svg';
const EMPTY_PICTURE = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E";

const bundle = fileURLToPath(import.meta.resolve('redoc/bundles/redoc.standalone.js'));
const text = readFileSync(bundle, 'utf8');
if (!text.includes(OUTSIDE_PICTURE)) throw new Error(`${bundle} names ${OUTSIDE_PICTURE} no more: look what it loads`);

const folder = new URL('../dist/redoc/', import.meta.url);
mkdirSync(folder, { recursive: true });
writeFileSync(new URL('redoc.standalone.js', folder), text.replaceAll(OUTSIDE_PICTURE, EMPTY_PICTURE));
copyFileSync(`${bundle}.LICENSE.txt`, new URL('redoc.standalone.js.LICENSE.txt', folder));
