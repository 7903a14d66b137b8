import { CURSOR_MUST, DEFAULTS, invalidRequest } from '@memoryd/contract';
import type { Seal } from './ports/runtime.ts';
import type { Page, PageRequest, Position, SessionPlace } from './ports/storage-memories.ts';

/** The items of a list that a cursor is valid for: the namespace, and the filters as values of JSON. */
export interface Selection {
  namespace: string;
  filters?: object;
}

/**
 * Writes and reads the cursors of one kind of list. Cursors are sealed, since a plain position would reveal the number
 * of rows in the whole database. A cursor is valid only for the same kind of list and an equal selection.
 */
export interface Cursors<Place> {
  write(seal: Seal, place: Place, selection: Selection): string;
  /** Throws INVALID_REQUEST for a text that `write` did not create for the same kind of list and selection. */
  read(seal: Seal, cursor: string, selection: Selection): Place;
}

/** Creates cursors for a list sorted by (createdAt, ordinal). */
export function positionCursors(kind: string): Cursors<Position> {
  return createCursors(
    kind,
    ({ createdAt, ordinal }) => `${createdAt}.${pad(ordinal)}`,
    (text) => {
      const [createdAt, ordinal] = text.split('.').map(Number) as [number, number];
      return { createdAt, ordinal };
    },
  );
}

/** Creates cursors for a list whose page positions are integers from 0. */
export function numberCursors(kind: string): Cursors<number> {
  return createCursors(kind, pad, Number);
}

/** Creates cursors for a list whose page positions are texts. */
export function textCursors(kind: string): Cursors<string> {
  return createCursors(kind, String, String);
}

/**
 * Creates cursors for a list of sessions. U+0000 separates the session id from the user id, since no id contains
 * U+0000.
 */
export function sessionPlaceCursors(kind: string): Cursors<SessionPlace> {
  return createCursors(
    kind,
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
  kind: string,
  toText: (place: Place) => string,
  toPlace: (text: string) => Place,
): Cursors<Place> {
  return {
    write: (seal, place, selection) => seal.seal(toText(place), toPurpose(kind, selection)),
    read(seal, cursor, selection) {
      const text = seal.open(cursor, toPurpose(kind, selection));
      if (text !== undefined) return toPlace(text);
      throw invalidRequest([{ path: '/cursor', message: `cursor must ${CURSOR_MUST}` }]);
    },
  };
}

/**
 * Returns the text that binds a seal to a kind of list and a selection. The text is equal for equal selections, and
 * differs for all others: the order of fields, and the order and number of equal items in an array, do not matter.
 */
export function toPurpose(kind: string, { namespace, filters = {} }: Selection): string {
  return JSON.stringify({ kind, namespace, filters }, toOrdered);
}

function toOrdered(_: string, value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value)].sort();
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The parts of the engine that pages need: the seal of cursors, and the maximum bytes of JSON in one response. */
interface Paging {
  seal: Seal;
  maxAnswerBytes: number;
}

/** The fields of a request that select a page of a list. */
interface PagedRequest {
  limit?: number;
  cursor?: string;
}

/**
 * Converts a request into the page request of storage. Throws INVALID_REQUEST for a cursor that was not created for the
 * same kind of list and selection.
 */
export function pageRequest<Place>(
  { seal, maxAnswerBytes }: Paging,
  { limit = DEFAULTS.pageItems, cursor }: PagedRequest,
  cursors: Cursors<Place>,
  selection: Selection,
): PageRequest<Place> {
  return {
    limit,
    maxBytes: maxAnswerBytes,
    ...(cursor !== undefined && { after: cursors.read(seal, cursor, selection) }),
  };
}

/**
 * Returns the fields of a response that follow its items: the total over all pages, and the cursor of the next page.
 */
export function pageEnd<Place>(
  { seal }: Pick<Paging, 'seal'>,
  { total, next }: Page<unknown, Place>,
  cursors: Cursors<Place>,
  selection: Selection,
) {
  return { total, ...(next !== undefined && { next_cursor: cursors.write(seal, next, selection) }) };
}
