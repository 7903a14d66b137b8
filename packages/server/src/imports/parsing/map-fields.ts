import { invalidRequest, LIMITS } from '@memoryd/contract';
import { digest } from '../../hooks/keys.ts';
import type { FormatOptions, Part } from '../format.ts';
import type { SeenTexts } from '../seen-texts.ts';
import {
  isObject,
  toContent,
  toExternalId,
  toId,
  toLabel,
  toMetadata,
  toRoleTag,
  toTags,
  toTextPart,
} from './fields.ts';
import { toImportedTime } from './times.ts';

/** The fields of a memory that `--map` can name, each with the names by which it is found without `--map`. */
const FIELD_NAMES = {
  content: ['content', 'text', 'memory', 'note', 'message', 'body', 'fact', 'observation'],
  tags: ['tags', 'labels', 'categories'],
  importance: ['importance'],
  source: ['source'],
  session_id: ['session_id', 'session', 'conversation_id', 'thread_id'],
  user_id: ['user_id'],
  agent_id: ['agent_id'],
  external_id: ['external_id', 'id', 'uuid'],
  created_at: ['created_at', 'date', 'time', 'datetime', 'timestamp', 'created'],
  expires_at: ['expires_at'],
  valid_from: ['valid_from'],
  valid_to: ['valid_to'],
  role: ['role'],
  title: ['title'],
} as const;

type MappedField = keyof typeof FIELD_NAMES;

const MAPPED_FIELDS = Object.keys(FIELD_NAMES) as readonly MappedField[];

/** The column, field or path for each field of a memory. */
export type Columns = Partial<Record<MappedField, string>>;

/** A row of a table, or an object. */
export interface Row {
  format: 'csv' | 'jsonl';
  path: string;
  place: string;
  values: Readonly<Record<string, unknown>>;
}

/** Throws INVALID_REQUEST if a map names a field that memories do not have. */
export function assertMap(map: FormatOptions['map']): void {
  const unknown = Object.keys(map).find((field) => !MAPPED_FIELDS.includes(field as MappedField));
  if (unknown === undefined) return;
  const message = `map must name fields of a memory (${MAPPED_FIELDS.join(', ')}), not ${quote(unknown)}`;
  throw invalidRequest([{ path: '/map', message }]);
}

const USUAL_NAMES = MAPPED_FIELDS.map((field) => ({ field, names: FIELD_NAMES[field].map(normalize) }));

/** Returns the columns for the fields of a memory: those of the map, else those with a usual name. */
export function findColumns(names: readonly string[], map: FormatOptions['map']): Columns {
  const byName = new Map(names.toReversed().map((name) => [normalize(name), name]));
  const mapped = new Set(Object.values(map));
  const columns: Columns = {};
  for (const { field, names: usual } of USUAL_NAMES) {
    const column = map[field] ?? usual.map((name) => byName.get(name)).find((name) => name && !mapped.has(name));
    if (column !== undefined) columns[field] = column;
  }
  return columns;
}

function normalize(name: string): string {
  return name.toLowerCase().replace(/[\s_-]+/g, '');
}

/** Returns whether a text would be found without `--map`. */
export function hasUsualContent(names: readonly string[]): boolean {
  return findColumns(names, {}).content !== undefined;
}

/** Returns the reason for refusing rows without a column for the text. */
export function toNoContentReason(noun: 'column' | 'field', names: readonly string[]): string {
  return `no ${noun} is known to hold the text (${noun}s: ${toList(names)}); map one, as in content=${noun.toUpperCase()}`;
}

/** Returns the reason for refusing a table without a column that the map names. */
export function toMissingReason(noun: 'column' | 'field', missing: string, names: readonly string[]): string {
  return `map must name ${noun}s of the file (${toList(names)}), not ${quote(missing)}`;
}

function toList(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.slice(0, 20).map(quote).join(', ');
}

