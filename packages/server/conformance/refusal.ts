import type { ErrorResponse, MemoriesResponse } from '@memoryd/contract';
import { expect } from 'vitest';
import { type EventReader, readEvents } from './event-reader.ts';
import type { Answer, Request } from './http.ts';
import { eventually } from './process.ts';
import type { RunningServer } from './server.ts';
import type { Client } from './under-test.ts';

/** Every error code and its HTTP status. */
export const STATUS = {
  INVALID_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  UNAVAILABLE: 503,
} as const;

/** The expected error of a request. */
export interface ExpectedError {
  /** INVALID_REQUEST if absent. */
  code?: keyof typeof STATUS;
  /** The field that the message must name and that the JSON pointer of a detail must lead to. */
  field?: string;
}

/** Internals that no error may expose: stack frames, source files, SQL. */
const INTERNALS = /\n\s+at |node_modules|\.js:\d+|\.ts:\d+|SQLITE|SqliteError|\bSELECT\b|\bINSERT\b/;

/** Asserts that a response is this error and has the shape of all errors. */
export function expectError(answer: Answer, { code = 'INVALID_REQUEST', field }: ExpectedError = {}): void {
  expect(answer.status, answer.text.slice(0, 400)).toBe(STATUS[code]);
  expect(answer.headers['content-type']).toMatch(/^application\/json\b/);
  const { error, ...rest } = answer.body as ErrorResponse;
  expect(rest, 'an error response has only the field "error"').toEqual({});
  expect(error.code).toBe(code);
  expect(error.message).toMatch(/\S/);
  expect(error.request_id).toMatch(/\S/);
  expect(error.request_id).toBe(answer.headers['x-request-id']);
  expect(answer.text).not.toMatch(INTERNALS);
  for (const detail of error.details ?? []) {
    expect(Object.keys(detail).sort()).toEqual(['message', 'path']);
    expect(detail.path).toMatch(/^(\/.*)?$/s);
    expect(detail.message).toMatch(/\S/);
  }
  if (field === undefined) return;
  expect(error.message).toContain(field);
  const pointer = `/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  const paths = (error.details ?? []).map((detail) => detail.path);
  expect(
    paths.some((path) => path === pointer || path.startsWith(`${pointer}/`)),
    `details point to ${JSON.stringify(paths)}, none to ${pointer}`,
  ).toBe(true);
}

/** A stream of the events of each server and observer, opened with the first refusal. The server ends it when it stops. */
const streams = new WeakMap<RunningServer, Map<string, Promise<EventReader>>>();

function getEventStream({ server }: Client, observer: Record<string, string>): Promise<EventReader> {
  const ofServer = streams.get(server) ?? new Map<string, Promise<EventReader>>();
  streams.set(server, ofServer);
  const key = JSON.stringify(observer);
  const opened = ofServer.get(key) ?? readEvents(server.port, '', undefined, observer);
  ofServer.set(key, opened);
  return opened;
}

/**
 * Sends a request, and asserts that it is refused with this error and that nothing happened: no memory, session, user or
 * run was added, changed or removed, and no event was published. Returns the response.
 *
 * @param observer headers of requests that read the counts and the events of the namespace
 */
export async function expectRefused<Body>(
  client: Client,
  request: Request,
  expected: ExpectedError = {},
  observer: Record<string, string> = {},
): Promise<Answer<Body>> {
  const stream = await getEventStream(client, observer);
  // The stream begins with a field, so its subscription has begun.
  await eventually('the event stream', 20_000, () => (stream.text() === '' ? undefined : true));
  const before = await getCounts(client, observer);
  const seen = stream.events().length;
  const answer = await client.send<Body>(request);
  expectError(answer, expected);
  expect(await getCounts(client, observer), 'counts after a refused request').toEqual(before);
  // An event would have been written before the counts were read.
  expect(stream.events().slice(seen), 'events of a refused request').toEqual([]);
  return answer;
}

/**
 * Returns the numbers of memories by tier, of pending texts, sessions, users and runs, and the last changed memory
 * without its uses: the service writes the use of a recalled memory after the response, so that an earlier recall may
 * change them.
 */
async function getCounts(client: Client, headers: Record<string, string>): Promise<unknown[]> {
  const read = <Body>(path: string) => client.ok<Body>({ path, headers });
  const [{ db_size_mb, next_sleep_at, ...counts }, { memories, ...page }, ...lists] = await Promise.all([
    read<Record<string, unknown>>('/stats'),
    read<MemoriesResponse>('/memories?limit=1'),
    ...['/sessions?limit=1', '/users?limit=1', '/consolidations?limit=1'].map((path) => read<object>(path)),
  ]);
  const withoutUses = memories.map(({ access_count, accessed_at, retention, ...memory }) => memory);
  return [counts, withoutUses, page, ...lists];
}
