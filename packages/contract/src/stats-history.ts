import { timestamp } from './field.ts';
import Type from './typebox.ts';

/** Seconds of one period of the history. */
const PERIOD_SECONDS = 300;

/** Maximum periods of the history: 24 hours. */
const MAX_PERIODS = (24 * 60 * 60) / PERIOD_SECONDS;

export const STATS_HISTORY = { periodSeconds: PERIOD_SECONDS, maxPeriods: MAX_PERIODS } as const;

const Latency = (percent: number) =>
  Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
    description: `Latency in milliseconds that ${percent} % of the recalls stayed below. Null without recalls.`,
  });

/** Counts and latencies of one period. */
export const StatsPeriod = Type.Object({
  at: timestamp('Start of the period.'),
  recalls: Type.Integer({ minimum: 0, description: 'Number of recalls.' }),
  stores: Type.Integer({ minimum: 0, description: 'Number of memories that clients stored or imported.' }),
  errors: Type.Integer({ minimum: 0, description: 'Number of HTTP error responses.' }),
  p50_ms: Latency(50),
  p99_ms: Latency(99),
});
export type StatsPeriod = Type.Static<typeof StatsPeriod>;

export const StatsHistoryResponse = Type.Object({
  period_seconds: Type.Integer({ minimum: 1, description: 'Length of a period.' }),
  periods: Type.Array(StatsPeriod, {
    maxItems: MAX_PERIODS,
    description: 'Oldest first, without gaps. The last period has not ended.',
  }),
});
export type StatsHistoryResponse = Type.Static<typeof StatsHistoryResponse>;
