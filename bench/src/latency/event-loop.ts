import type { HttpClient } from '../http-client.ts';
import { type Figures, roundFigure } from './figures.ts';

/** Sampling interval of the server's monitor. An idle event loop is reported with this delay. */
const SAMPLING_MS = 10;

/** Adds `loop_p99_ms` to a step's figures: the 99th percentile of the server's event loop delay. */
export async function withLoopDelay(client: HttpClient, measure: () => Promise<Figures>): Promise<Figures> {
  // A scrape resets the server's histogram.
  await client.metric(METRIC);
  const figures = await measure();
  const delayS = await client.metric(METRIC);
  return {
    ...figures,
    loop_p99_ms: delayS === undefined ? null : roundFigure(Math.max(0, delayS * 1000 - SAMPLING_MS)),
  };
}

const METRIC = 'service_nodejs_eventloop_lag_p99_seconds';
