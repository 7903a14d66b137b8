import type { HttpClient } from '../http-client.ts';
import { type Figures, rounded } from './figures.ts';

/** How often the server's monitor looks, in milliseconds: a loop that nothing holds is seen that late. */
const SAMPLING_MS = 10;

/** Adds to a step's figures for how long the server's event loop was held while it ran, at the 99th percentile. */
export async function withLoopDelay(client: HttpClient, measure: () => Promise<Figures>): Promise<Figures> {
  // A scrape starts the measurement anew.
  await client.metric(METRIC);
  const figures = await measure();
  const delayS = await client.metric(METRIC);
  return { ...figures, loop_p99_ms: delayS === undefined ? null : rounded(Math.max(0, delayS * 1000 - SAMPLING_MS)) };
}

const METRIC = 'service_nodejs_eventloop_lag_p99_seconds';
