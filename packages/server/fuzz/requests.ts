import fc from 'fast-check';
import type { Operation, Parameter, Schema } from './open-api.ts';
import { placeholder } from './placeholders.ts';
import { invalidText, junk, text, validValue } from './values.ts';

/** A request whose placeholders have not been replaced yet. */
export interface Plan {
  operation: Operation;
  /** Such as `valid` or `a parameter given twice`. */
  label: string;
  method: string;
  path: string;
  headers: Record<string, string | string[]>;
  body?: string | Uint8Array;
  chunked?: boolean;
  /** Whether the service must accept the request, must refuse it, or may do either. */
  expects: 'success' | 'refusal' | 'either';
}

/** The parts of a valid request, which mutations can change. */
interface RequestParts {
  path: Record<string, string>;
  query: [name: string, value: string][];
  headers: Record<string, string>;
  body?: { type: string; value: unknown };
}

/** Returns requests of an operation; about half of them are valid. */
export function getRequests(operation: Operation): fc.Arbitrary<Plan> {
  const valid = getValidParts(operation);
  const broken = getMutations(operation).map((mutation) => valid.chain((parts) => mutation(operation, parts)));
  const plans = fc.oneof(
    { arbitrary: valid.map((parts) => getPlan(operation, parts)), weight: broken.length },
    ...broken.map((arbitrary) => ({ arbitrary, weight: 1 })),
  );
  if (operation.name === 'POST /imports') return plans.map((plan) => ({ ...plan, expects: 'either' }));
  return operation.name === 'POST /import' ? plans.map(toImport) : plans;
}

/** Kinds of the ids in paths, other than of consolidation runs. */
const PATHS_OF_IDS = [
  ['/imports/', 'import_id'],
  ['/changes/', 'change'],
] as const;

function getValidParts(operation: Operation): fc.Arbitrary<RequestParts> {
  const parametersIn = (location: Parameter['in']) =>
    operation.parameters.filter((parameter) => parameter.in === location);
  const path = fc.record(
    Object.fromEntries(
      parametersIn('path').map(({ name, schema }) => {
        const [, kind = name] = PATHS_OF_IDS.find(([begin]) => operation.path.startsWith(begin)) ?? [];
        return [name, validValue({ minLength: 1, ...schema }, kind).map(String)];
      }),
    ),
  );
  const headers = fc
    .record(Object.fromEntries(parametersIn('header').map((parameter) => [parameter.name, headerValue(parameter)])))
    .chain((all) => fc.subarray(Object.entries(all)).map((generated) => Object.fromEntries(generated)));
  const body = operation.bodies.size === 0 ? fc.constant(undefined) : fc.oneof(...[...operation.bodies].map(getBody));
  return fc
    .record({ path, headers, body, query: getQuery(operation.name, parametersIn('query')) })
    .map(({ body: generated, ...parts }) => ({
      ...parts,
      ...(generated && { body: generated }),
    }));
}

function headerValue({ name, schema }: Parameter): fc.Arbitrary<string> {
  const value = validValue(schema, name).map(String);
  // Only characters that a header can contain, without surrounding spaces.
  return value.map(
    (generated) =>
      generated
        .replaceAll(/[^\x20-\x7e\x80-\xff]/g, 'x')
        .slice(0, 4000)
        .trim() || 'x',
  );
}

function getBody([type, { schema }]: [string, { schema: Schema }]): fc.Arbitrary<{ type: string; value: unknown }> {
  const value = isLines(type) ? fc.array(validValue(schema), { maxLength: 6 }) : validValue(schema);
  const toCoherent = (generated: unknown) =>
    Array.isArray(generated) ? generated.map(toCoherentBody) : toCoherentBody(generated);
  return value.map((generated) => ({ type, value: toCoherent(generated) }));
}

