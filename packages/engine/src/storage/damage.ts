import { MemoryError } from '@memoryd/contract/errors';

/** What an operator can do about a database whose bytes are not as they were written. */
export const DAMAGED =
  'the database is damaged; restore a backup (`memoryd verify` tells what is wrong with a database file)';

/**
 * Something read from the database cannot have been written there: the disk, or whatever copied or wrote it, has
 * changed it. UNAVAILABLE to callers, of whom none is at fault.
 */
export class DamagedDatabase extends MemoryError {
  /** @param what what cannot be, such as "memory 7 has tags that are no JSON" */
  constructor(what: string) {
    super('UNAVAILABLE', `${DAMAGED}: ${what}`);
  }
}

/** Whether an error says that the database is damaged. */
export function isDamage(error: unknown): error is MemoryError {
  return error instanceof MemoryError && error.message.startsWith(DAMAGED);
}

/** The value that a column of JSON holds. Throws DamagedDatabase where it holds none. */
export function fromJson<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new DamagedDatabase('a row holds JSON that cannot be read');
  }
}

/** The text that a column holds. Throws DamagedDatabase where a damaged row gives anything else. */
export function asText(value: unknown): string {
  if (typeof value === 'string') return value;
  throw new DamagedDatabase('a row holds bytes in the place of a text');
}
