import { type ImportTextsRequest, MemoryError } from '@memoryd/contract';
import type { Core } from './core.ts';

/** A running import. Call `leave` once, when it has ended or failed. */
interface RunningImport {
  id: string;
  leave(): void;
}

/** Begins or continues an import. Throws CONFLICT if an undo of the same content has not ended. */
export async function beginImport(
  core: Pick<Core, 'storage' | 'ids' | 'clock' | 'runningImports'>,
  namespace: string,
  { from, name, content_key, user_id = '', agent_id = '' }: ImportTextsRequest,
): Promise<RunningImport> {
  const begun = await core.storage.beginImport(namespace, {
    id: core.ids.next(),
    userId: user_id,
    agentId: agent_id,
    format: from,
    ...(name !== undefined && { name }),
    ...(content_key !== undefined && { contentKey: content_key }),
    startedAt: core.clock.now(),
  });
  if (begun.outcome === 'begun') return { id: begun.id, leave: core.runningImports.enter(namespace, begun.id) };
  throw new MemoryError(
    'CONFLICT',
    `the undo of the import ${begun.id} of the same content has not ended; undo it again, then import`,
  );
}
