import { TIME_PATTERN } from '@memoryd/contract';
import fc from 'fast-check';
import type { Schema } from './open-api.ts';
import { placeholder } from './placeholders.ts';

const words = ['harbour', 'tea', 'Ann', 'moved', 'Leeds', '2024', 'ключ', '記憶', 'café', 'not', 'OR', 'NEAR'];

/** Texts that commonly break services: markup, quotes, wildcards, bidirectional text, joiners, and invisible characters. */
const oddTexts = [
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  `'; DROP TABLE memory; --`,
  '"harbour" AND (tea* NEAR/3 -Ann) OR {content}: ^x',
  '%00%n%s$(id) {{7*7}}',
  '../../../etc/passwd',
  '\ufeffbegins with a mark',
  '\u202eright to left\u202c \u2066isolated\u2069',
  '👩‍👩‍👧‍👦🏳️‍🌈🇬🇧',
  'e\u0301\u0301\u0301\u0301',
  'Z\u0351\u036b\u0343\u036a\u0302\u036bA\u034c',
  '\u2028line\u2029paragraph\u0085\u000b\u000c',
  '\u0001\u0008\u001b[31m\u007f\u0080',
  '\uffff\ufffe\u{10ffff}\u{e0001}',
  'ﷺﷺﷺ',
  'ß ſ K Å İ ı ŉ ǰ',
  '1e400',
  '__proto__',
  'constructor',
  'null',
  'https://user:pass@example.test/?a=b&c=d#e',
  'a'.repeat(5000),
  '記憶'.repeat(700),
  'word '.repeat(3000),
];

const anyText = fc.string({ unit: 'binary', maxLength: 60 }).map((text) => text.replaceAll('\0', ''));

/** A valid text: any Unicode except U+0000 and lone surrogates. */
export const text: fc.Arbitrary<string> = fc.oneof(
  {
    arbitrary: fc
      .array(fc.constantFrom(...words), { minLength: 1, maxLength: 12 })
      .map((generated) => generated.join(' ')),
    weight: 5,
  },
  { arbitrary: fc.constantFrom(...oddTexts), weight: 2 },
  { arbitrary: anyText, weight: 3 },
  { arbitrary: fc.string({ unit: 'grapheme', maxLength: 60 }), weight: 1 },
);

/** A text with U+0000, or one that UTF-8 cannot encode. */
export const invalidText: fc.Arbitrary<string> = fc.constantFrom(
  '\0',
  'a\0b',
  '\ud800',
  'a\udfffb',
  '\udc00\ud800',
  `${'x'.repeat(300)}\ud83d`,
);

const key = fc.oneof(fc.constantFrom('k', 'a/b~c', '__proto__', 'constructor', '', 'metadata', 'é'), anyText);

/** Any JSON value that fits into a body. */
const json: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 4 },
    fc.constantFrom(null, true, false, 0, -0, 1, -1, 0.1, 5e-324, 2 ** 53 - 1, 1 - 2 ** 53, ''),
    // Larger integers are refused in metadata.
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((n) => !Number.isInteger(n) || Number.isSafeInteger(n)),
    text.map((generated) => generated.slice(0, 100).toWellFormed()),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4 }),
  ),
})).value;

/** Numbers, nesting and texts that most schemas refuse. Raw placeholders write numbers that JSON.stringify cannot. */
export const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...[
      placeholder('raw', '1e400'),
      placeholder('raw', '-1e400'),
      placeholder('raw', '123456789012345678901234567890'),
    ],
    ...[null, true, false, 0, -1, 7, 1.5, 1e308, -1e308, 2 ** 53 + 2, '', ' ', 'x', '7', 'true', 'null'],
    ...[[], [[]], {}, { a: 1 }, ['x', 7], [null], { __proto__: null, toString: 1 }],
    ...['x'.repeat(300), 'x'.repeat(2000), Array.from({ length: 70 }, (_, i) => `t${i}`)],
    nested(40),
    nested(3000),
  ),
  invalidText,
  json,
);

/** Returns nested arrays of a given depth. */
function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}

