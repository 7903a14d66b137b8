import { MemoryError } from '@memoryd/client';

/** Returns whether an error says that what was asked for does not exist, or not for the asking key. */
export const isNotFound = (error: unknown): boolean => error instanceof MemoryError && error.code === 'NOT_FOUND';
