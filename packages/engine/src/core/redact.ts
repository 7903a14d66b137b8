import { assertValid, type Check, type Metadata, type RedactedSecrets } from '@memoryd/contract';
import type { Redactor } from '../ports/redactor.ts';

/** What a client sends of a memory and is kept; ids are none of it. */
interface Texts {
  content?: string;
  tags?: string[] | null;
  source?: string | null;
  metadata?: Metadata | null;
}

/** A request without its secrets, and what they were; nothing where there were none. */
export interface Redacted<Request> {
  request: Request;
  redacted?: RedactedSecrets[];
}

/**
 * A valid request, without the secrets in its texts where there is a redactor. INVALID_REQUEST too where a text has
 * become too long without them.
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

function redactRequest<Request extends Texts>(redactor: Redactor, request: Request): Redacted<Request> {
  const counts = new Map<string, number>();
  const { content, tags, source, metadata } = request;
  const cleaned = {
    ...request,
    ...(content !== undefined && { content: redact(content) }),
    ...(tags && { tags: tags.map((tag) => redact(tag)) }),
    ...(source && { source: redact(source) }),
    ...(metadata && { metadata: redactValue(metadata) as Metadata }),
  };
  if (counts.size === 0) return { request };
  return { request: cleaned, redacted: Array.from(counts, ([kind, count]) => ({ kind, count })) };

  function redact(text: string, name?: string): string {
    const { text: without, kinds } = redactor.redact(text, name);
    for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return without;
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
    const without = redact(text, name);
    return without === text ? value : without;
  }

  // Names may hold secrets too; of two that are then equal, both stay.
  function redactFields(fields: [string, unknown][]): Record<string, unknown> {
    const taken = new Set<string>();
    const cleanedFields = fields.map(([field, value]) => {
      const name = redact(field);
      let free = name;
      for (let n = 2; taken.has(free); n++) free = `${name} ${n}`;
      taken.add(free);
      return [free, redactValue(value, field)] as const;
    });
    return Object.fromEntries(cleanedFields);
  }
}
