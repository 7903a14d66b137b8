import type { NewMemory } from '@memoryd/core';

/**
 * Returns a memory to store with default values except for `fields`: in the namespace `default`, and stored at its time
 * of creation.
 */
export function newMemory(fields: Partial<NewMemory> & Pick<NewMemory, 'id'>): NewMemory {
  const createdAt = fields.createdAt ?? 1;
  return {
    namespace: 'default',
    content: `content of ${fields.id}`,
    tags: [],
    importance: 0.5,
    source: 'api',
    sessionId: 'default',
    userId: '',
    agentId: '',
    metadata: {},
    externalId: null,
    createdAt,
    storedAt: createdAt,
    expiresAt: null,
    validFrom: null,
    validTo: null,
    supersedes: null,
    ...fields,
  };
}
