// Apart from `LIMITS`, which would make the bundled client and the dashboard larger.

/** Maximum characters of the id of a user or an agent. */
export const MAX_OWNER_ID_CHARS = 256;
/** Maximum offset in a list. */
export const MAX_OFFSET = 10_000;
/** Maximum ids in one change of many memories. */
export const MAX_CHANGED_IDS = 10_000;
/** Maximum values of `growth_at` in one request. */
export const MAX_GROWTH_MOMENTS = 100;

/**
 * Maximum sizes of requests, responses and stored data. Most names end with the unit or with the kind of items that are
 * counted.
 */
export const LIMITS = {
  queryChars: 8192,
  topK: 1000,
  /** Tokens of one context. */
  minContextTokens: 50,
  contextTokens: 20_000,
  /** Texts that a context leaves out. */
  excludedTexts: 1000,
  /** UTF-16 code units of all result texts together that `explain` searches for words of the query. */
  matchedUnits: 100_000,
  highlightChars: 300,
  /** UTF-16 code units of all result texts together that `highlight` searches for the best passages. */
  highlightedUnits: 4 * 1024 * 1024,
  tags: 64,
  tagChars: 128,
  sourceChars: 256,
  sessionIdChars: 256,
  userIdChars: MAX_OWNER_ID_CHARS,
  agentIdChars: MAX_OWNER_ID_CHARS,
  externalIdChars: 512,
  metadataBytes: 16 * 1024,
  metadataDepth: 32,
  attachmentBytes: 1024 * 1024,
  /** Comparisons in one `filter`. */
  filterConditions: 64,
  /** Nested objects of conditions in one `filter`. */
  filterLevels: 6,
  /** JSON of one `filter`. */
  filterBytes: 8 * 1024,
  /** A time zone name; the longest IANA name has 32. */
  timeZoneChars: 64,
  /** The words of a list with `q`. */
  wordsChars: 256,
  offset: MAX_OFFSET,
  /** Memories that a list by retention, the counts of a facet and the values of a growth cover. */
  countedMemories: 10_000,
  /** Values of one facet. */
  facetValues: 1000,
  /** Characters of a metadata value in a facet; longer texts are no categories. */
  facetValueChars: 256,
  /** Days with memories of one growth, and so its periods: 20 years of days. */
  growthDays: 7500,
  /** Values of the field of a growth; the others are counted together. */
  growthValues: 10,
  changedIds: MAX_CHANGED_IDS,
  /** Ids in one request to forget many memories, in its URL. */
  forgottenIds: 1000,
  /** Time for which a change of many memories can be undone. */
  changeUndoMs: 60 * 60 * 1000,
  /** Related memories of one memory. */
  related: 20,
  /** Memories on a map. */
  mappedMemories: 20_000,
  /** Words that name a cluster of a map. */
  clusterWords: 4,
  /** Recalls that are remembered in a namespace. */
  rememberedRecalls: 10_000,
  idempotencyKeyChars: 255,
  /** Time for which an idempotency key prevents a second store. */
  idempotencyKeyMs: 24 * 60 * 60 * 1000,
  pageItems: 10_000,
  growthMoments: MAX_GROWTH_MOMENTS,
  /** Memories in one batch. */
  batchItems: 10_000,
  /** Similar memories of one stored memory. */
  similar: 10,
  /** Memories in one batch with `similar`, since each is searched for. */
  similarBatchItems: 1000,
  /** Memories listed in each part of a consolidation plan. */
  plannedMemories: 1000,
  /** Later runs listed with a consolidation run. */
  laterConsolidations: 100,
  /** One line of an export: a memory with its complete text history. */
  exportLineBytes: 128 * 1024 * 1024,
  /** Access count, revision and version of a memory. Fits a signed 32-bit integer in every database, with headroom. */
  counterValue: 2_000_000_000,
  /** Rejected lines that an import response lists. */
  listedRejections: 100,
  /** New ids that an import response names. */
  newIds: 10_000,
  /** The longest cursor is the cursor of the list of sessions: two ids of 256 characters, encrypted. */
  cursorChars: 4096,
  /** A project in an event; a longer one is left out. */
  projectChars: 512,
  /** Memory ids in one event. */
  eventIds: 256,
  namespaceChars: 128,
  keyNameChars: 128,
  /** API keys in one database, including revoked keys. */
  keys: 10_000,
  /** Folders of one user in which hooks do nothing, and characters of one path. */
  ignoredFolders: 100,
  folderChars: 1024,
  /** Users of one namespace with hook settings. */
  hookUsers: 100_000,
  importIdChars: 64,
  importNameChars: 256,
  importKeyChars: 128,
  /** Pairs of a field and a column, in the query of an import. */
  importMapChars: 4096,
  /** Other external ids of an imported text. */
  importAliases: 2,
  /** Texts that the preview of an import shows, and characters of each. */
  previewedTexts: 5,
  previewedChars: 300,
  /** Users that the preview of an import names. */
  previewedUsers: 100,
  /** Sessions that the preview of an import counts. */
  countedSessions: 100_000,
} as const;

export const DEFAULTS = {
  topK: 5,
  contextTokens: 800,
  importance: 0.5,
  source: 'api',
  sessionId: 'default',
  /** Namespace of requests without an API key. */
  namespace: 'default',
  pageItems: 1000,
  facetValues: 20,
  related: 5,
} as const;
