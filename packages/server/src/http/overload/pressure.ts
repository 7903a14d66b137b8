import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';
import underPressure from '@fastify/under-pressure';
import { MemoryError } from '@memoryd/contract';
import type { FastifyInstance } from 'fastify';
import { ALWAYS_SERVED } from './connections.ts';

/** A late event loop, in milliseconds: every caller waits for seconds then, since a request takes many turns of the loop. */
const LATE_LOOP_MS = 1000;

/** Time after the start in which the event loop may be late: the start itself is measured, and is one long turn. */
const STARTING_MS = 3000;

/** Part of V8's heap limit that may be in use; near all of it V8 does little but collect, and then ends the process. */
const HEAP_PART = 0.85;

/** Part of the memory that may be resident where no limit is set; beyond, the system may end the process. */
const RESIDENT_PART = 0.9;

export interface PressureLimits {
  /** The memory that the process may hold, in megabytes; 0 for a part of what the machine has. */
  memoryLimitMb: number;
  /** Average lateness of the event loop over a second from which requests are refused, in milliseconds; default 1000. */
  lateLoopMs?: number | undefined;
}

/** Makes requests UNAVAILABLE while the process has too much to do or holds too much memory. */
export async function refuseUnderPressure(
  app: FastifyInstance,
  { memoryLimitMb, lateLoopMs = LATE_LOOP_MS }: PressureLimits,
): Promise<void> {
  let isStarting = true;
  app.addHook('onListen', (done) => {
    setTimeout(() => {
      isStarting = false;
    }, STARTING_MS).unref();
    done();
  });
  await app.register(underPressure, {
    maxEventLoopDelay: lateLoopMs,
    maxHeapUsedBytes: HEAP_PART * getHeapStatistics().heap_size_limit,
    maxRssBytes: maxResidentBytes(memoryLimitMb),
    pressureHandler({ routeOptions: { url = '' } }, _reply, type) {
      const isLate = type === underPressure.TYPE_EVENT_LOOP_DELAY;
      // A single request is not what there is too much of: other programs may hold the processors.
      const isAlone = app.requestsUnderWay().length === 1;
      if (ALWAYS_SERVED.includes(url) || (isLate && (isStarting || isAlone))) return;
      throw new MemoryError('UNAVAILABLE', REASONS[type] ?? 'the service has too much to do');
    },
  });
}

const REASONS: Record<string, string> = {
  [underPressure.TYPE_EVENT_LOOP_DELAY]: 'the service has too much to do',
  [underPressure.TYPE_HEAP_USED_BYTES]: 'the service holds too much in memory',
  [underPressure.TYPE_RSS_BYTES]: 'the service is at its limit of memory',
};

/** Returns the resident memory beyond which requests are refused; a limit of 0 is a part of what the machine has. */
export function maxResidentBytes(memoryLimitMb: number): number {
  return memoryLimitMb > 0 ? memoryLimitMb * 1e6 : RESIDENT_PART * availableBytes();
}

/** What the machine has, or the container where that gives less. */
function availableBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}
