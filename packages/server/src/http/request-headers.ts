import {
  createCheck,
  type EventsRequest,
  invalidRequest,
  LIMITS,
  type MemoryError,
  type StoreOptions,
  type WriteCondition,
} from '@memoryd/contract';
import { Type } from '@memoryd/contract/typebox';
import type { FastifyRequest } from 'fastify';

export const StoreHeaders = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: LIMITS.idempotencyKeyChars,
      description:
        'Makes the request safe to retry: for 24 hours, the same key with the same body returns the first response.',
      'x-must': `be a text of 1 to ${LIMITS.idempotencyKeyChars} characters`,
    }),
  ),
});

/** Headers of an update or a deletion of one memory. */
export const WriteHeaders = Type.Object({
  'If-Match': Type.Optional(
    Type.String({
      pattern: '^(\\*|(W/)?"[!#-~]*"([ \\t]*,[ \\t]*(W/)?"[!#-~]*")*)$',
      description:
        'Entity tags of the versions that the caller has read, or `*`. The write happens only if one matches.',
    }),
  ),
});

export const EventsHeaders = Type.Object({
  'Last-Event-ID': Type.Optional(Type.String({ description: 'The id of the last event that the client received.' })),
});

const checkStoreHeaders = createCheck(StoreHeaders, 'headers');

/**
 * Reads the options of a store request from its headers.
 *
 * @throws MemoryError INVALID_REQUEST for an idempotency key that is empty, too long or sent twice
 */
export function readStoreOptions(request: FastifyRequest): StoreOptions {
  const keys = getValues(request, 'idempotency-key');
  const [key] = keys;
  if (key === undefined) return {};
  const wrong =
    keys.length > 1
      ? [{ path: '/Idempotency-Key', message: 'Idempotency-Key must be given once' }]
      : checkStoreHeaders({ 'Idempotency-Key': key });
  if (wrong.length > 0) throw invalidRequest(wrong);
  return { idempotencyKey: key };
}

/**
 * Returns the id of the last event that the client received. Uses the last of several headers, and ignores an empty id.
 */
export function readLastEventId(request: FastifyRequest): Pick<EventsRequest, 'last_event_id'> {
  const id = getValues(request, 'last-event-id').at(-1);
  return id ? { last_event_id: id } : {};
}

// RFC 9110, section 8.8.3: an entity tag is an optional W/ and an opaque text in double quotes.
const ENTITY_TAG = /^(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"/;
const VERSION = /^[1-9][0-9]{0,14}$/;

/**
 * Reads the condition of a write from `If-Match` (RFC 9110, section 13.1.1). `*` matches any version. Weak tags, and
 * tags that the service never issued, match no version.
 *
 * @throws MemoryError INVALID_REQUEST for a header that is neither `*` nor a list of entity tags
 */
export function readWriteCondition(request: FastifyRequest): WriteCondition {
  const values = getValues(request, 'if-match');
  if (values.length === 0) return {};
  const text = values.join(',').trim();
  return text === '*' ? {} : { ifVersions: parseStrongVersions(text) };
}

/** Returns the entity tag of a version, including its double quotes. */
export function entityTag(version: number): string {
  return `"${version}"`;
}

/**
 * Returns whether `If-None-Match` matches a version (RFC 9110, section 13.1.2): `*` or the version's tag, weak or not.
 * A malformed header matches nothing, so that the memory is returned.
 */
export function isKnown(request: FastifyRequest, version: number): boolean {
  const text = getValues(request, 'if-none-match').join(',');
  const tags = text.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(entityTag(version));
}

function parseStrongVersions(list: string): number[] {
  const versions: number[] = [];
  let tags = 0;
  for (let rest = list; rest !== ''; ) {
    const tag = ENTITY_TAG.exec(rest);
    const separator = /^[ \t]*(,[ \t]*|$)/.exec(rest.slice(tag?.[0].length ?? 0));
    if (!separator) throw createIfMatchError();
    if (tag) tags += 1;
    if (tag?.[1] === undefined && tag?.[2] !== undefined && VERSION.test(tag[2])) versions.push(Number(tag[2]));
    rest = rest.slice((tag?.[0].length ?? 0) + separator[0].length);
  }
  if (tags === 0) throw createIfMatchError();
  return versions;
}

function createIfMatchError(): MemoryError {
  const message = 'If-Match must be * or entity tags in double quotes, separated by commas';
  return invalidRequest([{ path: '/If-Match', message }]);
}

/**
 * Returns all values of a header in order of arrival. Reads the raw headers, because Node's parsed headers join
 * repeated headers or contain only the first.
 *
 * @param name the name in lower case
 */
export function getValues(request: FastifyRequest, name: string): string[] {
  const { rawHeaders } = request.raw;
  return rawHeaders.filter((_value, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
}

/** Returns the media type of a request's body in lower case, without parameters; an empty text without Content-Type. */
export function getMediaType(request: FastifyRequest): string {
  const [contentType = ''] = getValues(request, 'content-type');
  const [mediaType = ''] = contentType.split(';');
  return mediaType.trim().toLowerCase();
}

/**
 * Returns true if an Accept header lists `text/html`, which browsers do, with a weight above 0. See RFC 9110, section
 * 12.5.1.
 */
export function acceptsHtml(accept = ''): boolean {
  return accept.split(',').some((range) => {
    const [type, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return type === 'text/html' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
