import { ERRORS, type ErrorCode } from '@memoryd/contract';
import { Counter, Histogram } from 'prom-client';
import type { Registers } from './registers.ts';

/** One answered HTTP request. `route` is the pattern that matched, never a caller's text. */
export interface RequestObservation {
  method: string;
  route: string;
  status: number;
  durationMs: number;
}

/** Observes answered requests. */
export function requestMetrics(registers: Registers): (request: RequestObservation) => void {
  const durations = new Histogram({
    name: 'service_http_request_duration_seconds',
    help: 'Time from the arrival of an HTTP request to the end of its answer.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  return ({ method, route, status, durationMs }) => durations.observe({ method, route, status }, durationMs / 1000);
}

/** Counts the errors that callers over HTTP were answered. */
export function errorMetrics(registers: Registers): (code: ErrorCode) => void {
  const errors = new Counter({
    name: 'service_errors_total',
    help: 'Errors that were answered over HTTP, by their code.',
    labelNames: ['code'],
    registers,
  });
  // A counter that first appears with its first error shows no increase.
  for (const code of Object.keys(ERRORS)) errors.inc({ code }, 0);
  return (code) => errors.inc({ code });
}
