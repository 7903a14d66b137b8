import { invalidRequest, type MemoryError } from '@memoryd/contract';
import type { Seal } from '../ports/seal.ts';
import type { Position } from '../ports/storage.ts';

/*
 * Places count what the whole database has had, so clients see them sealed: a cursor tells nothing of other namespaces.
 */

/** A position as a client sees it. */
export function toCursor(seal: Seal, { createdAt, ordinal }: Position): string {
  return seal.seal([createdAt, ordinal]);
}

/** INVALID_REQUEST for a text that `toCursor` never made. */
export function fromCursor(seal: Seal, cursor: string): Position {
  const [createdAt, ordinal] = seal.open(cursor) ?? [];
  if (createdAt === undefined || ordinal === undefined) throw unknownCursor();
  return { createdAt, ordinal };
}

/** A place that is one whole number, as a client sees it. */
export function toNumberCursor(seal: Seal, place: number): string {
  return seal.seal([0, place]);
}

/** INVALID_REQUEST for a text that `toNumberCursor` never made. */
export function fromNumberCursor(seal: Seal, cursor: string): number {
  const [zero, place] = seal.open(cursor) ?? [];
  if (zero !== 0 || place === undefined) throw unknownCursor();
  return place;
}

function unknownCursor(): MemoryError {
  const message = 'cursor must be the next_cursor of an earlier answer to the same request';
  return invalidRequest([{ path: '/cursor', message }]);
}
