import type { MemoryFilter } from '@memoryd/search';

/** A moment of validity, in ms since 1970. Whether a memory has expired depends on `now` alone. */
export interface Moment {
  at: number;
  now: number;
}

/** Returns the moment at which a request asks which memories hold. */
export function toMoment({ filter, now }: { filter: MemoryFilter; now: number }): Moment {
  return { at: filter.at ?? now, now };
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
