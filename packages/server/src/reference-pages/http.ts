import { markdownTable } from './markdown-table.ts';
import { resolveReferences } from './resolve-references.ts';

/** The parts of an OpenAPI document that the page uses. */
export interface OpenApiDocument {
  paths: Record<string, Record<string, Operation>>;
}

interface Operation {
  summary: string;
  description?: string;
  parameters?: (Parameter & { in: string })[];
  requestBody?: { content: Content };
  responses: Record<string, OperationResponse>;
}

/** Schemas of bodies by content type. */
type Content = Record<string, { schema: Schema }>;

interface OperationResponse {
  description: string;
  headers?: Record<string, { description?: string; schema: Schema }>;
  content?: Content;
}

interface Parameter {
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
  /** Schema of the JSON in a string. */
  contentSchema?: Schema;
  /** Schema of a line of a text. */
  'x-line-schema'?: Schema;
}

/** Maximum depth of listed fields, such as `plan.promote.memories[].id`. */
const MAX_FIELD_DEPTH = 4;

const JSON_TYPE = 'application/json';

const REQUEST_HEAD = ['Field', 'In', 'Must be', 'Meaning'];

/** Returns the reference page of the REST interface in Markdown. */
export function httpPage(document: OpenApiDocument): string {
  const operations = Object.entries(resolveReferences(document).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => section(`${method.toUpperCase()} ${path}`, operation)),
  );
  return `<!-- Written by \`npm run http-page --workspace memoryd\` from the service's OpenAPI document. -->
# The REST interface

A running server shows the same reference at \`/docs\`, \`/redoc\` and \`/openapi.json\`. Bodies are JSON. All errors have the
same shape, with an [error code](errors.md). Null in an optional field of a body, and an empty query parameter, mean the same
as leaving it out, except where null clears a value; \`user_id\`, \`agent_id\` and every parameter of \`DELETE\` and \`/export\`
must not be empty. Every response has the header \`X-Request-Id\`.

${operations.join('\n\n')}
`;
}

function section(
  title: string,
  { summary, description = '', parameters = [], requestBody, responses }: Operation,
): string {
  const { location, kinds } = getBody(requestBody);
  const requestRows = [
    ...parameters.map(({ in: location, schema, ...parameter }) =>
      requestRow(location, { ...parameter, schema: schema.contentSchema ?? schema }),
    ),
    ...kinds.flatMap((kind) => (kinds.length > 1 ? [] : bodyRows(location, kind))),
  ];
  const codes = Object.values(responses).flatMap(({ description: text }) => /^[A-Z_]+(?=:)/.exec(text)?.[0] ?? []);
  return [
    `## \`${title}\``,
    `${summary}. ${description}`.trim(),
    ...table(REQUEST_HEAD, requestRows),
    ...(kinds.length > 1 ? kinds.flatMap((kind) => bodyKindTable(location, kind)) : []),
    ...(responses['200'] ? responseTables(responses['200']) : []),
    `Errors: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
  ].join('\n\n');
}

function requestRow(location: string, { name, required, description, schema }: Parameter): string[] {
  const byDefault = schema.default === undefined ? '' : ` Default: \`${JSON.stringify(schema.default)}\`.`;
  return [
    `\`${name}\`${required ? ' (required)' : ''}`,
    location,
    cell(getMust(schema)),
    cell(`${description ?? schema.description ?? ''}${byDefault}`),
  ];
}

/** Returns the schema of a request body or of its items, as a list of alternatives. */
function getBody({ content }: { content: Content } = { content: {} }): { location: string; kinds: Schema[] } {
  // If a body may be JSON or NDJSON, only the JSON schema is listed; a line has the schema of an item.
  const { items, ...schema } = content[JSON_TYPE]?.schema ?? {};
  const fields = items ?? schema;
  return { location: items ? 'each item of the body' : 'body', kinds: fields.anyOf ?? [fields] };
}

function bodyRows(location: string, { properties = {}, required }: Schema): string[][] {
  return Object.entries(properties).map(([name, schema]) =>
    requestRow(location, { name, required: required?.includes(name) ?? false, schema }),
  );
}

function bodyKindTable(location: string, kind: Schema): string[] {
  return [kind.description ?? '', ...table(REQUEST_HEAD, bodyRows(location, kind))];
}

/** Returns the tables of a response: its headers, and the fields of each kind of body. */
function responseTables({ description, headers = {}, content = {} }: OperationResponse): string[] {
  const headerRows = Object.entries(headers).map(([name, { schema, description: meaning = '' }]) => [
    `\`${name}\``,
    cell(getKind(schema)),
    cell(meaning),
  ]);
  const bodies = Object.entries(content).flatMap(([type, { schema }]) => {
    const { anyOf: kinds = [], ...fields } = schema['x-line-schema'] ?? schema;
    return [
      ...(type === JSON_TYPE ? [] : [`Response body (\`${type}\`): ${schema.description ?? description}`]),
      ...kinds.flatMap((kind) => [...(kind.description ? [kind.description] : []), ...fieldTable(kind)]),
      ...fieldTable(fields),
    ];
  });
  return [...table(['Response header', 'Type', 'Meaning'], headerRows), ...bodies];
}

function fieldTable(schema: Schema): string[] {
  return table(['Response field', 'Type', 'Meaning'], getFields(schema, '', MAX_FIELD_DEPTH));
}

/** Returns a Markdown table, or an empty list if there are no rows. */
function table(head: string[], rows: string[][]): string[] {
  return rows.length > 0 ? [markdownTable(head, rows)] : [];
}

function getFields({ properties, anyOf = [] }: Schema, prefix: string, depth: number): string[][] {
  if (!properties) return anyOf.flatMap((one) => getFields(one, prefix, depth));
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = prefix + name;
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

/** Escapes a text for a cell of a Markdown table. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
