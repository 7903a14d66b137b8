import { digest } from '../../hooks/keys.ts';
import type { Format, Part } from '../format.ts';
import { isObject, toContent, toExternalId, toTags, toTextPart } from '../parsing/fields.ts';
import { readHeadItems } from '../parsing/json-head.ts';
import { readJsonItems } from '../parsing/read-json-items.ts';

const LISTS = ['entities', 'relations'];

type Fields = Readonly<Record<string, unknown>>;

/** The file of the MCP memory server: a graph as JSON lines, or as the response of its tool `read_graph`. */
export const mcpMemory: Format = {
  name: 'mcp-memory',
  title: 'MCP memory server',
  files: 'memory.jsonl, or the response of read_graph as JSON',

  recognizes({ text }) {
    return readHeadItems(text).some(({ list, item }) => {
      if (list === '$') return isEntity(item) || isRelation(item);
      return LISTS.includes(list) && ('observations' in item || getRelation(item) !== undefined);
    });
  },

  async *read(file) {
    for await (const found of readJsonItems(file, LISTS)) {
      if ('refused' in found) yield { kind: 'refused', place: found.place, reason: found.refused };
      else yield* toParts(found.place, found.list, found.item);
    }
  },
};

function isEntity(item: Fields): boolean {
  return item.type === 'entity' && getName(item) !== undefined;
}

function isRelation(item: Fields): boolean {
  return item.type === 'relation' && getRelation(item) !== undefined;
}

function getName(item: Fields): string | undefined {
  return toContent(item.name ?? item.entityName)?.trim();
}

function getRelation(item: Fields): [from: string, relation: string, to: string] | undefined {
  const from = toContent(item.from ?? item.from_id)?.trim();
  const to = toContent(item.to ?? item.to_id)?.trim();
  const relation = toContent(item.relationType ?? item.relation_type)?.trim();
  return from && to && relation ? [from, relation, to] : undefined;
}

function* toParts(place: string, list: string, item: Fields): Generator<Part> {
  if (list === 'relations' || item.type === 'relation') yield toRelationPart(place, item);
  else if (list === 'entities' || item.type === 'entity') yield* toObservationParts(place, item);
  else yield { kind: 'refused', place, reason: 'type must be entity or relation' };
}

function toRelationPart(place: string, item: Fields): Part {
  const relation = getRelation(item);
  if (!relation) return { kind: 'refused', place, reason: 'a relation must have from, to and relationType' };
  const [from, type, to] = relation;
  return toTextPart(place, {
    content: `${from} ${type.replace(/_+/g, ' ')} ${to}`,
    source: 'mcp-memory',
    external_id: toExternalId('mcp-memory', digest('relation', ...relation)),
  });
}

function* toObservationParts(place: string, item: Fields): Generator<Part> {
  const name = getName(item);
  if (name === undefined) {
    yield { kind: 'refused', place, reason: 'an entity must have a name' };
    return;
  }
  const observations = Array.isArray(item.observations) ? item.observations : [];
  if (observations.length === 0) yield { kind: 'left-out', reason: 'empty', count: 1 };
  const tags = toTags([item.entityType ?? item.entity_type]);
  for (const observation of observations) {
    const text = toContent(isObject(observation) ? observation.content : observation)?.trim();
    if (text === undefined) yield { kind: 'left-out', reason: 'empty', count: 1 };
    else {
      yield toTextPart(place, {
        content: `${name}: ${text}`,
        tags,
        source: 'mcp-memory',
        external_id: toExternalId('mcp-memory', digest(name, text)),
      });
    }
  }
}
