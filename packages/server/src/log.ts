import type { DistillerOption, EmbedderOption, Telemetry, TelemetryEvent } from '@memoryd/engine';
import pino, { type DestinationStream } from 'pino';
import { getVariable } from './settings/names.ts';
import type { Settings } from './settings/read.ts';

/** Bytes of buffered records above which further records are dropped, because the reader of the log is too slow. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** Timeout for writing the rest of the log at the end of the process. */
const END_TIMEOUT_MS = 1000;

/** A destination of log records. */
export interface LogOutput extends DestinationStream {
  /** Resolves when all records are written, or after a timeout. */
  end(): Promise<void>;
}

/**
 * Returns a standard stream as a log destination that never waits for the reader of a pipe. Records are dropped if the
 * disk is full or the reader has closed the pipe. No worker thread writes the records: at exit, the process would wait
 * for that thread, and the thread for the reader of the pipe.
 */
export function logOutput(name: 'stdout' | 'stderr'): LogOutput {
  const stream = process[name];
  // A standard stream still accepts writes after an error, for example once a full disk has free space again.
  stream.on('error', () => {});
  return {
    write(record) {
      if (stream.writableLength < MAX_WAITING_BYTES) stream.write(record);
    },
    end() {
      return new Promise((resolve) => {
        stream.write('', () => resolve());
        setTimeout(resolve, END_TIMEOUT_MS);
      });
    },
  };
}

/**
 * Returns telemetry that writes log records: one JSON object a line with timestamp, level, component, event and facts.
 *
 * @param settings the minimum level, and whether records contain the text of queries
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
      logger[event.level](toRecord(event, settings.logQueries));
    },
  };
}

/**
 * Returns the fields of a log record, without its time and level. Omits the text of the query unless `logQueries` is
 * true.
 */
export function toRecord(
  { component, event, facts, error }: TelemetryEvent,
  logQueries: boolean,
): Record<string, unknown> {
  const { query, option, ...others } = facts ?? {};
  return {
    component,
    event,
    ...others,
    // Replaces the engine's option name with the environment variable, which operators know.
    ...(option !== undefined && { setting: getVariable(option as EmbedderOption | DistillerOption) }),
    ...(query !== undefined && logQueries && { query }),
    ...(error !== undefined && { error }),
  };
}