/** Changes the fields of a body that contradict each other. Their schemas do not express these rules. */
function toCoherentBody(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const names = Object.entries(value).flatMap(([name, field]) => (field === null ? [] : [name]));
  const { add_tags: added = [] } = value as { add_tags?: string[] };
  const fields = Object.entries(value).filter(
    ([name, field]) =>
      isCoherent(name, names) && !(name === 'remove_tags' && added.some((tag) => (field as string[]).includes(tag))),
  );
  // A memory must end after it begins.
  return Object.fromEntries(
    fields.map(([name, field]) => [name, name === 'valid_to' && field !== null ? LAST_TIME : field]),
  );
}

const LAST_TIME = '9999-12-31T23:59:59.999Z';

/**
 * Returns false for fields that the service refuses: `shared` without a user or an agent, `once` and `reset` without a
 * session, `current` with `as_of`, `known_at` with words, `cursor` with another position or order, and
 * `with_later` with a memory.
 */
function isCoherent(name: string, names: readonly string[]): boolean {
  if (name === 'shared') return names.includes('user_id') || names.includes('agent_id');
  if (name === 'once' || name === 'reset') return names.includes('session_id');
  if (name === 'cursor') return !names.includes('offset') && !names.includes('order');
  if (name === 'known_at') return !names.includes('q');
  if (name === 'with_later') return !names.includes('memory_id');
  return name !== 'current' || !names.includes('as_of');
}

function isLines(type: string): boolean {
  return /ndjson|jsonl/.test(type);
}

function getQuery(operation: string, parameters: Parameter[]): fc.Arbitrary<[string, string][]> {
  const pairs = parameters.map((parameter) => {
    const kind = operation === 'DELETE /memories' && parameter.name === 'id' ? 'memory_id' : parameter.name;
    const generated = getPairs(parameter, kind);
    // Each change is of one session, because the ledger no longer knows the exact labels of the memories that it selects.
    const isRequired = operation === 'PATCH /memories' && parameter.name === 'session_id';
    return parameter.required || isRequired ? generated : fc.oneof(fc.constant([]), generated);
  });
  return fc.tuple(...pairs).map((all) => toCoherentQuery(all.flat()));
}

function toCoherentQuery(query: [string, string][]): [string, string][] {
  const names = query.map(([name]) => name);
  return query.filter(([name]) => isCoherent(name, names));
}

function getPairs({ name, schema, isJson }: Parameter, kind: string): fc.Arbitrary<[string, string][]> {
  if (isJson) return validValue(schema, name).map((value) => [[name, JSON.stringify(value)]]);
  if (schema.type === 'object') {
    const pair = fc.tuple(fc.constantFrom('k', 'flag', 'a.b', 'a[0]', 'é', '__proto__'), text, fc.boolean());
    return fc
      .uniqueArray(pair, { maxLength: 2, selector: ([key]) => key })
      .map((generated) => generated.map(([key, value, dot]) => [dot ? `${name}.${key}` : `${name}[${key}]`, value]));
  }
  if (schema.type !== 'array') return validValue(schema, kind).map((value) => [[name, toQueryText(value)]]);
  const items = fc.array(validValue(schema.items ?? {}, kind), {
    minLength: Math.max(1, schema.minItems ?? 0),
    maxLength: 3,
  });
  return items.map((values) => values.map((value) => [name, toQueryText(value)]));
}

/** Formats a value for a query string. */
function toQueryText(value: unknown): string {
  return typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(9) : String(value);
}

/**
 * Adds the header that an import requires. Lines are refused individually, for more reasons than their schema expresses, so
 * either result is allowed.
 */
function toImport(plan: Plan): Plan {
  if (typeof plan.body !== 'string') return { ...plan, expects: 'either' };
  const header = '{"format":"memoryd","version":1}';
  const isArray = plan.headers['content-type'] === 'application/json' && plan.body.startsWith('[');
  const body = isArray ? `[${header},${plan.body.slice(1)}` : `${header}\n${plan.body}`;
  return { ...plan, body, expects: 'either' };
}

