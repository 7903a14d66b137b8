import { MemoryError } from '@memoryd/contract/errors';

/**
 * Error for corrupted data, such as a column value that memoryd never writes. Has the code UNAVAILABLE, because the
 * database is at fault and not the request.
 */
export class CorruptDatabaseError extends MemoryError {
  /** Begins the message of every such error, with the way to recover. */
  static readonly MESSAGE =
    'the database is corrupt; restore a backup (`memoryd verify` reports what is wrong with a database file)';

  /** @param what the corrupted item, such as "memory 7 has tags that are not valid JSON" */
  constructor(what: string) {
    super('UNAVAILABLE', `${CorruptDatabaseError.MESSAGE}: ${what}`);
  }
}

/** Returns true if the error reports a corrupted database. */
export function isCorruption(error: unknown): error is MemoryError {
  return error instanceof MemoryError && error.message.startsWith(CorruptDatabaseError.MESSAGE);
}

/**
 * Parses a JSON value of the database. Throws CorruptDatabaseError if the text is not valid JSON.
 *
 * @param item the value in the error message, without the id of its row, such as "the tags of memory"
 * @param id the id or number of the row
 */
export function fromJson<T>(text: string, item: string, id: string | number): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new CorruptDatabaseError(`invalid JSON in ${item} ${id}`);
  }
}

/** Returns the content column of a memory. Throws CorruptDatabaseError if the value is not a string. */
export function asText({ id, content }: { id: string; content: unknown }): string {
  if (typeof content === 'string') return content;
  throw new CorruptDatabaseError(`the content of memory ${id} is not text`);
}
