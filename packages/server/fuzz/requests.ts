import fc from 'fast-check';
import type { Operation, Parameter, Schema } from './open-api.ts';
import { token } from './tokens.ts';
import { junk, text, unkeepableText, validValue } from './values.ts';

/** A request before the placeholders in it are filled in. */
export interface Plan {
  operation: Operation;
  /** Such as `valid` or `a parameter given twice`. */
  what: string;
  method: string;
  path: string;
  headers: Record<string, string | string[]>;
  body?: string | Uint8Array;
  chunked?: boolean;
  /** Whether the service must do it, must refuse it, or may do either. */
  expects: 'success' | 'refusal' | 'either';
}

/** A request that the document allows, in pieces that can be broken. */
interface Pieces {
  path: Record<string, string>;
  query: [name: string, value: string][];
  headers: Record<string, string>;
  body?: { type: string; value: unknown };
}

/** Requests of an operation, about half of them as the document allows. */
export function getRequests(operation: Operation): fc.Arbitrary<Plan> {
  const valid = getPieces(operation);
  const broken = getBreakages(operation).map((breakage) => valid.chain((pieces) => breakage(operation, pieces)));
  const plans = fc.oneof(
    { arbitrary: valid.map((pieces) => getPlan(operation, pieces)), weight: broken.length },
    ...broken.map((arbitrary) => ({ arbitrary, weight: 1 })),
  );
  return operation.name === 'POST /import' ? plans.map(asImport) : plans;
}

function getPieces(operation: Operation): fc.Arbitrary<Pieces> {
  const within = (place: Parameter['in']) => operation.parameters.filter((parameter) => parameter.in === place);
  const path = fc.record(
    Object.fromEntries(
      within('path').map(({ name, schema }) => [name, validValue({ minLength: 1, ...schema }, name).map(String)]),
    ),
  );
  const headers = fc
    .record(Object.fromEntries(within('header').map((parameter) => [parameter.name, headerValue(parameter)])))
    .chain((all) => fc.subarray(Object.entries(all)).map((some) => Object.fromEntries(some)));
  const body = operation.bodies.size === 0 ? fc.constant(undefined) : fc.oneof(...[...operation.bodies].map(getBody));
  return fc.record({ path, headers, body, query: getQuery(within('query')) }).map(({ body: some, ...pieces }) => ({
    ...pieces,
    ...(some && { body: some }),
  }));
}

function headerValue({ name, schema }: Parameter): fc.Arbitrary<string> {
  const value = validValue(schema, name).map(String);
  // What a header can carry, and no text that blanks around it would change.
  return value.map(
    (some) =>
      some
        .replaceAll(/[^\x20-\x7e\x80-\xff]/g, 'x')
        .slice(0, 4000)
        .trim() || 'x',
  );
}

function getBody([type, { schema }]: [string, { schema: Schema }]): fc.Arbitrary<{ type: string; value: unknown }> {
  const value = isLines(type) ? fc.array(validValue(schema), { maxLength: 6 }) : validValue(schema);
  return value.map((some) => ({ type, value: some }));
}

function isLines(type: string): boolean {
  return /ndjson|jsonl/.test(type);
}

function getQuery(parameters: Parameter[]): fc.Arbitrary<[string, string][]> {
  const pairs = parameters.map((parameter) => {
    const some = getPairs(parameter);
    return parameter.required ? some : fc.oneof(fc.constant([]), some);
  });
  return fc.tuple(...pairs).map((all) => withOwner(all.flat()));
}

/** Shared memories are asked for beside those of a user or an agent alone. */
function withOwner(query: [string, string][]): [string, string][] {
  const hasOwner = query.some(([name]) => name === 'user_id' || name === 'agent_id');
  return hasOwner ? query : query.filter(([name]) => name !== 'shared');
}

