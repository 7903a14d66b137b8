import { hash } from 'node:crypto';
import type { Owner } from '@memoryd/search';
import { stringify } from 'uuid';

/**
 * Returns a digest of the ids and text revisions of a group of memories. The order of the group does not affect the
 * digest.
 */
export function getGroupDigest(texts: readonly { id: string; revision: number }[]): Buffer {
  const named = texts.map(({ id, revision }) => `${id} ${revision}`);
  return hash('sha256', named.sort().join('\n'), 'buffer');
}

/**
 * Returns the new id of an imported memory whose id belongs to another owner: a UUID of version 8 (RFC 9562) from the
 * SHA-256 of owner and id, so that a repeated import finds the memory. The digest includes a secret, so that clients
 * cannot compute the ids of other owners.
 *
 * @param secret the secret of the database; see `Storage.secret`
 */
export function toNewId(secret: string, namespace: string, { userId, agentId }: Owner, id: string): string {
  const bytes = hash('sha256', JSON.stringify([secret, namespace, userId, agentId, id]), 'buffer').subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return stringify(bytes);
}
