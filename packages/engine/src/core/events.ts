import { assertValid, checkOf, EventsRequest, type MemoryEvent } from '@memoryd/contract';
import type { Core } from './core.ts';

const check = checkOf(EventsRequest, 'request');

/** See `MemoryApi.events`. */
export function events(
  core: Core,
  namespace: string,
  request: EventsRequest = {},
  signal?: AbortSignal,
): AsyncIterable<MemoryEvent> {
  assertValid(check, request);
  return core.events.follow(namespace, request, signal);
}
