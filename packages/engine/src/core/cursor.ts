import { CURSOR_MUST, DEFAULTS, invalidRequest } from '@memoryd/contract';
import type { Seal } from '../ports/runtime.ts';
import type { Page, PageRequest, Position, SessionPlace } from '../ports/storage-memories.ts';
import type { Core } from './core.ts';

/**
 * Writes and reads the cursors of one list. Cursors are sealed, since a plain position would reveal the number of rows
 * in the whole database.
 *
 * @param filters the filters of the list as text; a cursor is valid only for a list with the same filters
 */
export interface Cursors<Place> {
  write(seal: Seal, place: Place, filters: string): string;
  /** Throws INVALID_REQUEST for a text that `write` did not create for the same list and filters. */
  read(seal: Seal, cursor: string, filters: string): Place;
}

/** Creates cursors for a list sorted by (createdAt, ordinal). */
export function positionCursors(list: string): Cursors<Position> {
  return createCursors(
    list,
    ({ createdAt, ordinal }) => `${createdAt}.${pad(ordinal)}`,
    (text) => {
      const [createdAt, ordinal] = text.split('.').map(Number) as [number, number];
      return { createdAt, ordinal };
    },
  );
}

/** Creates cursors for a list whose page positions are integers from 0. */
export function numberCursors(list: string): Cursors<number> {
  return createCursors(list, pad, Number);
}

/** Creates cursors for a list whose page positions are texts. */
export function textCursors(list: string): Cursors<string> {
  return createCursors(list, String, String);
}

/**
 * Creates cursors for a list of sessions. U+0000 separates the session id from the user id, since no id contains
 * U+0000.
 */
export function sessionPlaceCursors(list: string): Cursors<SessionPlace> {
  return createCursors(
    list,
    ({ sessionId, userId }) => `${sessionId}\0${userId}`,
    (text) => {
      const [sessionId, userId] = text.split('\0') as [string, string];
      return { sessionId, userId };
    },
  );
}

/** Pads a number to 16 digits, since the length of a sealed text reveals the length of its plain text. */
function pad(place: number): string {
  return String(place).padStart(16, '0');
}

function createCursors<Place>(
  list: string,
  toText: (place: Place) => string,
  toPlace: (text: string) => Place,
): Cursors<Place> {
  return {
    write: (seal, place, filters) => seal.seal(toText(place), `${list} ${filters}`),
    read(seal, cursor, filters) {
      const text = seal.open(cursor, `${list} ${filters}`);
      if (text !== undefined) return toPlace(text);
      throw invalidRequest([{ path: '/cursor', message: `cursor must ${CURSOR_MUST}` }]);
    },
  };
}

/** A request for a page of a list. All other fields are filters. */
interface PagedRequest {
  limit?: number;
  cursor?: string;
}

/**
 * Converts a request into the page request of storage. Throws INVALID_REQUEST for a cursor that was not created for the
 * same list and filters.
 */
export function pageRequest<Place>(core: Core, request: PagedRequest, cursors: Cursors<Place>): PageRequest<Place> {
  const { limit = DEFAULTS.pageItems, cursor } = request;
  return {
    limit,
    maxBytes: core.maxAnswerBytes,
    ...(cursor !== undefined && { after: cursors.read(core.seal, cursor, toFilters(request)) }),
  };
}

/**
 * Returns the fields of a response that follow its items: the total over all pages, and the cursor of the next page.
 */
export function pageEnd<Place>(
  { seal }: Core,
  request: PagedRequest,
  { total, next }: Page<unknown, Place>,
  cursors: Cursors<Place>,
) {
  return { total, ...(next !== undefined && { next_cursor: cursors.write(seal, next, toFilters(request)) }) };
}

/** Returns the filters of a request as JSON, independent of the order of fields and array elements. */
function toFilters({ limit: _limit, cursor: _cursor, ...filters }: PagedRequest): string {
  return JSON.stringify(filters, (_, value) => {
    if (Array.isArray(value)) return value.toSorted();
    return typeof value === 'object' && value !== null ? Object.entries(value).sort() : value;
  });
}
