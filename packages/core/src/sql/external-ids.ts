import type { Owner } from '@memoryd/search';
import { getExternalKey } from './memory-rows.ts';
import type { Queries } from './queries.ts';
import { raw, sql } from './sql.ts';

/** A memory that may have an external id. */
interface Named extends Owner {
  namespace: string;
  id: string;
  externalId: string | null;
}

/** The ids of the memories that have the external ids of a batch of new memories. */
export class ExternalIds {
  readonly #ids: Map<string, string>;

  constructor(ids: Map<string, string>) {
    this.#ids = ids;
  }

  /** Returns the id of the memory that has the external id of a new memory. */
  find(memory: Named): string | undefined {
    const key = toKey(memory);
    return key && this.#ids.get(toMapKey(key));
  }

  add(memory: Named): void {
    const key = toKey(memory);
    if (key) this.#ids.set(toMapKey(key), memory.id);
  }
}

interface Key {
  namespace: string;
  key: string;
}

function toKey(memory: Named): Key | undefined {
  const { namespace, externalId } = memory;
  return externalId === null ? undefined : { namespace, key: getExternalKey(memory, externalId) };
}

function toMapKey({ namespace, key }: Key): string {
  return `${namespace}\0${key}`;
}

/** Finds the memories that have the external ids of new memories. Includes expired, evicted and merged memories. */
export async function findExternalIds(queries: Queries, memories: readonly Named[]): Promise<ExternalIds> {
  const named = memories.flatMap((memory) => toKey(memory) ?? []);
  if (named.length === 0) return new ExternalIds(new Map());
  const { records, joinMemory } = queries.dialect;
  const key = { namespace: raw('named.namespace'), external_key: raw('named.key') };
  const found = await queries.rows<Key & { id: string }>(sql`
    SELECT m.namespace, m.external_key AS key, m.id FROM ${records('named', { namespace: 'text', key: 'text' }, named)}
    ${joinMemory('m', key, 'memory_by_external_key')}`);
  return new ExternalIds(new Map(found.map((row) => [toMapKey(row), row.id])));
}
