import { invalidRequest, type MemoryError } from '@memoryd/contract';
import type { Position } from '../ports/page.ts';
import type { Seal } from '../ports/seal.ts';

/*
 * Places count what the whole database has had, so clients see them sealed: a cursor tells nothing of other namespaces.
 */

/** Where a list goes on, as a client sees it. */
export interface Cursors<Place> {
  write(seal: Seal, place: Place): string;
  /** INVALID_REQUEST for a text that `write` of the same list never made. */
  read(seal: Seal, cursor: string): Place;
}

/** Cursors of a list whose places are positions in time and order of arrival. */
export function positionCursors(list: string): Cursors<Position> {
  return sealed(
    list,
    ({ createdAt, ordinal }) => `${createdAt}.${padded(ordinal)}`,
    (text) => {
      const [createdAt, ordinal] = text.split('.').map(Number) as [number, number];
      return { createdAt, ordinal };
    },
  );
}

/** Cursors of a list whose places are whole numbers from 0. */
export function numberCursors(list: string): Cursors<number> {
  return sealed(list, padded, Number);
}

/** Cursors of a list whose places are texts. */
export function textCursors(list: string): Cursors<string> {
  return sealed(list, String, String);
}

/** Of one length for all, since a sealed text tells its length. */
function padded(place: number): string {
  return String(place).padStart(16, '0');
}

function sealed<Place>(
  list: string,
  toText: (place: Place) => string,
  toPlace: (text: string) => Place,
): Cursors<Place> {
  return {
    write: (seal, place) => seal.seal(toText(place), list),
    read(seal, cursor) {
      const text = seal.open(cursor, list);
      if (text === undefined) throw unknownCursor();
      return toPlace(text);
    },
  };
}

function unknownCursor(): MemoryError {
  const message = 'cursor must be the next_cursor of an earlier answer to the same request';
  return invalidRequest([{ path: '/cursor', message }]);
}
