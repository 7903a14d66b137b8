import { assertValid, createCheck, FacetsRequest, type FacetsResponse, LIMITS } from '@memoryd/contract';
import { toListFilter } from '../request-filter.ts';
import type { Core } from './core.ts';

const check = createCheck(FacetsRequest, 'request');
const DEFAULT_LIMIT = 20;

/** See `MemoryApi.facets`. */
export async function facets(core: Core, namespace: string, request: FacetsRequest): Promise<FacetsResponse> {
  assertValid(check, request);
  const filter = toListFilter(request);
  const { field, prefix, limit = DEFAULT_LIMIT } = request;
  const selection = { field, prefix, limit };
  const { values, total, isPartial } = await core.counts.get(namespace, ['facets', filter, selection], () =>
    core.storage.facet(namespace, filter, selection, core.clock.now()),
  );
  return { values, total, ...(isPartial && { counted_count: LIMITS.countedMemories }) };
}
