import type { NamespaceQuota } from '@memoryd/contract';
import type { Quota } from '../../../ports/storage-namespaces.ts';
import { isLimit, quotaOf, type Room, Rooms } from '../../quota.ts';
import { type Connection, sql } from '../connection.ts';

/** Reads what namespaces have room for, as far as they may not hold just anything. */
export function readRooms(connection: Connection, namespaces: Iterable<string>, ofAll: Quota): Rooms {
  const rooms = new Map<string, Room>();
  for (const namespace of namespaces) {
    const quota = quotaOf(ownQuota(connection, namespace), ofAll);
    if (isLimit(quota)) rooms.set(namespace, { quota, used: usage(connection, namespace) });
  }
  return new Rooms(rooms);
}

function ownQuota(connection: Connection, namespace: string): NamespaceQuota | undefined {
  const row = sql(connection, 'SELECT memories, bytes FROM namespace_quota WHERE namespace = ?').get(namespace);
  return row as NamespaceQuota | undefined;
}

/** Returns what clients gave a namespace and nobody has erased. */
function usage(connection: Connection, namespace: string): Quota {
  const row = sql(connection, 'SELECT memories, bytes FROM namespace_usage WHERE namespace = ?').get(namespace);
  return (row as Quota | undefined) ?? { memories: 0, bytes: 0 };
}

/** See `Storage.setQuota`. */
export function setQuota(connection: Connection, namespace: string, { memories, bytes }: NamespaceQuota): void {
  if (memories === null && bytes === null) {
    sql(connection, 'DELETE FROM namespace_quota WHERE namespace = ?').run(namespace);
    return;
  }
  sql(
    connection,
    `INSERT INTO namespace_quota (namespace, memories, bytes) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET memories = excluded.memories, bytes = excluded.bytes`,
  ).run(namespace, memories, bytes);
}
