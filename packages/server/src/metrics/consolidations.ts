import type { TelemetryEvent } from '@memoryd/engine';
import { Counter, Histogram } from 'prom-client';
import { type Facts, isNumber } from './facts.ts';
import type { Registers } from './registers.ts';

const OUTCOMES = ['completed', 'reverted', 'undone', 'failed'] as const;
type Outcome = (typeof OUTCOMES)[number];

/** Registers metrics of consolidation runs, and returns the function that updates the metrics from telemetry events. */
export function consolidationMetrics(registers: Registers): (event: TelemetryEvent) => void {
  const runs = new Counter({
    name: 'service_consolidations_total',
    help:
      'Consolidation runs in this process by outcome: completed, reverted by their own check, undone by a client, or ' +
      'failed (automatic runs only).',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of OUTCOMES) runs.inc({ outcome }, 0);
  const durations = new Histogram({
    name: 'service_consolidation_duration_seconds',
    help: 'Duration of completed consolidation runs.',
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600],
    registers,
  });
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  const consolidated = counter('service_consolidated_memories_total', 'Memories that were promoted or distilled.');
  const evicted = counter('service_evicted_memories_total', 'Memories that consolidation evicted from recall.');
  return ({ event, facts = {} }) => {
    const outcome = getOutcome(event);
    if (!outcome) return;
    runs.inc({ outcome });
    if (outcome !== 'completed') return;
    durations.observe(numberIn(facts, 'latency_ms') / 1000);
    consolidated.inc(numberIn(facts, 'consolidated_count'));
    evicted.inc(numberIn(facts, 'evicted_count'));
  };
}

function getOutcome(event: string): Outcome | undefined {
  return OUTCOMES.find((outcome) => event === `consolidation_${outcome}`);
}

function numberIn(facts: Facts, name: string): number {
  const value = facts[name];
  return isNumber(value) ? value : 0;
}
