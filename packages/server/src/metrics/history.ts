import { createHistogram } from 'node:perf_hooks';
import { type MemoryApi, STATS_HISTORY, type StatsPeriod } from '@memoryd/contract';
import type { TelemetryEvent } from '@memoryd/engine';
import { isNumber } from './facts.ts';

const PERIOD_MS = STATS_HISTORY.periodSeconds * 1000;

type Counts = Pick<StatsPeriod, 'recalls' | 'stores' | 'errors'>;

/** The rates and latencies of the last 24 hours, in periods of five minutes. Lasts as long as the process. */
export interface MetricsHistory {
  observe(event: TelemetryEvent): void;
  countError(): void;
  /** Wraps an API so that the memories are counted that clients store or import. */
  countStores(api: MemoryApi): MemoryApi;
  /** Returns the periods, oldest first, without gaps. The last one has not ended. */
  read(): StatsPeriod[];
}

export function createMetricsHistory(): MetricsHistory {
  const ended: StatsPeriod[] = [];
  let startMs = getPeriodStart();
  let counts = getNoCounts();
  /** Latencies of the current period in microseconds, with three significant digits. */
  const latencies = createHistogram();

  const toPeriod = (): StatsPeriod => {
    const toMs = (percentile: number) => (counts.recalls === 0 ? null : latencies.percentile(percentile) / 1000);
    return { at: new Date(startMs).toISOString(), ...counts, p50_ms: toMs(50), p99_ms: toMs(99) };
  };
  /** Ends the periods that are over. Without effect if the clock was set back. */
  const advance = (): void => {
    const nowMs = getPeriodStart();
    if (nowMs <= startMs) return;
    ended.push(toPeriod());
    counts = getNoCounts();
    latencies.reset();
    const firstMs = nowMs - (STATS_HISTORY.maxPeriods - 1) * PERIOD_MS;
    for (startMs = Math.max(startMs + PERIOD_MS, firstMs); startMs < nowMs; startMs += PERIOD_MS)
      ended.push(toPeriod());
    const firstKept = ended.findIndex(({ at }) => Date.parse(at) >= firstMs);
    ended.splice(0, firstKept < 0 ? ended.length : firstKept);
  };
  const countStored = <Response>(response: Response, count: number): Response => {
    advance();
    counts.stores += count;
    return response;
  };

  return {
    observe({ event, facts }) {
      if (event !== 'query_completed' || !isNumber(facts?.latency_ms)) return;
      advance();
      counts.recalls++;
      latencies.record(Math.max(1, Math.round(facts.latency_ms * 1000)));
    },
    countError() {
      advance();
      counts.errors++;
    },
    countStores: (api) => ({
      ...api,
      store: async (...args) => countStored(await api.store(...args), 1),
      async storeBatch(...args) {
        const response = await api.storeBatch(...args);
        return countStored(response, response.stored_count);
      },
      async importMemories(...args) {
        const response = await api.importMemories(...args);
        return countStored(response, response.imported_count);
      },
      async importTexts(...args) {
        const response = await api.importTexts(...args);
        return countStored(response, response.imported_count);
      },
    }),
    read() {
      advance();
      return [...ended, toPeriod()];
    },
  };
}

const getNoCounts = (): Counts => ({ recalls: 0, stores: 0, errors: 0 });

const getPeriodStart = (): number => Math.floor(Date.now() / PERIOD_MS) * PERIOD_MS;
