import { invalidRequest, type MemoryError } from '@memoryd/contract';
import type { Position } from '../ports/storage.ts';

/** A position as a client sees it: letters, digits, signs and one dot. */
export function toCursor({ createdAt, ordinal }: Position): string {
  return `${createdAt.toString(36)}.${ordinal.toString(36)}`;
}

/** INVALID_REQUEST for a text that `toCursor` never made. */
export function fromCursor(cursor: string): Position {
  const [createdAt = Number.NaN, ordinal = Number.NaN] = cursor.split('.').map((part) => Number.parseInt(part, 36));
  if (Number.isSafeInteger(createdAt) && Number.isSafeInteger(ordinal) && toCursor({ createdAt, ordinal }) === cursor) {
    return { createdAt, ordinal };
  }
  throw unknownCursor();
}

/** The revision that a cursor names. INVALID_REQUEST for a text that names none. */
export function fromRevisionCursor(cursor: string): number {
  if (/^[1-9][0-9]{0,14}$/.test(cursor)) return Number(cursor);
  throw unknownCursor();
}

function unknownCursor(): MemoryError {
  const message = 'cursor must be the next_cursor of an earlier answer to the same request';
  return invalidRequest([{ path: '/cursor', message }]);
}
