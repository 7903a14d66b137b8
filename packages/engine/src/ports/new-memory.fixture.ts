import type { NewMemory } from './storage-memories.ts';

/** A memory to store that is plain but for these fields: of the namespace `default`, and stored when it happened. */
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
    createdAt,
    storedAt: createdAt,
    expiresAt: null,
    supersedes: null,
    ...fields,
  };
}