function getPlan(operation: Operation, parts: RequestParts): Plan {
  const headers: Plan['headers'] = { ...parts.headers };
  const plan: Plan = { operation, label: 'valid', method: operation.method, path: '', headers, expects: 'success' };
  plan.path = getUrl(operation, parts);
  if (parts.body) {
    headers['content-type'] = parts.body.type;
    plan.body = getBytes(parts.body);
  }
  return plan;
}

function getUrl(operation: Operation, { path, query }: RequestParts): string {
  const route = operation.path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => encode(path[name] ?? ''));
  const pairs = query.map(([name, value]) => `${encode(name)}=${encode(value)}`);
  return pairs.length > 0 ? `${route}?${pairs.join('&')}` : route;
}

/** Percent-encodes a text. A lone surrogate becomes its three CESU-8 bytes. */
function encode(value: string): string {
  return [...value]
    .map((character) => (character.isWellFormed() ? encodeURIComponent(character) : '%ED%A0%80'))
    .join('');
}

function getBytes({ type, value }: { type: string; value: unknown }): string {
  if (!isLines(type)) return JSON.stringify(value);
  return (value as unknown[]).map((line) => `${JSON.stringify(line)}\n`).join('');
}

type Mutation = (operation: Operation, parts: RequestParts) => fc.Arbitrary<Plan>;

/** Routes for probes, which may add parameters to bypass caches. */
const IGNORING_PARAMETERS = new Set(['/health', '/readyz', '/livez']);

function getMutations(operation: Operation): Mutation[] {
  const mutations = [oddHeaders, oddMethod, oddPath, oddQuery];
  if (!IGNORING_PARAMETERS.has(operation.path)) mutations.push(unknownParameter, brokenEncoding);
  if (operation.parameters.some((parameter) => parameter.in === 'query'))
    mutations.push(junkParameter, repeatedParameter);
  if (operation.parameters.some((parameter) => parameter.in === 'path')) mutations.push(junkInPath);
  if (operation.bodies.size > 0) mutations.push(junkField, junkField, unknownField, junkBody, brokenBody, oddType);
  else mutations.push(unexpectedBody);
  return mutations;
}

const unknownParameter: Mutation = (operation, parts) => {
  const known = operation.parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const names = [
    'colour',
    '__proto__',
    'constructor',
    'Query',
    'tag[]',
    'limit.',
    'metadata',
    'metadata.',
    'x'.repeat(3000),
  ];
  return fc
    .tuple(fc.constantFrom(...names.filter((name) => !known.includes(name))), text, fc.constantFrom(1, 1, 20, 1000))
    .map(([name, value, count]) => {
      const more = Array.from({ length: count }, (_, i): [string, string] => [
        i === 0 ? name : `${name}${i}`,
        value.slice(0, 40),
      ]);
      const plan = getPlan(operation, {
        ...parts,
        query: [...parts.query, ...more.slice(0, 50_000 / (name.length + 40))],
      });
      return { ...plan, label: 'an unknown parameter', expects: 'refusal' };
    });
};

const brokenEncoding: Mutation = (operation, parts) =>
  fc
    .tuple(
      fc.constantFrom('%', '%z', '%zz', '%ff', '%c3%28', '%ed%a0%80', '%f5%80%80%80', 'a%', '%e2%82'),
      fc.boolean(),
    )
    .map(([broken, inPath]) => {
      const plan = getPlan(operation, parts);
      const [route = '', query = ''] = plan.path.split('?');
      // With a suffix, a path without parameters is a different route.
      const path = inPath
        ? `${route}${broken}${query && `?${query}`}`
        : `${route}?${query && `${query}&`}tag=${broken}`;
      return { ...plan, path, label: 'broken percent-encoding', expects: 'refusal' };
    });

