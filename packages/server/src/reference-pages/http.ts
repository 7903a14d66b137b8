import { markdownTable } from './markdown-table.ts';

/** What the page takes of an OpenAPI document. */
export interface OpenApiDocument {
  paths: Record<string, Record<string, Operation>>;
}

interface Operation {
  summary: string;
  description?: string;
  parameters?: (Named & { in: string })[];
  requestBody?: { content: Content };
  responses: Record<string, Answer>;
}

/** Bodies by their content types. */
type Content = Record<string, { schema: Schema }>;

interface Answer {
  description: string;
  headers?: Record<string, { description?: string; schema: Schema }>;
  content?: Content;
}

interface Named {
  name: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}

interface Schema {
  type?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  format?: string;
  items?: Schema;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  'x-must'?: string;
}

/** Fields of fields are named as far as this, such as `plan.promote.memories[].id`. */
const DEEPEST = 4;

const JSON_TYPE = 'application/json';

/** The reference page of all requests and answers, in Markdown. */
export function httpPage({ paths }: OpenApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => section(`${method.toUpperCase()} ${path}`, operation)),
  );
  return `<!-- Written by \`npm run http-page --workspace memoryd\` from the service's description of itself. -->
# The REST interface

What a running server shows at \`/docs\`, \`/redoc\` and \`/openapi.json\`, to read without one. Bodies are JSON. Errors have one
shape, with a code of [the table](errors.md); every answer has an \`X-Request-Id\`.

${operations.join('\n\n')}
`;
}

function section(
  title: string,
  { summary, description = '', parameters = [], requestBody, responses }: Operation,
): string {
  const asked = [...parameters.map(({ in: place, ...named }) => requestRow(place, named)), ...bodyRows(requestBody)];
  const codes = Object.values(responses).flatMap(({ description: text }) => /^[A-Z_]+(?=:)/.exec(text)?.[0] ?? []);
  return [
    `## \`${title}\``,
    `${summary}. ${description}`.trim(),
    ...table(['Field', 'In', 'Must be', 'Meaning'], asked),
    ...(responses['200'] ? answered(responses['200']) : []),
    `Errors: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
  ].join('\n\n');
}

function requestRow(place: string, { name, required, description, schema }: Named): string[] {
  const byDefault = schema.default === undefined ? '' : ` Default: \`${JSON.stringify(schema.default)}\`.`;
  return [
    `\`${name}\`${required ? ' (needed)' : ''}`,
    place,
    cell(getMust(schema)),
    cell(`${description ?? schema.description ?? ''}${byDefault}`),
  ];
}

function bodyRows({ content }: { content: Content } = { content: {} }): string[][] {
  // Of bodies in JSON and in lines of it, JSON; the content types of lines are names of one.
  const [[type, { schema }] = [JSON_TYPE, { schema: {} }]] = Object.entries(content);
  const place = type === JSON_TYPE ? 'body' : 'each line';
  const fields = schema.items ?? schema;
  return Object.entries(fields.properties ?? {}).map(([name, field]) =>
    requestRow(schema.items ? 'each of the body' : place, {
      name,
      required: fields.required?.includes(name) ?? false,
      schema: field,
    }),
  );
}

/** The headers of an answer, and its bodies: what it is where it is not one JSON value, and the fields of each kind. */
function answered({ description, headers = {}, content = {} }: Answer): string[] {
  const headerRows = Object.entries(headers).map(([name, { schema, description: meaning = '' }]) => [
    `\`${name}\``,
    cell(getKind(schema)),
    cell(meaning),
  ]);
  const bodies = Object.entries(content).flatMap(([type, { schema }]) => [
    ...(type === JSON_TYPE ? [] : [`Answers \`${type}\`: ${schema.description ?? description}`]),
    ...(schema.anyOf?.flatMap((kind) => [kind.description ?? '', ...answerTable(kind)]) ?? answerTable(schema)),
  ]);
  return [...table(['Header of the answer', 'Is', 'Meaning'], headerRows), ...bodies];
}

function answerTable(schema: Schema): string[] {
  return table(['Answer', 'Is', 'Meaning'], getFields(schema, '', DEEPEST));
}

/** None where there is nothing in it. */
function table(head: string[], rows: string[][]): string[] {
  return rows.length > 0 ? [markdownTable(head, rows)] : [];
}

function getFields({ properties, anyOf = [] }: Schema, before: string, depth: number): string[][] {
  if (!properties) return anyOf.flatMap((one) => getFields(one, before, depth));
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = before + name;
    const row = [`\`${path}\``, cell(getKind(schema)), cell(schema.description ?? '')];
    if (depth === 1) return [row];
    const inner = schema.items
      ? getFields(schema.items, `${path}[].`, depth - 1)
      : getFields(schema, `${path}.`, depth - 1);
    return [row, ...inner];
  });
}

function getMust(schema: Schema): string {
  return schema['x-must']?.replace(/^be /, '') ?? getKind(schema);
}

function getKind({ type, format, items, anyOf, ...schema }: Schema): string {
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (anyOf) return [...new Set(anyOf.map(getKind))].join(' or ');
  if (items) return `array of ${getKind(items)}`;
  return format ?? type ?? 'any';
}

/** A text as it may stand in a cell of a table. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
