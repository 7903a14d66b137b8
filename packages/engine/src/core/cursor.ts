import { CURSOR_MUST, DEFAULTS, invalidRequest } from '@memoryd/contract';
import type { Seal } from '../ports/runtime.ts';
import type { Page, PageRequest, Position, SessionPlace } from '../ports/storage-memories.ts';
import type { Core } from './core.ts';

/**
 * Where a list goes on. Places count what the whole database has had, so clients see them sealed.
 *
 * @param filters the filters of the list as text: a cursor is good for a list with these filters only
 */
export interface Cursors<Place> {
  write(seal: Seal, place: Place, filters: string): string;
  /** INVALID_REQUEST for a text that `write` of the same list with the same filters never made. */
  read(seal: Seal, cursor: string, filters: string): Place;
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

/** Cursors of a list of sessions. No id has a U+0000. */
export function sessionPlaceCursors(list: string): Cursors<SessionPlace> {
  return sealed(
    list,
    ({ sessionId, userId }) => `${sessionId}\0${userId}`,
    (text) => {
      const [sessionId, userId] = text.split('\0') as [string, string];
      return { sessionId, userId };
    },
  );
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
    write: (seal, place, filters) => seal.seal(toText(place), `${list} ${filters}`),
    read(seal, cursor, filters) {
      const text = seal.open(cursor, `${list} ${filters}`);
      if (text !== undefined) return toPlace(text);
      throw invalidRequest([{ path: '/cursor', message: `cursor must ${CURSOR_MUST}` }]);
    },
  };
}

/** A request for a page of a list: every field that is not about the page is a filter. */
interface PagedRequest {
  limit?: number;
  cursor?: string;
}

/** Returns the page that a request asks for, as storage takes it. Refuses a cursor that was never given out for it. */
export function pageRequest<Place>(core: Core, request: PagedRequest, cursors: Cursors<Place>): PageRequest<Place> {
  const { limit = DEFAULTS.pageItems, cursor } = request;
  return {
    limit,
    maxBytes: core.maxAnswerBytes,
    ...(cursor !== undefined && { after: cursors.read(core.seal, cursor, toFilters(request)) }),
  };
}

/** Returns what a response says of its page after the items: how many all pages have, and where the next page begins. */
export function pageEnd<Place>(
  { seal }: Core,
  request: PagedRequest,
  { total, next }: Page<unknown, Place>,
  cursors: Cursors<Place>,
) {
  return { total, ...(next !== undefined && { next_cursor: cursors.write(seal, next, toFilters(request)) }) };
}

/** Returns the filters of a request as text, the same in whatever order they were given. */
function toFilters({ limit: _limit, cursor: _cursor, ...filters }: PagedRequest): string {
  return JSON.stringify(filters, (_, value) => {
    if (Array.isArray(value)) return value.toSorted();
    return typeof value === 'object' && value !== null ? Object.entries(value).sort() : value;
  });
}