const junkParameter: Mutation = (operation, parts) => {
  const parameters = operation.parameters.filter((parameter) => parameter.in === 'query');
  return fc
    .tuple(fc.constantFrom(...parameters), fc.oneof(junk.map(shortJson), text, invalidText))
    .map(([parameter, value]) => {
      const others = parts.query.filter(([name]) => name !== parameter.name);
      const plan = getPlan(operation, { ...parts, query: [...others, [parameter.name, value]] });
      // An empty parameter is absent on most routes.
      const isTaken = value === '' || (acceptsText(parameter, value) && parameter.name !== 'cursor');
      return { ...plan, label: 'junk as a parameter', expects: isTaken ? 'either' : 'refusal' };
    });
};

function shortJson(value: unknown): string {
  return (typeof value === 'string' ? value : String(JSON.stringify(value))).slice(0, 2500);
}

/** Returns whether a parameter accepts a text according to its schema. */
function acceptsText({ schema, validate }: Operation['parameters'][number], value: string): boolean {
  if (!value.isWellFormed() || value.includes('\0')) return false;
  const type = schema.type === 'array' ? schema.items?.type : schema.type;
  const isInteger = type === 'integer' && /^-?\d+$/.test(value);
  const isNumber = isInteger || (type === 'number' && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value));
  const isBoolean = type === 'boolean' && /^(true|false)$/.test(value);
  const typed = isNumber || isBoolean ? JSON.parse(value.replace(/^(-?)0+(?=\d)/, '$1')) : value;
  return validate(schema.type === 'array' ? [typed] : typed);
}

const repeatedParameter: Mutation = (operation, parts) => {
  const scalars = parts.query.filter(([name]) =>
    operation.parameters.some((parameter) => parameter.name === name && parameter.schema.type !== 'array'),
  );
  const [first] = scalars;
  if (!first) return unknownParameter(operation, parts);
  const plan = getPlan(operation, { ...parts, query: [...parts.query, first] });
  // Of two empty parameters, both are absent.
  return fc.constant({ ...plan, label: 'a parameter given twice', expects: first[1] === '' ? 'either' : 'refusal' });
};

const oddQuery: Mutation = (operation, parts) =>
  fc
    .constantFrom(
      '&&&',
      '=',
      '&=&=',
      '?',
      '+',
      '#',
      '%26=%3D',
      '&amp;x=1',
      ';a=b',
      'a=b=c',
      '[]',
      `${'&'.repeat(5000)}`,
    )
    .map((odd) => {
      const plan = getPlan(operation, parts);
      const path = `${plan.path}${plan.path.includes('?') ? '&' : '?'}${odd}`;
      return { ...plan, path, label: 'an odd query string', expects: 'either' };
    });

const junkInPath: Mutation = (operation, parts) => {
  const names = Object.keys(parts.path);
  const odd = fc.oneof(
    text,
    invalidText,
    fc.constantFrom('.', '..', '/', '\\', '%2f', '..%2f..', '*', ':id', '{id}', 'null', '0', '-1', 'a'.repeat(9000)),
  );
  return odd.map((value) => {
    const path = Object.fromEntries(names.map((name) => [name, value || 'x']));
    const refused = !value.isWellFormed();
    return {
      ...getPlan(operation, { ...parts, path }),
      label: 'junk in the path',
      expects: refused ? 'refusal' : 'either',
    };
  });
};

