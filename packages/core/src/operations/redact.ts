import { assertValid, type Check, type Metadata, type RedactedSecrets } from '@memoryd/contract';
import type { Redactor } from '../ports/redactor.ts';

/** The fields of a request that are redacted. Ids are not redacted. */
export interface Texts {
  content?: string;
  tags?: string[] | null;
  source?: string | null;
  metadata?: Metadata | null;
  attachment?: string | null;
}

/** A request without its secrets. `redacted` lists the removed secrets; absent if the request had none. */
export interface Redacted<Request> {
  request: Request;
  redacted?: RedactedSecrets[];
}

/**
 * Checks a request and removes the secrets from its texts if there is a redactor. Throws INVALID_REQUEST for an invalid
 * request, and for a text that is too long after redaction.
 */
export function acceptRequest<Request extends Texts>(
  redactor: Redactor | undefined,
  check: Check,
  request: Request,
): Redacted<Request> {
  assertValid(check, request);
  if (!redactor) return { request };
  const accepted = redactRequest(redactor, request);
  if (accepted.redacted) assertValid(check, accepted.request);
  return accepted;
}

/** Removes the secrets from the texts of a request. */
export function redactRequest<Request extends Texts>(redactor: Redactor, request: Request): Redacted<Request> {
  const counts = new Map<string, number>();
  const { content, tags, source, metadata, attachment } = request;
  const redactedRequest = {
    ...request,
    ...(content !== undefined && { content: redact(content) }),
    ...(tags && { tags: tags.map((tag) => redact(tag)) }),
    ...(source && { source: redact(source) }),
    ...(metadata && { metadata: redactValue(metadata) as Metadata }),
    ...(attachment && { attachment: redactJson(attachment) }),
  };
  if (counts.size === 0) return { request };
  return { request: redactedRequest, redacted: Array.from(counts, ([kind, count]) => ({ kind, count })) };

  function redact(text: string, name?: string): string {
    const { text: redacted, kinds } = redactor.redact(text, name);
    for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return redacted;
  }

  // The values of JSON are redacted one by one, so that the result is JSON too.
  function redactJson(text: string): string {
    try {
      const value: unknown = JSON.parse(text);
      const redacted = JSON.stringify(redactValue(value));
      return redacted === JSON.stringify(value) ? text : redacted;
    } catch {
      // Not JSON, or JSON with too many levels for the stack.
      return redact(text);
    }
  }

  function redactValue(value: unknown, name?: string): unknown {
    if (typeof value === 'string') return redact(value, name);
    if (typeof value === 'number') return redactNumber(value, name);
    if (Array.isArray(value)) return value.map((item) => redactValue(item, name));
    if (value === null || typeof value !== 'object') return value;
    return redactFields(Object.entries(value));
  }

  function redactNumber(value: number, name?: string): unknown {
    const text = String(value);
    const redacted = redact(text, name);
    return redacted === text ? value : redacted;
  }

  // Field names may contain secrets too. If two names are equal after redaction, the second name gets a number, so that
  // both fields stay.
  function redactFields(fields: [string, unknown][]): Record<string, unknown> {
    const used = new Set<string>();
    const redactedFields = fields.map(([field, value]) => {
      const name = redact(field);
      let unique = name;
      for (let n = 2; used.has(unique); n++) unique = `${name} ${n}`;
      used.add(unique);
      return [unique, redactValue(value, field)] as const;
    });
    return Object.fromEntries(redactedFields);
  }
}
