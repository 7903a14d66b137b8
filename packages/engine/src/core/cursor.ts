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

/** A place that is one whole number, as a client sees it. */
export function toNumberCursor(place: number): string {
  return place.toString(36);
}

/** INVALID_REQUEST for a text that `toNumberCursor` never made. */
export function fromNumberCursor(cursor: string): number {
  const place = Number.parseInt(cursor, 36);
  if (Number.isSafeInteger(place) && toNumberCursor(place) === cursor) return place;
  throw unknownCursor();
}

function unknownCursor(): MemoryError {
  const message = 'cursor must be the next_cursor of an earlier answer to the same request';
  return invalidRequest([{ path: '/cursor', message }]);
}
