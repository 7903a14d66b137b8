import { assertValid, createCheck, DEFAULTS, FacetsRequest, type FacetsResponse, LIMITS } from '@memoryd/contract';
import { toListFilter } from '../request-filter.ts';
import type { Core } from './core.ts';

const check = createCheck(FacetsRequest, 'request');

/** See `MemoryApi.facets`. */
export async function facets(core: Core, namespace: string, request: FacetsRequest): Promise<FacetsResponse> {
  assertValid(check, request);
  const filter = toListFilter(request);
  const { field, prefix, limit = DEFAULTS.facetValues } = request;
  const selection = { field, prefix, limit };
  const { values, total, isPartial } = await core.counts.get(namespace, ['facets', filter, selection], () =>
    core.storage.facet(namespace, filter, selection, core.clock.now()),
  );
  return { values, total, ...(isPartial && { counted_count: LIMITS.countedMemories }) };
}
