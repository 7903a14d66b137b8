import type { Filter } from '@memoryd/contract';
import type { MemoryFilter } from '../ports/storage-memories.ts';
import { toMs } from './timestamp.ts';

/** The filter of a request as storage takes it. */
export function toMemoryFilter(filter: Filter): MemoryFilter {
  return {
    ...(filter.tag && { tags: filter.tag }),
    ...(filter.tier && { tier: filter.tier }),
    ...(filter.session_id !== undefined && { sessionId: filter.session_id }),
    ...(filter.source !== undefined && { source: filter.source }),
    ...(filter.since !== undefined && { since: toMs(filter.since, 'since') }),
    ...(filter.until !== undefined && { until: toMs(filter.until, 'until') }),
    ...(filter.metadata && { metadata: filter.metadata }),
  };
}
