import type { NamespaceQuota } from '@memoryd/contract';
import type { OverQuota, Quota } from '../../../ports/storage.ts';
import { overQuota as exceeded, quotaOf } from '../../quota.ts';
import { type Connection, sql } from '../connection.ts';
import { usage } from '../read/counts.ts';
import { ownQuota } from '../read/namespaces.ts';

/** Which quota of a namespace would be exceeded by so much more; undefined where none would. */
export function overQuota(connection: Connection, namespace: string, more: Quota, ofAll: Quota): OverQuota | undefined {
  const quota = quotaOf(ownQuota(connection, namespace), ofAll);
  return exceeded({ quota, used: usage(connection, namespace) }, more);
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
