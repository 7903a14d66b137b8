/** Memories, and about how many characters of them, that one commit keeps: other writers wait no longer than for it. */
export const CHUNK_MEMORIES = 256;
export const CHUNK_CHARS = 1024 * 1024;
