import type { TelemetryEvent } from '@memoryd/engine';
import { Histogram, Summary } from 'prom-client';
import { type Facts, isNumber } from './facts.ts';
import type { Registers } from './registers.ts';

const WINDOW_SECONDS = 300;
/** Number of steps in which the window slides. */
const WINDOW_STEPS = 5;
const QUANTILES = [0.5, 0.99];

const STAGES = ['embed', 'words', 'vectors', 'fuse', 'rerank', 'read'];

/** Registers metrics of the latency of recalls and of their stages, updated from `query_completed` events. */
export function recallMetrics(registers: Registers) {
  const queryLatency = new Summary({
    name: 'service_query_latency_ms',
    help: 'Latency of recalls over the last five minutes in milliseconds; 0 if there were none.',
    percentiles: QUANTILES,
    maxAgeSeconds: WINDOW_SECONDS,
    ageBuckets: WINDOW_STEPS,
    registers,
  });
  const observeStages = stageMetrics(registers);
  return {
    queryLatency,
    observe({ event, facts }: TelemetryEvent): void {
      if (event !== 'query_completed' || !facts) return;
      if (isNumber(facts.latency_ms)) queryLatency.observe(facts.latency_ms);
      observeStages(facts);
    },
  };
}

function stageMetrics(registers: Registers): (facts: Facts) => void {
  const durations = new Histogram({
    name: 'service_recall_stage_duration_seconds',
    help: `Duration of the stages of a recall (${STAGES.join(', ')}).`,
    labelNames: ['stage'],
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    registers,
  });
  const stages = STAGES.map((stage) => ({ fact: `${stage}_ms`, labels: { stage } }));
  return (facts) => {
    for (const { fact, labels } of stages) {
      const ms = facts[fact];
      if (isNumber(ms)) durations.observe(labels, ms / 1000);
    }
  };
}
