/** Largest sizes that a request may have, in the unit that each name ends with. */
export const LIMITS = {
  queryChars: 8192,
  topK: 1000,
  /** UTF-16 units of an answer's texts in which an explanation looks for words of the query. */
  matchedUnits: 100_000,
  highlightChars: 300,
  /** UTF-16 units of an answer's texts in which the best parts to highlight are looked for. */
  highlightedUnits: 4 * 1024 * 1024,
  tags: 64,
  tagChars: 128,
  sourceChars: 256,
  sessionIdChars: 256,
  userIdChars: 256,
  agentIdChars: 256,
  metadataBytes: 16 * 1024,
  metadataDepth: 32,
  idempotencyKeyChars: 255,
  /** How long an idempotency key protects from storing twice. */
  idempotencyKeyMs: 24 * 60 * 60 * 1000,
  pageItems: 10_000,
  /** Moments at which one request counts memories. */
  growthMoments: 100,
  /** Memories that one batch stores. */
  batchItems: 10_000,
  /** Memories of a kind that the plan of a consolidation names. */
  plannedMemories: 1000,
  /** One line of an export: a memory with all the texts that it has had. */
  exportLineBytes: 128 * 1024 * 1024,
  /** Uses of a memory, its texts and what clients wrote to it: all databases keep as many in 32 bits, with room to count on. */
  counted: 2_000_000_000,
  /** Lines that an import says were refused, of however many. */
  toldRefusals: 100,
  /** A place in a list of sessions is the longest: two ids of 256 characters, sealed. */
  cursorChars: 4096,
  /** Memories that one event names. */
  eventIds: 256,
  namespaceChars: 128,
  keyNameChars: 128,
  /** API keys of a database, revoked ones included. */
  keys: 10_000,
} as const;

export const DEFAULTS = {
  topK: 5,
  importance: 0.5,
  source: 'api',
  sessionId: 'default',
  /** The namespace of callers without a key. */
  namespace: 'default',
  pageItems: 1000,
} as const;
