import type { TimeZone } from '../time-zone.ts';

/** The keywords of JSON Schema that lead to the times of a value. */
interface Schema {
  format?: string;
  anyOf?: readonly Schema[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
}

/**
 * Returns the value with the same times in the offset of a zone, for a model that reads JSON. Only strings whose schema
 * has the format `date-time` are times.
 */
export function toLocalTimes<Value>(schema: object, value: Value, zone: TimeZone): Value {
  return convert([schema], value, zone) as Value;
}

/** @param schemas the schemas of the value; it matches at least one of them, unless it has no schema */
function convert(schemas: readonly Schema[], value: unknown, zone: TimeZone): unknown {
  const options = schemas.flatMap((schema) => schema.anyOf ?? [schema]);
  if (options.length === 0) return value;
  if (typeof value === 'string') {
    return options.some(({ format }) => format === 'date-time') ? zone.toLocal(value) : value;
  }
  if (Array.isArray(value)) {
    const items = options.flatMap((option) => option.items ?? []);
    return value.map((item) => convert(items, item, zone));
  }
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, field]) => [
    name,
    convert(
      options.flatMap(({ properties = {} }) => (Object.hasOwn(properties, name) ? (properties[name] ?? []) : [])),
      field,
      zone,
    ),
  ]);
  return Object.fromEntries(fields);
}

const TIME_WITHOUT_OFFSET = /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?))?$/;

/**
 * Returns a date, or a time without an offset, as a time with the offset of a zone. Returns any other text unchanged.
 *
 * @param edge the time of a date: the first or the last millisecond of that day
 * @example toZonedTime('2026-11-27', createTimeZone('America/Los_Angeles'), 'last') // '2026-11-27T23:59:59.999-08:00'
 */
export function toZonedTime(text: string, zone: TimeZone, edge: 'first' | 'last' = 'first'): string {
  const [, date, time = edge === 'first' ? '00:00' : '23:59:59.999'] = TIME_WITHOUT_OFFSET.exec(text) ?? [];
  if (date === undefined) return text;
  const inUtc = `${date}T${time.replace(',', '.')}`;
  // The offset at the same time in UTC may be that of the other side of a change of the clocks.
  const near = `${inUtc}${getOffset(`${inUtc}Z`, zone)}`;
  return `${inUtc}${getOffset(near, zone)}`;
}

function getOffset(time: string, zone: TimeZone): string {
  return /(?:Z|[+-]\d\d:\d\d)$/.exec(zone.toLocal(time))?.[0] ?? 'Z';
}
