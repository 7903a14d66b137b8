import type { NewMemory } from '../../ports/storage-memories.ts';

/** A new memory as its row is written. Semantic memories have no session. */
export type NewRow = Omit<NewMemory, 'sessionId' | 'idempotency'> & { sessionId: string | null };
