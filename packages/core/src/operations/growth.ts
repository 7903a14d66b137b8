import { assertValid, createCheck, GrowthRequest, type GrowthResponse, LIMITS } from '@memoryd/contract';
import { toListFilter } from '../request-filter.ts';
import { toTimestamp } from '../time.ts';
import type { Core } from './core.ts';
import { toAsked } from './recall.ts';

const check = createCheck(GrowthRequest, 'request');

/** See `MemoryApi.growth`. */
export async function growth(core: Core, namespace: string, request: GrowthRequest): Promise<GrowthResponse> {
  assertValid(check, request);
  const filter = toListFilter(request);
  const { step, field, timezone } = request;
  const selection = {
    step,
    timezone: toAsked(core, { ...(timezone !== undefined && { timezone }) }).zone,
    ...(field && { field }),
  };
  const { steps, values, total } = await core.counts.get(namespace, ['growth', filter, selection], () =>
    core.storage.growthSteps(namespace, filter, selection, core.clock.now()),
  );
  return {
    steps: steps.map(({ from, ...counts }) => ({ from: toTimestamp(from), ...counts })),
    total,
    ...(values && { values, ...(total > LIMITS.countedMemories && { counted_count: LIMITS.countedMemories }) }),
  };
}
