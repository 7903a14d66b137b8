import { invalidRequest, type MemoryError } from '@memoryd/contract';
import type { Position } from '../ports/storage.ts';

/** Where a list goes on, as a client sees it. */
export interface Cursors<Place> {
  write(place: Place): string;
  /** INVALID_REQUEST for a text that `write` of the same list never made. */
  read(cursor: string): Place;
}

/** Cursors of a list whose places are positions in time and order of arrival. */
export function positionCursors(list: string): Cursors<Position> {
  return sealed(list, {
    write: ({ createdAt, ordinal }) => `${createdAt.toString(36)}.${ordinal.toString(36)}`,
    read(text) {
      const [createdAt = Number.NaN, ordinal = Number.NaN] = text.split('.').map((part) => Number.parseInt(part, 36));
      return { createdAt, ordinal };
    },
  });
}

/** Cursors of a list whose places are whole numbers. */
export function numberCursors(list: string): Cursors<number> {
  return sealed(list, {
    write: (place) => place.toString(36),
    read: (text) => Number.parseInt(text, 36),
  });
}

/** Cursors of a list whose places are texts. */
export function textCursors(list: string): Cursors<string> {
  return sealed(list, { write: (place) => place, read: (text) => text });
}

/** Adds a check to each cursor, so that any other text, or one of another list, is refused and not followed. */
function sealed<Place>(list: string, plain: Cursors<Place>): Cursors<Place> {
  const write = (place: Place): string => {
    const text = plain.write(place);
    return `${text}.${checksum(`${list}\n${text}`)}`;
  };
  return {
    write,
    read(cursor) {
      const place = plain.read(cursor.slice(0, Math.max(0, cursor.lastIndexOf('.'))));
      if (write(place) === cursor) return place;
      throw unknownCursor();
    },
  };
}

/** FNV-1a of 32 bits over UTF-16 units (Fowler, Noll and Vo), which tells errors and is no secret. */
function checksum(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(36);
}

function unknownCursor(): MemoryError {
  const message = 'cursor must be the next_cursor of an earlier answer to the same request';
  return invalidRequest([{ path: '/cursor', message }]);
}
