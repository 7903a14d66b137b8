import type { TelemetryEvent } from '@memoryd/engine';
import { Counter } from 'prom-client';
import { isNumber } from './facts.ts';
import type { Registers } from './registers.ts';

/** Counts connections that made room or were refused, from the events that report them. */
export function connectionMetrics(registers: Registers): (event: TelemetryEvent) => void {
  const counter = (name: string, help: string) => new Counter({ name, help, registers });
  const closed = counter(
    'service_connections_closed_total',
    'Idle connections that were closed to make room for others.',
  );
  const refused = counter('service_connections_refused_total', 'Connections for which there was no room.');
  return ({ event, facts = {} }) => {
    if (event !== 'too_many_connections') return;
    if (isNumber(facts.closed)) closed.inc(facts.closed);
    if (isNumber(facts.refused)) refused.inc(facts.refused);
  };
}
