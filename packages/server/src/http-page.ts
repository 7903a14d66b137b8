import { markdownTable } from './markdown-table.ts';

/** What the page takes of an OpenAPI document. */
export interface OpenApiDocument {
  paths: Record<string, Record<string, Operation>>;
}

interface Operation {
  summary: string;
  description?: string;
  parameters?: (Named & { in: string })[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>;
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

/** Fields of fields are named as far as this, such as `results[].explanation.even`. */
const DEEPEST = 3;

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
  const answered = answerRows(responses['200']?.content);
  const codes = Object.values(responses).flatMap(({ description: text }) => /^[A-Z_]+(?=:)/.exec(text)?.[0] ?? []);
  return [
    `## \`${title}\``,
    `${summary}. ${description}`.trim(),
    ...(asked.length > 0 ? [markdownTable(['Field', 'In', 'Must be', 'Meaning'], asked)] : []),
    ...(answered.length > 0 ? [markdownTable(['Answer', 'Is', 'Meaning'], answered)] : []),
    `Errors: ${codes.map((code) => `\`${code}\``).join(', ')}.`,
  ].join('\n\n');
}

function requestRow(place: string, { name, required, description, schema }: Named): string[] {
  const byDefault = schema.default === undefined ? '' : ` Default: \`${JSON.stringify(schema.default)}\`.`;
  return [
    `\`${name}\`${required ? ' (needed)' : ''}`,
    place,
    cell(mustOf(schema)),
    cell(`${description ?? schema.description ?? ''}${byDefault}`),
  ];
}

function bodyRows(body: Operation['requestBody']): string[][] {
  const { schema } = body?.content['application/json'] ?? {};
  const fields = schema?.items ?? schema;
  return Object.entries(fields?.properties ?? {}).map(([name, field]) =>
    requestRow(schema?.items ? 'each of the body' : 'body', {
      name,
      required: fields?.required?.includes(name) ?? false,
      schema: field,
    }),
  );
}

function answerRows(content: Record<string, { schema: Schema }> | undefined): string[][] {
  return fieldsOf(content?.['application/json']?.schema ?? {}, '', DEEPEST);
}

function fieldsOf({ properties = {} }: Schema, before: string, depth: number): string[][] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = before + name;
    const row = [`\`${path}\``, cell(kindOf(schema)), cell(schema.description ?? '')];
    if (depth === 1) return [row];
    const inner = schema.items
      ? fieldsOf(schema.items, `${path}[].`, depth - 1)
      : fieldsOf(schema, `${path}.`, depth - 1);
    return [row, ...inner];
  });
}

function mustOf(schema: Schema): string {
  return schema['x-must']?.replace(/^be /, '') ?? kindOf(schema);
}

function kindOf({ type, format, items, anyOf, ...schema }: Schema): string {
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (anyOf) return [...new Set(anyOf.map(kindOf))].join(' or ');
  if (items) return `array of ${kindOf(items)}`;
  return format ?? type ?? 'any';
}

/** A text as it may stand in a cell of a table. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