function getPairs({ name, schema }: Parameter): fc.Arbitrary<[string, string][]> {
  if (name.endsWith('.<key>')) {
    const prefix = name.slice(0, -'<key>'.length);
    return fc
      .uniqueArray(fc.tuple(fc.constantFrom('k', 'flag', 'a.b', 'é', '__proto__'), text), {
        maxLength: 2,
        selector: ([key]) => key,
      })
      .map((some) => some.map(([key, value]) => [prefix + key, value]));
  }
  if (schema.type !== 'array') return validValue(schema, name).map((value) => [[name, written(value)]]);
  const items = fc.array(validValue(schema.items ?? {}, name), {
    minLength: Math.max(1, schema.minItems ?? 0),
    maxLength: 3,
  });
  return items.map((values) => values.map((value) => [name, written(value)]));
}

/** A value as it stands in a query string. */
function written(value: unknown): string {
  return typeof value === 'number' && !Number.isInteger(value) ? value.toFixed(9) : String(value);
}

/**
 * A plan with a header before the lines of an import, without which none is read. Lines are refused one by one, for more
 * than the description of a line can say, so nothing is known of the answer.
 */
function asImport(plan: Plan): Plan {
  if (typeof plan.body !== 'string') return { ...plan, expects: 'either' };
  return { ...plan, body: `{"format":"memoryd","version":1}\n${plan.body}`, expects: 'either' };
}

function getPlan(operation: Operation, pieces: Pieces): Plan {
  const headers: Plan['headers'] = { ...pieces.headers };
  const plan: Plan = { operation, what: 'valid', method: operation.method, path: '', headers, expects: 'success' };
  plan.path = getUrl(operation, pieces);
  if (pieces.body) {
    headers['content-type'] = pieces.body.type;
    plan.body = getBytes(pieces.body);
  }
  return plan;
}

function getUrl(operation: Operation, { path, query }: Pieces): string {
  const route = operation.path.replaceAll(/\{([^}]+)\}/g, (_, name: string) => encoded(path[name] ?? ''));
  const pairs = query.map(([name, value]) => `${encoded(name)}=${encoded(value)}`);
  return pairs.length > 0 ? `${route}?${pairs.join('&')}` : route;
}

/** Percent-encoded; a lone surrogate as the three bytes that CESU-8 would give it. */
function encoded(some: string): string {
  return [...some]
    .map((character) => (character.isWellFormed() ? encodeURIComponent(character) : '%ED%A0%80'))
    .join('');
}

function getBytes({ type, value }: { type: string; value: unknown }): string {
  if (!isLines(type)) return JSON.stringify(value);
  return (value as unknown[]).map((line) => `${JSON.stringify(line)}\n`).join('');
}

type Breakage = (operation: Operation, pieces: Pieces) => fc.Arbitrary<Plan>;

/** Routes for probes, which may add whatever gets past caches. */
const IGNORING_PARAMETERS = new Set(['/health', '/readyz', '/livez']);

function getBreakages(operation: Operation): Breakage[] {
  const breakages = [oddHeaders, oddMethod, oddPath, oddQuery];
  if (!IGNORING_PARAMETERS.has(operation.path)) breakages.push(unknownParameter, brokenEncoding);
  if (operation.parameters.some((parameter) => parameter.in === 'query'))
    breakages.push(junkParameter, repeatedParameter);
  if (operation.parameters.some((parameter) => parameter.in === 'path')) breakages.push(junkInPath);
  if (operation.bodies.size > 0) breakages.push(junkField, junkField, unknownField, junkBody, brokenText, oddType);
  else breakages.push(uncalledForBody);
  return breakages;
}

const unknownParameter: Breakage = (operation, pieces) => {
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
        ...pieces,
        query: [...pieces.query, ...more.slice(0, 50_000 / (name.length + 40))],
      });
      return { ...plan, what: 'an unknown parameter', expects: 'refusal' };
    });
};

const brokenEncoding: Breakage = (operation, pieces) =>
  fc
    .tuple(
      fc.constantFrom('%', '%z', '%zz', '%ff', '%c3%28', '%ed%a0%80', '%f5%80%80%80', 'a%', '%e2%82'),
      fc.boolean(),
    )
    .map(([broken, inPath]) => {
      const plan = getPlan(operation, pieces);
      const [route = '', query = ''] = plan.path.split('?');
      // A route without parameters is another route with something behind it.
      const path = inPath
        ? `${route}${broken}${query && `?${query}`}`
        : `${route}?${query && `${query}&`}tag=${broken}`;
      return { ...plan, path, what: 'broken percent-encoding', expects: 'refusal' };
    });

