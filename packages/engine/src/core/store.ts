import {
  checkOf,
  DEFAULTS,
  invalidRequest,
  isKeepable,
  LIMITS,
  MemoryError,
  type RedactedSecrets,
  type StoreOptions,
  StoreRequest,
  type StoreResponse,
} from '@memoryd/contract';
import type { NewMemory, StoreOutcome } from '../ports/storage-memories.ts';
import type { Core } from './core.ts';
import { quotaExceeded } from './quota.ts';
import { acceptRequest } from './redact.ts';
import { requestDigest } from './request-digest.ts';
import { toMs } from './timestamp.ts';

const check = checkOf(StoreRequest, 'body');

/** See `MemoryApi.store`. */
export async function store(
  core: Core,
  namespace: string,
  request: StoreRequest,
  options: StoreOptions = {},
): Promise<StoreResponse> {
  const { request: accepted, redacted } = acceptRequest(core.redactor, check, request);
  const key = checkedKey(options);
  const memory = newMemory(core, namespace, accepted);
  if (key !== undefined) memory.idempotency = { key, digest: await requestDigest(accepted) };
  const stored = await core.storage.store(memory);
  if (stored.outcome === 'stored') {
    core.events.publishMemories(namespace, 'stored', [memory.id]);
    await core.embedding?.stored([{ ordinal: stored.ordinal, revision: 1, content: memory.content }]);
  }
  return answerOf(stored, memory, redacted);
}

/** The memory that a valid request asks to keep. INVALID_REQUEST for times outside the years that can be written. */
export function newMemory(core: Core, namespace: string, request: StoreRequest): NewMemory {
  const now = core.arrivals.now();
  return {
    namespace,
    id: core.ids.next(),
    content: request.content,
    tags: [...new Set(request.tags ?? [])],
    importance: request.importance ?? DEFAULTS.importance,
    source: request.source ?? DEFAULTS.source,
    sessionId: request.session_id ?? DEFAULTS.sessionId,
    metadata: request.metadata ?? {},
    createdAt: request.created_at === undefined ? now : toMs(request.created_at, 'created_at'),
    storedAt: now,
    expiresAt: request.expires_at === undefined ? null : toMs(request.expires_at, 'expires_at'),
    supersedes: request.supersedes ?? null,
  };
}

/** What a caller is answered; throws where the memory was not kept. */
export function answerOf(stored: StoreOutcome, memory: NewMemory, redacted?: RedactedSecrets[]): StoreResponse {
  switch (stored.outcome) {
    case 'stored':
      return { id: memory.id, status: 'stored', ...(redacted && { redacted }) };
    case 'repeated':
      return { id: stored.id, status: 'stored', ...(redacted && { redacted }) };
    case 'conflict':
      throw new MemoryError('CONFLICT', 'the idempotency key was used with another request');
    case 'over-quota':
      throw quotaExceeded(stored);
    case 'superseded-unknown':
      throw invalidRequest([{ path: '/supersedes', message: 'supersedes must be the id of a memory' }]);
  }
}

/** The idempotency key, where there is one. INVALID_REQUEST when it is empty, too long or cannot be kept. */
export function checkedKey({ idempotencyKey: key }: StoreOptions): string | undefined {
  if (key === undefined) return undefined;
  const length = [...key].length;
  const isGoodLength = length >= 1 && length <= LIMITS.idempotencyKeyChars;
  if (isGoodLength && isKeepable(key)) return key;
  const must = isGoodLength
    ? 'not contain U+0000 or a lone surrogate'
    : `be a string of 1 to ${LIMITS.idempotencyKeyChars} characters`;
  throw invalidRequest([{ path: '/Idempotency-Key', message: `Idempotency-Key must ${must}` }]);
}