const moment = (from: number, to: number) =>
  fc
    .tuple(
      fc.date({ min: new Date(Date.UTC(from, 0, 2)), max: new Date(Date.UTC(to, 11, 30)), noInvalidDate: true }),
      fc.constantFrom('Z', 'z', '+00:00', '+14:00', '-11:30'),
    )
    .map(([date, zone]) => date.toISOString().replace('Z', zone));

const shortMoment = fc.constantFrom(
  '2026-01-31',
  '2026-01-31 09:30 Z',
  '2026-01-31T09:30:00,5+0530',
  '2024-02-29T09:00-05',
);

/** A text of 1 to `characters` characters. */
function textUpTo(characters: number): fc.Arbitrary<string> {
  return text.map((generated) => [...generated].slice(0, characters).join('') || 'x');
}

/** Names that repeat, but so many that deleting all memories with one of them leaves most. None is a default value. */
function numbered(name: string): fc.Arbitrary<string> {
  return fc.nat(300).map((n) => `${name}-${n}`);
}

const label = fc.oneof(numbered('tag'), textUpTo(128));
const labels = fc.array(label, { minLength: 1, maxLength: 6 });
const knownMemory = fc.nat(1000).map((n) => placeholder('memory', n));

/** Fields for which an arbitrary value of the right type would match almost nothing or everything. */
const likely: Record<string, fc.Arbitrary<unknown>> = {
  session_id: fc.oneof(numbered('session'), fc.constantFrom('a/b?c#d', '.', '..', '%2e'), textUpTo(256)),
  external_id: fc.oneof(
    fc.nat(60).map((n) => `external-${n}`),
    textUpTo(512),
  ),
  source: fc.oneof(numbered('source'), textUpTo(256)),
  tag: label,
  tags: labels,
  // Hardly any other text is a digest or an absolute path.
  declined_group: fc.nat(300).map((n) => n.toString(16).toUpperCase().padStart(64, '0')),
  ignored_folders: fc.array(
    fc.tuple(fc.constantFrom('/home/', 'C:\\', '\\\\server\\'), textUpTo(200)).map(([root, name]) => `${root}${name}`),
    { maxLength: 4 },
  ),
  filter: fc.oneof(
    label.map((tag) => ({ tag })),
    fc.tuple(numbered('source'), numbered('tag')).map(([source, tag]) => ({
      $or: [{ source }, { tag: { $in: [tag] } }],
      'metadata.k.a': { $not: { $contains: tag } },
    })),
    fc.nat(300).map((n) => ({ 'metadata.k': { $gte: n / 10, $in: [n, `${n}`, true, null] } })),
  ),
  // A query must not be blank after trimming, which the schema cannot express.
  query: textUpTo(2000).map((generated) => `a${generated}`),
  // Words must contain a letter, a number or a symbol.
  q: textUpTo(100).map((generated) => `a${generated}`),
  before: moment(1970, 1999),
  expires_at: fc.oneof({ arbitrary: moment(2100, 9000), weight: 9 }, { arbitrary: moment(1970, 2000), weight: 1 }),
  supersedes: knownMemory,
  memory_id: knownMemory,
  ids: fc.array(knownMemory, { minLength: 1, maxLength: 6 }),
  id: fc.nat(1000).map((n) => placeholder('consolidation', n)),
  change: fc.nat(1000).map((n) => placeholder('change', n)),
  change_id: fc.nat(300).map((n) => `change-of-memories-${n}`),
  add_tags: labels,
  remove_tags: labels,
  // Hardly any other text is the name of a field.
  field: fc.oneof(
    fc.constantFrom('tag', 'session_id', 'source', 'tier', 'user_id', 'agent_id', 'metadata.k'),
    text.map((name) => `metadata.${[...name].slice(0, 60).join('')}x`),
  ),
  import_id: fc.nat(1000).map((n) => placeholder('import', n)),
  cursor: fc.nat(1000).map((n) => placeholder('cursor', n)),
  'Last-Event-ID': fc.nat(1000).map((n) => placeholder('event', n)),
  timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'asia/tokyo', 'Pacific/Honolulu', '+05:30'),
  'Idempotency-Key': fc.oneof(
    { arbitrary: fc.nat(400).map((n) => `key-${n}`), weight: 3 },
    { arbitrary: fc.constantFrom('k'.repeat(255), '=?utf-8?q?x?=', '"quoted"', '\u00e9\u00ff'), weight: 1 },
  ),
  'If-Match': fc.constantFrom('*', '"1"', '"2"', '"1", "2"', 'W/"1"', '"never"', '"1" , W/"2"', '"999999999999999999"'),
};