const junkParameter: Breakage = (operation, pieces) => {
  const parameters = operation.parameters.filter(
    (parameter) => parameter.in === 'query' && !parameter.name.includes('<'),
  );
  if (parameters.length === 0) return unknownParameter(operation, pieces);
  return fc
    .tuple(fc.constantFrom(...parameters), fc.oneof(junk.map(shortJson), text, unkeepableText))
    .map(([parameter, value]) => {
      const others = pieces.query.filter(([name]) => name !== parameter.name);
      const plan = getPlan(operation, { ...pieces, query: [...others, [parameter.name, value]] });
      const isTaken = takesText(parameter, value) && parameter.name !== 'cursor';
      return { ...plan, what: 'junk as a parameter', expects: isTaken ? 'either' : 'refusal' };
    });
};

function shortJson(value: unknown): string {
  return (typeof value === 'string' ? value : String(JSON.stringify(value))).slice(0, 2500);
}

/** Whether a parameter may be written so; a text that no schema can speak about is taken for one that may. */
function takesText({ schema, validate }: Operation['parameters'][number], value: string): boolean {
  if (!value.isWellFormed() || value.includes('\0')) return false;
  const type = schema.type === 'array' ? schema.items?.type : schema.type;
  const isInteger = type === 'integer' && /^-?\d+$/.test(value);
  const isNumber = isInteger || (type === 'number' && /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(value));
  const isBoolean = type === 'boolean' && /^(true|false)$/.test(value);
  const typed = isNumber || isBoolean ? JSON.parse(value.replace(/^(-?)0+(?=\d)/, '$1')) : value;
  return validate(schema.type === 'array' ? [typed] : typed);
}

const repeatedParameter: Breakage = (operation, pieces) => {
  const scalars = pieces.query.filter(([name]) =>
    operation.parameters.some((parameter) => parameter.name === name && parameter.schema.type !== 'array'),
  );
  const [first] = scalars;
  if (!first) return unknownParameter(operation, pieces);
  const plan = getPlan(operation, { ...pieces, query: [...pieces.query, first] });
  return fc.constant({ ...plan, what: 'a parameter given twice', expects: 'refusal' });
};

const oddQuery: Breakage = (operation, pieces) =>
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
      const plan = getPlan(operation, pieces);
      const path = `${plan.path}${plan.path.includes('?') ? '&' : '?'}${odd}`;
      return { ...plan, path, what: 'an odd query string', expects: 'either' };
    });

const junkInPath: Breakage = (operation, pieces) => {
  const names = Object.keys(pieces.path);
  const odd = fc.oneof(
    text,
    unkeepableText,
    fc.constantFrom('.', '..', '/', '\\', '%2f', '..%2f..', '*', ':id', '{id}', 'null', '0', '-1', 'a'.repeat(9000)),
  );
  return odd.map((value) => {
    const path = Object.fromEntries(names.map((name) => [name, value || 'x']));
    const refused = !value.isWellFormed();
    return {
      ...getPlan(operation, { ...pieces, path }),
      what: 'junk in the path',
      expects: refused ? 'refusal' : 'either',
    };
  });
};

const oddPath: Breakage = (operation, pieces) =>
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
      const plan = getPlan(operation, pieces);
      return { ...plan, path: change(plan.path), what: 'an odd path', expects: 'either' };
    });

const oddMethod: Breakage = (operation, pieces) =>
  fc.constantFrom('HEAD', 'OPTIONS', 'PATCH', 'TRACE', 'PROPFIND', 'LINK', 'M-SEARCH', 'SEARCH').map((method) => {
    const { body: _body, ...plan } = getPlan(operation, pieces);
    return { ...plan, method, what: 'an odd method', expects: 'either' };
  });

