import { type FieldReader, getMetadataPath } from '@memoryd/search';
import { type Connection, sql } from '../connection.ts';
import { toJsonPath } from '../dialect.ts';

type Values = ReturnType<FieldReader>;

/** Returns the reader of the fields of memories, for the columns of the index. Tags and metadata are JSON. */
export function createFieldReader(connection: Connection): FieldReader {
  return (field, ordinals) => {
    const path = getMetadataPath(field);
    const value = path ? 'm.metadata -> @path' : getColumn(field);
    const parameters = {
      ...(path && { path: toJsonPath(path) }),
      ...(ordinals && { ordinals: JSON.stringify(ordinals) }),
    };
    const memories = ordinals ? 'json_each(@ordinals) o CROSS JOIN memory m ON m.ordinal = o.value' : 'memory m';
    const select = sql(connection, `SELECT m.ordinal, ${value} AS value FROM ${memories}`);
    return select.raw().iterate(parameters) as Values;
  };
}

function getColumn(field: string): string {
  // A memory holds from its creation unless it has another begin.
  if (field === 'valid_from') return 'coalesce(m.valid_from, m.created_at)';
  return `m.${field === 'tag' ? 'tags' : field}`;
}
