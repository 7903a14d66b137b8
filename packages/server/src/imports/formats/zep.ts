import { LIMITS } from '@memoryd/contract';
import { digest } from '../../hooks/keys.ts';
import type { Format, LeftOutReason, Part } from '../format.ts';
import {
  isObject,
  type TextFields,
  toContent,
  toExternalId,
  toId,
  toLabel,
  toMetadata,
  toRoleTag,
  toTags,
  toTextPart,
} from '../parsing/fields.ts';
import { readHeadItems } from '../parsing/json-head.ts';
import { readJsonValues } from '../parsing/read-json.ts';
import { readJsonItems } from '../parsing/read-json-items.ts';
import { toImportedTime } from '../parsing/times.ts';
import { toUtf8 } from '../parsing/to-utf8.ts';
import type { SourceFile } from '../source/source.ts';

/** The fields whose arrays hold items: of the graph, and of sessions. */
const LISTS = ['episodes', 'edges', 'facts', 'nodes', 'messages', 'sessions', 'threads', 'results'];

/** Fields of a session, which apply to its messages. */
const SESSION_FIELDS = ['session_id', 'thread_id', 'user_id'];

type Fields = Readonly<Record<string, unknown>>;

/**
 * Data of Zep and of Graphiti: episodes and messages, facts of the graph with the time in which they hold, and
 * summaries of entities. A file may hold one list of them, or several by name, or sessions with their messages.
 */
export const zep: Format = {
  name: 'zep',
  title: 'Zep export',
  files: 'a JSON file with episodes, edges, nodes or messages',

  recognizes({ text }) {
    return readHeadItems(text).some(({ list, item }) => {
      if (list !== '$' && list !== '*' && !LISTS.includes(list)) return false;
      if (isFact(item)) return 'uuid' in item || 'valid_at' in item || 'source_node_uuid' in item;
      if (isNode(item)) return 'uuid' in item;
      if (Array.isArray(item.messages)) return isZepMessage(item.messages[0]);
      return isZepMessage(item);
    });
  },

  async *read(file, { timeZone }) {
    const document = await readSessionFields(file);
    for await (const found of readJsonItems(file, LISTS)) {
      if ('refused' in found) yield { kind: 'refused', place: found.place, reason: found.refused };
      else yield* toParts(found.place, found.item, found.list === '*' ? {} : document, timeZone);
    }
  },
};

function isFact(item: Fields): boolean {
  return 'fact' in item || 'source_node_uuid' in item;
}

function isNode(item: Fields): boolean {
  return 'summary' in item && 'name' in item && !('content' in item);
}

function isZepMessage(item: unknown): boolean {
  if (!isObject(item) || typeof item.content !== 'string') return false;
  return (
    'role_type' in item ||
    ('uuid' in item && ['role', 'source', 'session_id', 'group_id', 'processed'].some((name) => name in item))
  );
}

/** Returns the fields of a document that is one session. The fields may come after the messages. */
async function readSessionFields(file: SourceFile): Promise<Fields> {
  const fields: Record<string, unknown> = {};
  for await (const found of readJsonValues(toUtf8(file.open()), SESSION_FIELDS)) {
    // Broken values are refused by the pass that reads the items.
    if ('value' in found) fields[found.place] = found.value;
  }
  return fields;
}

/** Returns the part of an item, or the parts of the messages of a session. */
function* toParts(place: string, item: Fields, session: Fields, timeZone: string): Generator<Part> {
  if (!Array.isArray(item.messages)) {
    yield toPart(place, item, session, timeZone);
    return;
  }
  for (const [index, message] of item.messages.entries()) {
    const messagePlace = `${place}, message ${index + 1}`;
    if (isObject(message)) yield toPart(messagePlace, message, item, timeZone);
    else yield { kind: 'refused', place: messagePlace, reason: 'the message must be a JSON object' };
  }
}