const oddHeaders: Breakage = (operation, pieces) => {
  const odd: Plan['headers'][] = [
    ...['', '"', '1', '"a" "b"', ',,', 'W/', '*, "1"', '"1"'.repeat(500)].map((value) => ({ 'if-match': value })),
    ...['', ' ', 'k'.repeat(256), '\u00ff'.repeat(256)].map((value) => ({ 'idempotency-key': value })),
    { 'idempotency-key': ['one', 'two'] },
    { 'last-event-id': ['none', 'x.1', '.'.repeat(3000)] },
    { 'last-event-id': `x.${'9'.repeat(400)}` },
    { accept: 'text/html;q=0, */*;q=9' },
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
      const plan = getPlan(operation, pieces);
      return { ...plan, headers: { ...plan.headers, ...headers }, what: 'odd headers', expects };
    });
};

/** One field of a body is something else. What must come of it, the schema says when the request is sent. */
const junkField: Breakage = (operation, pieces) =>
  withBody(operation, pieces, 'a field that is junk', (value, fields) =>
    fc.tuple(fc.constantFrom(...fields), junk).map(([field, other]) => changed(value, { [field]: other })),
  );

const unknownField: Breakage = (operation, pieces) =>
  withBody(operation, pieces, 'an unknown field', (value) =>
    fc
      .tuple(fc.constantFrom('colour', 'Content', 'constructor', '__proto__', 'id', '', 'a/b~c', '\ud800', '\0'), junk)
      .map(([field, other]) => changed(value, { [field]: other })),
  );

const junkBody: Breakage = (operation, pieces) =>
  withBody(operation, pieces, 'a body that is junk', (value) =>
    Array.isArray(value) ? fc.array(junk, { maxLength: 5 }) : junk,
  );

/** The first item of a list, or the object itself, with these fields. */
function changed(value: unknown, fields: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return [changed(value[0] ?? {}, fields), ...value.slice(1)];
  // By definition, as assigning to __proto__ would make no field.
  return Object.defineProperties(
    { ...(value as object) },
    Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, { value: field, enumerable: true }])),
  );
}

function withBody(
  operation: Operation,
  pieces: Pieces,
  what: string,
  change: (value: unknown, fields: string[]) => fc.Arbitrary<unknown>,
): fc.Arbitrary<Plan> {
  const { type, value } = pieces.body ?? { type: '', value: {} };
  const schema = operation.bodies.get(type)?.schema ?? {};
  const fields = Object.keys(schema.properties ?? schema.items?.properties ?? {});
  return change(value, fields.length > 0 ? fields : ['x']).map((other) => ({
    ...getPlan(operation, {
      ...pieces,
      body: { type, value: isLines(type) && !Array.isArray(other) ? [other] : other },
    }),
    what,
    expects: 'either',
  }));
}

const brokenText: Breakage = (operation, pieces) => {
  const plan = getPlan(operation, pieces);
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
      `--${token('raw', 'x')}`,
    ),
  );
  return fc
    .tuple(broken, fc.boolean())
    .map(([body, chunked]) => ({ ...plan, body, chunked, what: 'a broken body', expects: 'either' }));
};

const oddType: Breakage = (operation, pieces) =>
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
      const plan = getPlan(operation, pieces);
      return {
        ...plan,
        headers: { ...plan.headers, 'content-type': type },
        what: 'an odd content type',
        expects: 'either',
      };
    });

const uncalledForBody: Breakage = (operation, pieces) =>
  fc
    .tuple(
      fc.constantFrom('{}', '', '[]', '{"a":1}', 'null', '{"a', '\0', 'x'.repeat(70_000)),
      fc.constantFrom('application/json', 'text/html'),
      fc.boolean(),
    )
    .map(([body, type, chunked]) => {
      const plan = getPlan(operation, pieces);
      return {
        ...plan,
        body,
        chunked,
        headers: { ...plan.headers, 'content-type': type },
        what: 'a body uncalled for',
        expects: 'either',
      };
    });