const oddPath: Mutation = (operation, parts) =>
  fc
    .constantFrom<(path: string) => string>(
      (path) => `/${path}`,
      (path) => path.replace(/^\/([^?]*)/, '/$1/'),
      (path) => path.replace(/^\/([^?]*)/, '/$1/more/of/it'),
      (path) => path.replace(/^\/[^?/]*/, (route) => `${route.toUpperCase()}X`),
      (path) => `/.${path}`,
      (path) => `/${'x/'.repeat(500)}${path}`,
      (path) => path.replace(/^\//, '/%00'),
      (path) => path.replace(/^\//, '/\u00e9\u00ff'),
    )
    .map((change) => {
      const plan = getPlan(operation, parts);
      return { ...plan, path: change(plan.path), label: 'an odd path', expects: 'either' };
    });

const oddMethod: Mutation = (operation, parts) =>
  fc.constantFrom('HEAD', 'OPTIONS', 'PATCH', 'TRACE', 'PROPFIND', 'LINK', 'M-SEARCH', 'SEARCH').map((method) => {
    const { body: _body, ...plan } = getPlan(operation, parts);
    return { ...plan, method, label: 'an odd method', expects: 'either' };
  });

const oddHeaders: Mutation = (operation, parts) => {
  const odd: Plan['headers'][] = [
    ...['', '"', '1', '"a" "b"', ',,', 'W/', '*, "1"', '"1"'.repeat(500)].map((value) => ({ 'if-match': value })),
    ...['', ' ', 'k'.repeat(256), '\u00ff'.repeat(256)].map((value) => ({ 'idempotency-key': value })),
    { 'idempotency-key': ['one', 'two'] },
    { 'last-event-id': ['none', 'x.1', '.'.repeat(3000)] },
    { 'last-event-id': `x.${'9'.repeat(400)}` },
    { accept: 'text/html;q=0, */*;q=9' },
    { accept: 'text/html' },
    { accept: 'application/openmetrics-text;version=99' },
    { 'accept-encoding': 'gzip, br, zstd, *;q=0' },
    { 'content-encoding': 'gzip' },
    { 'content-type': ['application/json', 'text/plain'] },
    { expect: 'the-unexpected' },
    { range: 'bytes=0-0' },
    { 'if-none-match': '*', 'if-modified-since': 'yesterday' },
    { upgrade: 'h2c', connection: 'upgrade' },
    { origin: 'null', 'sec-fetch-site': 'cross-site' },
    { cookie: 'a=b; '.repeat(500) },
    { 'x-request-id': '<script>', 'x-http-method-override': 'DELETE' },
    { te: 'trailers, deflate' },
    Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`x-odd-${i}`, '\u00e9'.repeat(20)])),
  ];
  const refused: Plan['headers'][] = [{ host: 'evil.example' }, { host: '127.0.0.1.evil.example:8090' }];
  const elsewhere: Plan['headers'][] = [
    { 'x-forwarded-for': '203.0.113.7' },
    { forwarded: 'for=_x' },
    { via: '1.1 x' },
  ];
  return fc
    .oneof(
      {
        arbitrary: fc.constantFrom(...odd, ...elsewhere).map((headers) => ({ headers, expects: 'either' as const })),
        weight: 6,
      },
      {
        arbitrary: fc.constantFrom(...refused).map((headers) => ({ headers, expects: 'refusal' as const })),
        weight: 1,
      },
    )
    .map(({ headers, expects }) => {
      const plan = getPlan(operation, parts);
      return { ...plan, headers: { ...plan.headers, ...headers }, label: 'odd headers', expects };
    });
};

/** Replaces one field of a body. The schema decides after the request whether it had to be refused. */
const junkField: Mutation = (operation, parts) =>
  withBody(operation, parts, 'a field that is junk', (value, fields) =>
    fc.tuple(fc.constantFrom(...fields), junk).map(([field, other]) => withFields(value, { [field]: other })),
  );

const unknownField: Mutation = (operation, parts) =>
  withBody(operation, parts, 'an unknown field', (value) =>
    fc
      .tuple(fc.constantFrom('colour', 'Content', 'constructor', '__proto__', 'id', '', 'a/b~c', '\ud800', '\0'), junk)
      .map(([field, other]) => withFields(value, { [field]: other })),
  );

const junkBody: Mutation = (operation, parts) =>
  withBody(operation, parts, 'a body that is junk', (value) =>
    Array.isArray(value) ? fc.array(junk, { maxLength: 5 }) : junk,
  );

