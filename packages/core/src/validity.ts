import type { MemoryFilter } from '@memoryd/search';

/** A moment of validity, in ms since 1970. Whether a memory has expired depends on `now` alone. */
export interface Moment {
  at: number;
  now: number;
  /** Memories, fields and links count as they were stored at this time; absent for the present. */
  known?: number;
}

/** Returns the moment at which a request asks which memories hold. */
export function toMoment({ filter, now }: { filter: Pick<MemoryFilter, 'at' | 'known'>; now: number }): Moment {
  const { at = now, known = now } = filter;
  return { at, now, ...(known < now && { known }) };
}

/** The period in which a memory holds, if nothing replaces it. Times in ms since 1970. */
interface Period {
  createdAt: number;
  /** Null for `createdAt`. */
  validFrom: number | null;
  /** Null for no end. */
  validTo: number | null;
}

/** Returns true if a period ends after it begins. */
export function isPeriod({ createdAt, validFrom, validTo }: Period): boolean {
  return validTo === null || validTo > (validFrom ?? createdAt);
}
