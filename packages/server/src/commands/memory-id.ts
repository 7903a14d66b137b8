import { MEMORY_ID_PART, type MemoryApi } from '@memoryd/contract';
import { UsageError } from '../usage-error.ts';

/** Maximum number of matching ids that an error lists. */
const MAX_MATCHES = 5;

const WHOLE_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const ID_PART = new RegExp(MEMORY_ID_PART);

/** Help text of an argument that is resolved by `resolveId`. */
export const MEMORY_ID_HELP = 'id of the memory, or its first or last characters, at least 4';

/**
 * Returns the full id of the memory whose id begins or ends with `part`. Returns `part` unchanged if it is a full id,
 * has fewer than 4 or more than 36 characters, has a character that ids do not have, or matches no memory.
 *
 * @throws UsageError if several ids match
 */
export async function resolveId(api: MemoryApi, part: string): Promise<string> {
  if (WHOLE_ID.test(part) || !ID_PART.test(part)) return part;
  const { memories, total } = await api.memories({ id: part, limit: MAX_MATCHES });
  const ids = memories.map(({ id }) => id);
  if (total <= 1) return ids[0] ?? part;
  throw new UsageError(
    `id must match one memory, but ${part} matches ${total}: ${ids.join(', ')}${total > ids.length ? ', …' : ''}; ` +
      'give more characters, or the whole id',
  );
}

/** Resolves a shortened memory id in `supersedes` to the full id. */
export async function withWholeIds<Request extends { supersedes?: string | null }>(
  api: MemoryApi,
  request: Request,
): Promise<Request> {
  const { supersedes } = request;
  return typeof supersedes === 'string' ? { ...request, supersedes: await resolveId(api, supersedes) } : request;
}