/** Returns the value of a field, or of a field of a field for a path such as `message.text`. */
export function getValue(values: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(values, path)) return values[path];
  let value: unknown = values;
  for (const name of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/**
 * Returns the part for a row: a text, `empty` if it has no text, or a refusal that names the column, its value and the
 * rule. Cells that are blank or null have no value.
 *
 * @param seen the texts of the rows before in the same file
 */
export function toMappedPart(row: Row, columns: Columns, options: FormatOptions, seen: SeenTexts): Part {
  const reader = new RowReader(row, columns, options.timeZone);
  const content = reader.getText('content');
  const createdAt = reader.getTime('created_at');
  const validFrom = reader.getTime('valid_from');
  const validTo = reader.getTime('valid_to');
  const importance = reader.getImportance();
  const expiresAt = reader.getTime('expires_at');
  const begin = validFrom ?? createdAt;
  if (begin !== undefined && validTo !== undefined && validTo <= begin) {
    reader.refuse('valid_to', `be later than ${validFrom === undefined ? 'created_at' : 'valid_from'}`);
  }
  if (reader.reason !== undefined) return { kind: 'refused', place: row.place, reason: reader.reason };
  if (content === undefined) return { kind: 'left-out', reason: 'empty', count: 1 };
  return toTextPart(row.place, {
    content,
    tags: toTags([toRoleTag(reader.get('role')), ...toTagList(reader.get('tags'))]),
    importance,
    source: toLabel(reader.get('source'), LIMITS.sourceChars) ?? row.format,
    session_id: toId(reader.get('session_id'), LIMITS.sessionIdChars),
    user_id: toId(reader.get('user_id'), LIMITS.userIdChars),
    agent_id: toId(reader.get('agent_id'), LIMITS.agentIdChars),
    external_id: getExternalId(row, columns, reader.get('external_id'), content, seen),
    created_at: createdAt,
    expires_at: expiresAt,
    valid_from: validFrom,
    valid_to: validTo,
    metadata: getMetadata(row, columns, reader.get('title'), options.restToMetadata),
  });
}

/** Reads the values of a row, and notes the first that breaks a rule. */
class RowReader {
  reason: string | undefined;
  readonly #row: Row;
  readonly #columns: Columns;
  readonly #timeZone: string;

  constructor(row: Row, columns: Columns, timeZone: string) {
    this.#row = row;
    this.#columns = columns;
    this.#timeZone = timeZone;
  }

  get(field: MappedField): unknown {
    const column = this.#columns[field];
    const value = column === undefined ? undefined : getValue(this.#row.values, column);
    return value === null || (typeof value === 'string' && value.trim() === '') ? undefined : value;
  }

  getText(field: MappedField): string | undefined {
    const value = this.get(field);
    if (typeof value === 'object' || typeof value === 'boolean') this.refuse(field, 'be a text');
    return toContent(typeof value === 'number' ? String(value) : value);
  }

  getTime(field: MappedField): string | undefined {
    const value = this.get(field);
    const time = value === undefined ? undefined : toImportedTime(value, this.#timeZone);
    if (value !== undefined && time === undefined) {
      this.refuse(field, 'be an ISO 8601 date or date and time, such as 2026-01-31 or 2026-01-31T09:30:00Z');
    }
    return time;
  }

  getImportance(): number | undefined {
    const value = this.get('importance');
    if (value === undefined) return undefined;
    const number = typeof value === 'string' ? Number(value) : value;
    if (typeof number === 'number' && number >= 0 && number <= 1) return number;
    this.refuse('importance', 'be a number from 0 to 1');
    return undefined;
  }

  refuse(field: MappedField, rule: string): void {
    const value = JSON.stringify(this.get(field)) ?? 'nothing';
    const noun = this.#row.format === 'csv' ? 'column' : 'field';
    this.reason ??= `${noun} ${quote(this.#columns[field] ?? field)} must ${rule}, not ${quote(value.replace(/^"|"$/g, ''))}`;
  }
}

/** Tags in a text are separated by `,`, `;` or `|`. */
function toTagList(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  return typeof value === 'string' ? value.split(/[,;|]/) : [value];
}

/** The minimum length of an id that is unique everywhere, such as a UUID. Shorter ids often count the rows of a file. */
const MIN_GLOBAL_ID_CHARS = 16;

/**
 * Returns the external id of a row: its column `external_id` as it is, another id with the format's name, and with the
 * file's path too if it is short. A row without an id has a digest of its values. A row whose id another text of the
 * file has gets a digest of its text in addition, because in some files such a column counts conversations.
 */
function getExternalId(row: Row, columns: Columns, value: unknown, content: string, seen: SeenTexts): string {
  const { format, path, values } = row;
  const id = toId(value, LIMITS.externalIdChars);
  if (id === undefined) return toExternalId(format, digest(JSON.stringify(values)));
  if (columns.external_id !== undefined && normalize(columns.external_id) === 'externalid') return id;
  const key = id.length >= MIN_GLOBAL_ID_CHARS ? id : `${path}#${id}`;
  return toExternalId(format, seen.see([key], content) === 'other' ? `${key}/${digest(content)}` : key);
}

/** The title, the object in `metadata`, and on request all other values. */
function getMetadata({ values }: Row, columns: Columns, title: unknown, withRest: boolean) {
  const used = new Set(Object.values(columns));
  const rest = Object.entries(values).filter(([name]) => name !== '' && name !== 'metadata' && !used.has(name));
  return toMetadata({
    title: toContent(title),
    ...(isObject(values.metadata) && values.metadata),
    ...(withRest && Object.fromEntries(rest)),
  });
}

function quote(text: string): string {
  return `"${text.length > 100 ? `${text.slice(0, 100).toWellFormed()}…` : text}"`;
}