function toPart(place: string, item: Fields, session: Fields, timeZone: string): Part {
  const reason = getLeftOutReason(item);
  if (reason !== undefined) return { kind: 'left-out', reason, count: 1 };
  const create = isFact(item) ? toFact : isNode(item) ? toSummary : toMessage;
  const { content, ...fields } = create(item, session, timeZone);
  if (content === undefined) return { kind: 'left-out', reason: 'empty', count: 1 };
  const key =
    toId(item.uuid, LIMITS.externalIdChars) ?? digest(content, fields.session_id ?? '', fields.created_at ?? '');
  return toTextPart(place, {
    ...fields,
    content,
    source: 'zep',
    user_id: toId(item.user_id ?? session.user_id, LIMITS.userIdChars),
    external_id: toExternalId('zep', key),
  });
}

/** The type of the speaker is in `role_type`, or in `role` if that is absent. */
function getRole(item: Fields): string | undefined {
  return toLabel(item.role_type ?? item.role, LIMITS.tagChars)?.toLowerCase();
}

function getLeftOutReason(item: Fields): LeftOutReason | undefined {
  if (item.deleted_at !== undefined && item.deleted_at !== null) return 'deleted';
  if (isFact(item) || isNode(item)) return undefined;
  const role = getRole(item);
  if (role === 'system') return 'system';
  return role === 'tool' || role === 'function' ? 'tool' : undefined;
}

type ItemFields = Omit<TextFields, 'content' | 'external_id'> & { content: string | undefined };

/**
 * Messages of sessions, and episodes of the graph. The time of an episode is that of its event, if the source has it.
 */
function toMessage(item: Fields, session: Fields, timeZone: string): ItemFields {
  const role = getRole(item);
  const time = item.reference_time ?? item.valid_at ?? item.created_at;
  const createdAt = toImportedTime(time, timeZone);
  const speaker = item.role_type === undefined ? item.role !== undefined && item.name : item.role;
  return {
    content: toContent(item.content),
    tags: toTags([role === 'norole' ? undefined : toRoleTag(role)]),
    session_id: toId(
      item.session_id ?? item.thread_id ?? session.session_id ?? session.thread_id,
      LIMITS.sessionIdChars,
    ),
    created_at: createdAt,
    metadata: toMetadata({
      speaker: typeof speaker === 'string' ? speaker : undefined,
      title: item.role === undefined ? item.name : undefined,
      group_id: item.group_id,
      source_description: item.source_description,
      // A time that cannot be read stays as it is.
      created_at: createdAt === undefined ? time : undefined,
      ...(isObject(item.metadata) && item.metadata),
    }),
  };
}

function toSummary(item: Fields, _session: Fields, timeZone: string): ItemFields {
  const summary = toContent(item.summary);
  const name = toContent(item.name);
  const labels = Array.isArray(item.labels) ? item.labels.filter((label) => label !== 'Entity') : [];
  return {
    content: summary && name ? `${name}: ${summary}` : summary,
    tags: toTags(labels),
    created_at: toImportedTime(item.created_at, timeZone),
    metadata: toMetadata({ group_id: item.group_id }),
  };
}

/**
 * A fact holds from `valid_at` to `invalid_at`, or to `expired_at`, when a newer fact replaced it.
 *
 * Some facts end at or before their beginning, because the source learned of the end first, or because both come from
 * one message. The end counts, since recall must not present an outdated fact as current: such a fact begins one
 * millisecond before its end, and metadata keeps the source's `valid_at`.
 */
function toFact(item: Fields, _session: Fields, timeZone: string): ItemFields {
  const createdAt = toImportedTime(item.created_at, timeZone);
  const validAt = toImportedTime(item.valid_at, timeZone);
  const end = toImportedTime(item.invalid_at ?? item.expired_at, timeZone);
  // A fact without a time would begin when it is stored, which may be after its end.
  const isPeriod = end === undefined || (validAt ?? createdAt ?? end) < end;
  return {
    content: toContent(item.fact),
    created_at: createdAt,
    valid_from: isPeriod ? validAt : new Date(Date.parse(end) - 1).toISOString(),
    valid_to: end,
    metadata: toMetadata({
      relation: item.name,
      valid_at: isPeriod ? undefined : validAt,
      group_id: item.group_id,
    }),
  };
}
