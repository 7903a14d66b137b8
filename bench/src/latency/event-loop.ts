import type { HttpClient } from '../http-client.ts';
import { type Figures, roundFigure } from './figures.ts';

/** Sampling interval of the server's event loop monitor, which adds the interval to each delay. */
const SAMPLING_MS = 10;

/** Adds `loop_p99_ms` to a step's figures: the 99th percentile of the server's event loop delay. */
export async function withLoopDelay(client: HttpClient, measure: () => Promise<Figures>): Promise<Figures> {
  // Scrapes the metrics, because a scrape resets the server's delay histogram.
  await client.metric(METRIC);
  const figures = await measure();
  const delayS = await client.metric(METRIC);
  return {
    ...figures,
    loop_p99_ms: delayS === undefined ? null : roundFigure(Math.max(0, delayS * 1000 - SAMPLING_MS)),
  };
}

const METRIC = 'service_nodejs_eventloop_lag_p99_seconds';
