import { LIMITS } from '@memoryd/contract';
import { digest } from '../../hooks/keys.ts';
import type { Format, Part } from '../format.ts';
import {
  isObject,
  toContent,
  toExternalId,
  toId,
  toMetadata,
  toRoleTag,
  toTags,
  toTextPart,
} from '../parsing/fields.ts';
import { readHeadItems } from '../parsing/json-head.ts';
import { readJsonItems } from '../parsing/read-json-items.ts';
import { toImportedTime } from '../parsing/times.ts';

/** The fields whose arrays hold memories: of the answer of `get_all`, and of exports with a schema. */
const LISTS = ['results', 'memories', 'data', 'relations'];

/** Fields by which a memory of mem0 is recognized. */
const SIGNS = ['hash', 'run_id', 'runId', 'app_id', 'appId', 'expiration_date', 'expirationDate', 'categories'];

/**
 * Memories of mem0, of its platform and of the open source version, with names such as `created_at` or `createdAt`. The
 * agent of a memory becomes metadata, because in mem0 it names the writer and hides nothing.
 */
export const mem0: Format = {
  name: 'mem0',
  title: 'mem0 export',
  files: 'a JSON file with the memories in results, or a list of memories',

  recognizes({ text }) {
    return readHeadItems(text).some(({ list, item }) => {
      if (list !== '$' && list !== '*' && !LISTS.includes(list)) return false;
      const memory = toFlat(item);
      const hasSign = SIGNS.some((name) => name in memory);
      if (typeof memory.memory === 'string') return 'id' in memory || hasSign || list === 'results';
      return 'id' in memory && hasSign && [memory.content, memory.data].some((text) => typeof text === 'string');
    });
  },

  async *read(file, { timeZone }) {
    for await (const found of readJsonItems(file, LISTS)) {
      if ('refused' in found) yield { kind: 'refused', place: found.place, reason: found.refused };
      else if (found.list === 'relations') yield toRelationPart(found.place, found.item);
      else yield toPart(found.place, toFlat(found.item), timeZone);
    }
  },
};

/** Returns the fields of a memory. A dump of the vector database has them in `payload`. */
function toFlat({ payload, ...fields }: Record<string, unknown>): Record<string, unknown> {
  return isObject(payload) ? { ...payload, ...fields } : fields;
}

function toPart(place: string, memory: Record<string, unknown>, timeZone: string): Part {
  const get = (name: string) => memory[name] ?? memory[toCamelCase(name)] ?? undefined;
  if (get('deleted_at') !== undefined || get('deleted') === true || get('is_deleted') === true) {
    return { kind: 'left-out', reason: 'deleted', count: 1 };
  }
  const content = toContent(memory.memory ?? memory.content ?? memory.data);
  if (content === undefined) return { kind: 'left-out', reason: 'empty', count: 1 };
  const categories = get('categories');
  const metadata = get('metadata');
  const createdAt = toImportedTime(get('created_at'), timeZone);
  const expiresAt = toImportedTime(get('expiration_date'), timeZone);
  const user = toId(get('user_id'), LIMITS.userIdChars);
  return toTextPart(place, {
    content,
    tags: toTags([toRoleTag(get('role')), ...(Array.isArray(categories) ? categories : [categories])]),
    source: 'mem0',
    session_id: toId(get('run_id'), LIMITS.sessionIdChars),
    user_id: user,
    external_id: toExternalId('mem0', toId(memory.id, LIMITS.externalIdChars) ?? digest(user ?? '', content)),
    created_at: createdAt,
    expires_at: expiresAt,
    metadata: toMetadata({
      agent_id: get('agent_id'),
      app_id: get('app_id'),
      actor_id: get('actor_id'),
      updated_at: get('updated_at'),
      // Times that cannot be read stay as they are.
      created_at: createdAt === undefined ? get('created_at') : undefined,
      expiration_date: expiresAt === undefined ? get('expiration_date') : undefined,
      ...(isObject(metadata) && metadata),
    }),
  });
}

/** A relation of the graph that former versions keep beside the memories. */
function toRelationPart(place: string, { source, relationship, target, destination }: Record<string, unknown>): Part {
  const names = [source, relationship, target ?? destination].map((name) =>
    toContent(name)?.trim().replace(/_+/g, ' '),
  );
  if (names.includes(undefined)) return { kind: 'left-out', reason: 'empty', count: 1 };
  const content = names.join(' ');
  return toTextPart(place, { content, source: 'mem0', external_id: toExternalId('mem0', digest('relation', content)) });
}

function toCamelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
