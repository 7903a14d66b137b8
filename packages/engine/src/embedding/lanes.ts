/**
 * The lanes of a model, by priority: queries, texts of at most `EMBEDDING_LIMITS.shortText` characters, longer texts. Each lane has
 * one call at a time. A native call of a lane runs only while no lane before it has a call.
 */
export const LANES = ['query', 'short', 'long'] as const;
export type Lane = (typeof LANES)[number];
