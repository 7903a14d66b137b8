import { ERRORS, type ErrorCode } from '@memoryd/contract';
import { Counter, Histogram } from 'prom-client';
import type { Registers } from './registers.ts';

/** One completed HTTP request. `route` is the pattern of the matched route, never the requested path. */
export interface RequestObservation {
  method: string;
  route: string;
  status: number;
  durationMs: number;
}

/** Registers the metric of request durations, and returns the function that observes a completed request. */
export function requestMetrics(registers: Registers): (request: RequestObservation) => void {
  const durations = new Histogram({
    name: 'service_http_request_duration_seconds',
    help: 'Time from the arrival of an HTTP request to the end of its response.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  return ({ method, route, status, durationMs }) => durations.observe({ method, route, status }, durationMs / 1000);
}

/** Registers the counter of HTTP error responses by code, and returns the function that counts one error response. */
export function errorMetrics(registers: Registers): (code: ErrorCode) => void {
  const errors = new Counter({
    name: 'service_errors_total',
    help: 'HTTP error responses, by error code.',
    labelNames: ['code'],
    registers,
  });
  // Initialized with 0: a counter that first appears with its first error shows no increase.
  for (const code of Object.keys(ERRORS)) errors.inc({ code }, 0);
  return (code) => errors.inc({ code });
}
