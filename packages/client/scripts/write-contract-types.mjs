// Makes the published package independent of @memoryd/contract: writes the contract's types in plain TypeScript to
// dist/contract.d.ts, generated from its schemas and interfaces; copies its standalone modules; and rewrites imports to
// these files.
import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const contract = await import('@memoryd/contract');
const dist = fileURLToPath(new URL('../dist/', import.meta.url));
// The declarations are next to the folder with the bundle.
const contractDist = fileURLToPath(new URL('../', import.meta.resolve('@memoryd/contract')));
const declarations = readdirSync(contractDist)
  .filter((name) => name.endsWith('.d.ts') && !name.endsWith('.test.d.ts'))
  .map((name) => readFileSync(contractDist + name, 'utf8'));

/** Schemas with a type of the same name, each with its docstring. */
const namedSchemas = declarations.flatMap((text) =>
  [...text.matchAll(/(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?export declare const (\w+):/g)]
    .map(([, comment = '', name]) => ({ comment, name, schema: contract[name] }))
    .filter(({ name }) => text.includes(`export type ${name} = Type.Static<typeof ${name}>;`)),
);
const names = new Map([
  ...namedSchemas.map(({ name, schema }) => [JSON.stringify(schema), name]),
  // A filter refers to itself, which its schema does not express.
  [JSON.stringify(contract.FilterExpression), 'FilterShape'],
]);

function getType(schema) {
  return names.get(JSON.stringify(schema)) ?? getShape(schema);
}

function getShape(schema) {
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (schema.anyOf) return schema.anyOf.map(getType).join(' | ');
  switch (schema.type) {
    case 'string':
    case 'number':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'integer':
      return 'number';
    case 'array':
      return `Array<${getType(schema.items)}>`;
    case 'object':
      return getObject(schema);
    case undefined:
      return 'unknown';
    default:
      throw new TypeError(`unsupported schema: ${JSON.stringify(schema)}`);
  }
}

function getObject({ properties, required = [], patternProperties }) {
  if (patternProperties) return `Record<string, ${Object.values(patternProperties).map(getType).join(' | ')}>`;
  const fields = Object.entries(properties).map(([name, schema]) => {
    const comment = schema.description ? `/** ${schema.description} */\n` : '';
    return `${comment}${name}${required.includes(name) ? '' : '?'}: ${getType(schema)};`;
  });
  return `{\n${fields.join('\n').replace(/^/gm, '  ')}\n}`;
}

function getComment({ comment, schema }) {
  return comment || (schema.description ? `/** ${schema.description} */\n` : '');
}

const types = namedSchemas.map(
  (entry) => `${getComment(entry)}export type ${entry.name} = ${getShape(entry.schema)};\n`,
);
/** Returns the declarations of a module, without its imports and without exports of values. */
function getDeclarations(module) {
  const text = readFileSync(`${contractDist}${module}.d.ts`, 'utf8');
  return text.replace(/^(import .*|\/\/# .*)\n?/gm, '').replace(/^export declare const/gm, 'declare const');
}

const codes = Object.keys(contract.ERRORS).map((code) => JSON.stringify(code));
const shared = ['filter-type', 'api'].map(getDeclarations);
const text = [...types, `export type ErrorCode = ${codes.join(' | ')};\n`, ...shared].join('\n');
writeFileSync(`${dist}contract.d.ts`, text);

/** Modules of the contract that the client needs at run time. They have no imports. */
const STANDALONE = ['current-recall', 'limits', 'scoped', 'time-zone', 'token-estimate'];
for (const name of STANDALONE) {
  const code = readFileSync(fileURLToPath(import.meta.resolve(`@memoryd/contract/${name}`)), 'utf8');
  // The source map of a bundled module is not copied.
  writeFileSync(`${dist}${name}.js`, code.replace(/^\/\/# sourceMappingURL=.*$/m, ''));
}
// The declarations of the client export this function of a standalone module.
copyFileSync(`${contractDist}token-estimate.d.ts`, `${dist}token-estimate.d.ts`);

for (const name of readdirSync(dist).filter((entry) => /\.(d\.ts|js)$/.test(entry))) {
  const before = readFileSync(dist + name, 'utf8');
  const after = STANDALONE.reduce(
    (code, module) => code.replaceAll(`'@memoryd/contract/${module}'`, `'./${module}.js'`),
    before.replaceAll("'@memoryd/contract'", "'./contract.js'"),
  );
  if (after !== before) writeFileSync(dist + name, after);
}
