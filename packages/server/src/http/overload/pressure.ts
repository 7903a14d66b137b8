import { getHeapStatistics } from 'node:v8';
import underPressure from '@fastify/under-pressure';
import { MemoryError } from '@memoryd/contract';
import type { FastifyInstance } from 'fastify';
import { getAvailableBytes } from '../../machine-memory.ts';
import { ALWAYS_SERVED } from './connections.ts';

/**
 * Default limit of the event loop delay. Above this limit, callers wait for seconds, because a request needs many loop
 * iterations.
 */
const DEFAULT_LATE_LOOP_MS = 1000;

/** Time after the start in which loop delay is ignored: the start itself is one long iteration. */
const STARTUP_GRACE_MS = 3000;

/**
 * Maximum share of V8's heap limit. Close to the limit, V8 spends most time on garbage collection, and then crashes.
 */
const MAX_HEAP_SHARE = 0.85;

/** Maximum resident share of the memory if no limit is set. Above this share, the system may kill the process. */
const MAX_RESIDENT_SHARE = 0.9;

export interface PressureLimits {
  /** Maximum resident memory, in megabytes; 0 for nine tenths of the memory of the machine or container. */
  memoryLimitMb: number;
  /** Mean event loop delay over one second above which requests are refused, in milliseconds; default 1000. */
  lateLoopMs?: number | undefined;
}

/**
 * Refuses requests as UNAVAILABLE while the process is overloaded or uses too much memory, except requests to
 * `ALWAYS_SERVED`.
 */
export async function refuseUnderPressure(
  app: FastifyInstance,
  { memoryLimitMb, lateLoopMs = DEFAULT_LATE_LOOP_MS }: PressureLimits,
): Promise<void> {
  let isStarting = true;
  app.addHook('onListen', (done) => {
    setTimeout(() => {
      isStarting = false;
    }, STARTUP_GRACE_MS).unref();
    done();
  });
  await app.register(underPressure, {
    maxEventLoopDelay: lateLoopMs,
    maxHeapUsedBytes: MAX_HEAP_SHARE * getHeapStatistics().heap_size_limit,
    maxRssBytes: maxResidentBytes(memoryLimitMb),
    pressureHandler({ routeOptions: { url = '' } }, _reply, type) {
      const isLate = type === underPressure.TYPE_EVENT_LOOP_DELAY;
      // A single pending request cannot be the cause of the delay: other programs may be using the processors.
      const isAlone = app.pendingRequests().length === 1;
      if (ALWAYS_SERVED.includes(url) || (isLate && (isStarting || isAlone))) return;
      throw new MemoryError('UNAVAILABLE', REASONS[type] ?? OVERLOADED);
    },
  });
}

const OVERLOADED = 'the service is overloaded; retry later';

const REASONS: Record<string, string> = {
  [underPressure.TYPE_EVENT_LOOP_DELAY]: OVERLOADED,
  [underPressure.TYPE_HEAP_USED_BYTES]: 'the heap is nearly full; retry later',
  [underPressure.TYPE_RSS_BYTES]: 'the memory limit is reached; retry later, or raise SERVICE_MEMORY_LIMIT_MB',
};

/** Returns the resident memory in bytes above which requests are refused. See `PressureLimits.memoryLimitMb`. */
export function maxResidentBytes(memoryLimitMb: number): number {
  return memoryLimitMb > 0 ? memoryLimitMb * 1e6 : MAX_RESIDENT_SHARE * getAvailableBytes();
}
