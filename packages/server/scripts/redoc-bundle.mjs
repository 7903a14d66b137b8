// Puts the Redoc bundle into dist/redoc without the one picture that it loads from an outside host, and with dark colors
// where it has the same in every theme.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const OUTSIDE_PICTURE = 'https://cdn.redoc.ly/redoc/logo-mini.svg';
const EMPTY_PICTURE = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E";

/** Declarations that the options of Redoc do not reach: what is there, its value in a light and in a dark theme. */
const COLORS = [
  ['background: #ffffff;', '#ffffff', '#1f201d'],
  ['background-color: white;', 'white', '#1f201d'],
  ['background-color: #fff;', '#fff', '#1f201d'],
  [`background: \${({theme:e})=>e.rightPanel.textColor};`, '#ffffff', '#373832'],
  ['color: rgba(38, 50, 56, 0.7);', 'rgba(38, 50, 56, 0.7)', '#b9b7ad'],
  ['color: black;', 'black', '#b9b7ad'],
  ['color: #0e7c86;', '#0e7c86', '#7fcdc3'],
];

const bundle = fileURLToPath(import.meta.resolve('redoc/bundles/redoc.standalone.js'));
const text = readFileSync(bundle, 'utf8');
if (!text.includes(OUTSIDE_PICTURE)) {
  throw new Error(`${bundle} must contain ${OUTSIDE_PICTURE}; check which pictures this Redoc version loads`);
}

const themed = COLORS.reduce((all, [declaration, light, dark]) => {
  if (!all.includes(declaration))
    throw new Error(`${bundle} must contain "${declaration}"; check /redoc in the dark theme and update COLORS`);
  const [property] = declaration.split(':');
  return all.replaceAll(declaration, `${property}: light-dark(${light}, ${dark});`);
}, text);

const folder = new URL('../dist/redoc/', import.meta.url);
mkdirSync(folder, { recursive: true });
writeFileSync(new URL('redoc.standalone.js', folder), themed.replaceAll(OUTSIDE_PICTURE, EMPTY_PICTURE));
copyFileSync(`${bundle}.LICENSE.txt`, new URL('redoc.standalone.js.LICENSE.txt', folder));