/** Returns the object, or the list with its first item, with the given fields. */
function withFields(value: unknown, fields: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return [withFields(value[0] ?? {}, fields), ...value.slice(1)];
  // With defineProperties, because an assignment to __proto__ would create no field.
  return Object.defineProperties(
    { ...(value as object) },
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, { value: field, enumerable: true }])),
  );
}

function withBody(
  operation: Operation,
  parts: RequestParts,
  label: string,
  change: (value: unknown, fields: string[]) => fc.Arbitrary<unknown>,
): fc.Arbitrary<Plan> {
  const { type, value } = parts.body ?? { type: '', value: {} };
  const schema = operation.bodies.get(type)?.schema ?? {};
  const fields = Object.keys(schema.properties ?? schema.items?.properties ?? {});
  return change(value, fields.length > 0 ? fields : ['x']).map((other) => ({
    ...getPlan(operation, {
      ...parts,
      body: { type, value: isLines(type) && !Array.isArray(other) ? [other] : other },
    }),
    label,
    expects: 'either',
  }));
}

const brokenBody: Mutation = (operation, parts) => {
  const plan = getPlan(operation, parts);
  const whole = Buffer.from(String(plan.body ?? ''));
  const broken: fc.Arbitrary<string | Uint8Array> = fc.oneof(
    fc.nat(whole.length).map((end) => whole.subarray(0, end)),
    fc
      .tuple(fc.nat(whole.length), fc.uint8Array({ minLength: 1, maxLength: 4 }))
      .map(([at, bytes]) => Buffer.concat([whole.subarray(0, at), bytes, whole.subarray(at)])),
    fc.uint8Array({ maxLength: 200 }),
    fc.constantFrom<string | Uint8Array>(
      ...[
        '',
        ' ',
        '\n'.repeat(3000),
        '{',
        '[',
        '"',
        '{}{}',
        '[1,]',
        "{'a':1}",
        '{a:1}',
        '//',
        'NaN',
        '-',
        '1e',
        '01',
        '\u00a0{}',
      ],
      '['.repeat(100_000),
      '{"a":'.repeat(50_000),
      `{"content":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
      `{"content":"a","content":7}`,
      `{"content":7,"content":"a"}`,
      `{"content":"a","metadata":{"n":1e400}}`,
      `{"content":"${'x'.repeat(1_100_000)}"}`,
      `\ufeff${String(plan.body)}`,
      Buffer.from(String(plan.body), 'utf16le'),
      Buffer.from([0xff, 0xfe, 0x00]),
      `--${placeholder('raw', 'x')}`,
    ),
  );
  return fc
    .tuple(broken, fc.boolean())
    .map(([body, chunked]) => ({ ...plan, body, chunked, label: 'a broken body', expects: 'either' }));
};

const oddType: Mutation = (operation, parts) =>
  fc
    .constantFrom(
      'text/plain',
      'application/xml',
      'application/json; charset=utf-16',
      ';;;/=',
      '',
      'multipart/form-data; boundary=x',
      'x'.repeat(3000),
    )
    .map((type) => {
      const plan = getPlan(operation, parts);
      return {
        ...plan,
        headers: { ...plan.headers, 'content-type': type },
        label: 'an odd content type',
        expects: 'either',
      };
    });

const unexpectedBody: Mutation = (operation, parts) =>
  fc
    .tuple(
      fc.constantFrom('{}', '', '[]', '{"a":1}', 'null', '{"a', '\0', 'x'.repeat(70_000)),
      fc.constantFrom('application/json', 'text/html'),
      fc.boolean(),
    )
    .map(([body, type, chunked]) => {
      const plan = getPlan(operation, parts);
      return {
        ...plan,
        body,
        chunked,
        headers: { ...plan.headers, 'content-type': type },
        label: 'an unexpected body',
        expects: 'either',
      };
    });
