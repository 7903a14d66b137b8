import type { TelemetryEvent } from '@memoryd/engine';
import { Counter } from 'prom-client';
import { isNumber } from './facts.ts';
import type { Registers } from './registers.ts';

/**
 * Registers counters of closed and refused connections, and returns the function that updates the counters from
 * telemetry events.
 */
export function connectionMetrics(registers: Registers): (event: TelemetryEvent) => void {
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  const closed = counter(
    'service_connections_closed_total',
    'Idle connections that were closed because a new connection exceeded a limit.',
  );
  const refused = counter(
    'service_connections_refused_total',
    'Connections that were refused because a limit was reached and no connection was idle.',
  );
  return ({ event, facts = {} }) => {
    if (event !== 'too_many_connections') return;
    if (isNumber(facts.closed)) closed.inc(facts.closed);
    if (isNumber(facts.refused)) refused.inc(facts.refused);
  };
}
