export function memoryUri(id: string): string {
  return `memory://${encodeURIComponent(id)}`;
}

export function sessionUri(sessionId: string): string {
  return `session://${encodeURIComponent(sessionId)}`;
}

/** Template (RFC 6570) of the URIs of memories. */
export const MEMORY_URI_TEMPLATE = 'memory://{id}';
/** Template (RFC 6570) of the URIs of sessions. `cursor` is the `next_cursor` of the previous page. */
export const SESSION_URI_TEMPLATE = 'session://{id}{?cursor}';

/** The resource that a URI names. */
export type Target = { memoryId: string } | { sessionId: string; cursor?: string };

const MEMORY_URI = /^memory:\/\/([^/?#]+)$/i;
const SESSION_URI = /^session:\/\/([^/?#]+)(?:\?cursor=([^&#]+))?$/i;

/** Parses a resource URI; returns `undefined` for a URI of another form. */
export function parseTarget(uri: string): Target | undefined {
  try {
    const [, memoryId] = MEMORY_URI.exec(uri) ?? [];
    if (memoryId !== undefined) return { memoryId: decodeURIComponent(memoryId) };
    const [, sessionId, cursor] = SESSION_URI.exec(uri) ?? [];
    if (sessionId === undefined) return undefined;
    return { sessionId: decodeURIComponent(sessionId), ...(cursor && { cursor: decodeURIComponent(cursor) }) };
  } catch {
    // The URI has invalid percent-encoding.
    return undefined;
  }
}