/** Fields whose schema does not express all rules, or whose arbitrary values would delete everything. */
const ALWAYS_LIKELY = new Set([
  'cursor',
  'filter',
  'query',
  'q',
  'If-Match',
  'before',
  'timezone',
  'ignored_folders',
  'declined_group',
  'change_id',
  'field',
]);

/** Returns valid values of a schema; `name` is the name of the field or parameter. */
export function validValue(schema: Schema, name = ''): fc.Arbitrary<unknown> {
  // In a body, several tags are a list.
  const byName =
    !schema.enum && Object.hasOwn(likely, name) ? likely[name === 'tag' && isList(schema) ? 'tags' : name] : undefined;
  if (!byName) return valueOfType(schema);
  return ALWAYS_LIKELY.has(name)
    ? byName
    : fc.oneof({ arbitrary: byName, weight: 4 }, { arbitrary: valueOfType(schema), weight: 1 });
}

function isList({ type, anyOf = [] }: Schema): boolean {
  return type === 'array' || anyOf.some(isList);
}

function valueOfType(schema: Schema): fc.Arbitrary<unknown> {
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one) => validValue(one)));
  switch (schema.type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return integer(schema);
    case 'number':
      return number(schema);
    case 'string':
      return string(schema);
    case 'array':
      return array(schema);
    case 'object':
      return object(schema);
    case undefined:
      return json;
    default:
      throw new Error(`cannot generate a value of type ${schema.type}; add the type to values.ts`);
  }
}

function integer({ minimum: min = -(2 ** 31), maximum: max = 2 ** 31 }: Schema): fc.Arbitrary<number> {
  return fc.oneof(fc.integer({ min, max }), fc.constantFrom(min, max, Math.min(max, min + 4)));
}

function number({ minimum: min = -1e6, maximum: max = 1e6 }: Schema): fc.Arbitrary<number> {
  return fc.oneof(fc.double({ min, max, noNaN: true }), fc.constantFrom(min, max));
}

function string({ format, pattern, minLength = 0, maxLength = 100_000 }: Schema): fc.Arbitrary<string> {
  if (pattern === TIME_PATTERN) return fc.oneof(moment(1, 9998), shortMoment);
  if (format === 'date-time') return moment(1, 9998);
  if (format === 'binary') return text;
  if (format !== undefined) throw new Error(`cannot generate a text of format ${format}; add the format to values.ts`);
  const fits = new RegExp(pattern ?? '', 'u');
  return text
    .map((generated) => [...generated].slice(0, maxLength).join('').padEnd(minLength, 'x'))
    .map((generated) => (fits.test(generated) ? generated : `x${generated.slice(1)}`))
    .filter((generated) => fits.test(generated) && generated.isWellFormed());
}

function array({ items = {}, minItems = 0, maxItems = 8 }: Schema): fc.Arbitrary<unknown[]> {
  return fc.array(validValue(items), { minLength: minItems, maxLength: Math.min(maxItems, Math.max(minItems, 6)) });
}

function object(schema: Schema) {
  const { properties = {}, required = [], additionalProperties, minProperties = 0, propertyNames } = schema;
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, validValue(schema, name)]),
  );
  const known = fc.record(fields, { requiredKeys: required });
  const filled = known.filter((value) => Object.keys(value).length >= minProperties);
  if (Object.keys(properties).length > 0 || additionalProperties === false) return filled;
  const rest = typeof additionalProperties === 'object' ? validValue(additionalProperties) : json;
  const names = key.filter((name) => name.length >= (propertyNames?.minLength ?? 0));
  return fc.dictionary(names, rest, { minKeys: minProperties, maxKeys: 6 });
}
