/** Where a memory is read as a resource. */
export function memoryUri(id: string): string {
  return `memory://${encodeURIComponent(id)}`;
}

/** Where a session is read as a resource. */
export function sessionUri(sessionId: string): string {
  return `session://${encodeURIComponent(sessionId)}`;
}

/** The templates (RFC 6570) of the addresses above; a session's next page has the cursor of the one before. */
export const MEMORY_URI_TEMPLATE = 'memory://{id}';
export const SESSION_URI_TEMPLATE = 'session://{id}{?cursor}';

/** What an address names. */
export type Target = { memoryId: string } | { sessionId: string; cursor?: string };

const MEMORY_URI = /^memory:\/\/([^/?#]+)$/i;
const SESSION_URI = /^session:\/\/([^/?#]+)(?:\?cursor=([^&#]+))?$/i;

/** What an address names; undefined where it is none of ours. */
export function parseTarget(uri: string): Target | undefined {
  try {
    const [, memoryId] = MEMORY_URI.exec(uri) ?? [];
    if (memoryId !== undefined) return { memoryId: decodeURIComponent(memoryId) };
    const [, sessionId, cursor] = SESSION_URI.exec(uri) ?? [];
    if (sessionId === undefined) return undefined;
    return { sessionId: decodeURIComponent(sessionId), ...(cursor && { cursor: decodeURIComponent(cursor) }) };
  } catch {
    // Broken percent-encoding.
    return undefined;
  }
}
