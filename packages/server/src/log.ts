import type { DistillerOption, EmbedderOption, Telemetry, TelemetryEvent } from '@memoryd/engine';
import pino, { type DestinationStream } from 'pino';
import { variableOf } from './settings/names.ts';
import type { Settings } from './settings/read.ts';

/** Bytes of records that may wait for a slow reader of the log; later ones are dropped. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** Longest wait for a reader of the log at the end of the process. */
const END_LIMIT_MS = 1000;

export type LogOutput = ReturnType<typeof pino.destination>;

/** One of the standard streams, written behind the caller's back. */
export function logOutput(stream: 'stdout' | 'stderr'): LogOutput {
  return pino.destination({ dest: stream === 'stdout' ? 1 : 2, sync: false, maxLength: MAX_WAITING_BYTES });
}

/** Resolved when all records are written, or given up because nobody reads them; the output takes no more. */
export function endOutput(output: LogOutput): Promise<void> {
  return new Promise((resolve) => {
    output.once('close', resolve);
    setTimeout(resolve, END_LIMIT_MS);
    output.end();
  });
}

/**
 * Telemetry as structured log records: one JSON object a line with timestamp, level, component, event and the facts.
 *
 * @param settings the least level to log, and whether records carry the text of queries
 */
export function logTelemetry(
  settings: Pick<Settings, 'logLevel' | 'logQueries'>,
  destination: DestinationStream,
): Telemetry {
  const logger = pino(
    {
      level: settings.logLevel,
      base: null,
      timestamp: () => `,"timestamp":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label.toUpperCase() }) },
      serializers: { error: pino.stdSerializers.errWithCause },
    },
    destination,
  );
  return {
    report(event) {
      logger[event.level](recordOf(event, settings.logQueries));
    },
  };
}

/** What a record says of an event beside its time and level. */
export function recordOf(
  { component, event, facts, error }: TelemetryEvent,
  logQueries: boolean,
): Record<string, unknown> {
  const { query, option, ...others } = facts ?? {};
  return {
    component,
    event,
    ...others,
    // The engine names what to look at by its own option, whoever operates the server by the variable.
    ...(option !== undefined && { setting: variableOf(option as EmbedderOption | DistillerOption) }),
    ...(query !== undefined && logQueries && { query }),
    ...(error !== undefined && { error }),
  };
}
