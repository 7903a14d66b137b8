import { DEFAULTS, invalidRequest } from '@memoryd/contract';
import type { Seal } from '../ports/runtime.ts';
import type { Page, PageRequest, Position } from '../ports/storage-memories.ts';
import type { Core } from './core.ts';

/** Where a list goes on. Places count what the whole database has had, so clients see them sealed. */
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
      if (text !== undefined) return toPlace(text);
      const message = 'cursor must be the next_cursor of an earlier answer to the same request';
      throw invalidRequest([{ path: '/cursor', message }]);
    },
  };
}

/** Returns the page that a request asks for, as storage takes it. Refuses a cursor that was never given out. */
export function pageRequest<Place>(
  core: Core,
  request: { limit?: number; cursor?: string },
  cursors: Cursors<Place>,
): PageRequest<Place> {
  return {
    limit: request.limit ?? DEFAULTS.pageItems,
    maxBytes: core.maxAnswerBytes,
    ...(request.cursor !== undefined && { after: cursors.read(core.seal, request.cursor) }),
  };
}

/** Returns what an answer says of its page after the items: how many all pages have, and where the next page begins. */
export function pageEnd<Place>({ seal }: Core, { total, next }: Page<unknown, Place>, cursors: Cursors<Place>) {
  return { total, ...(next !== undefined && { next_cursor: cursors.write(seal, next) }) };
}
