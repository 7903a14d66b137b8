import type { DistillerOption, EmbedderOption, Telemetry, TelemetryEvent } from '@memoryd/engine';
import pino, { type DestinationStream } from 'pino';
import { getVariable } from './settings/names.ts';
import type { Settings } from './settings/read.ts';

/** Bytes of records that may wait for a slow reader of the log; later ones are dropped. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;

/** Longest wait for a reader of the log at the end of the process. */
const END_LIMIT_MS = 1000;

/** Where records of the log go. */
export interface LogOutput extends DestinationStream {
  /** Resolved when all records are written, or given up because nobody reads them. */
  end(): Promise<void>;
}

/**
 * One of the standard streams, as a log that holds up nobody: what the stream does not take, as its disk is full or its
 * reader has gone, is dropped. Where it is a pipe, no thread waits for the reader, as one would that the end of the
 * process then waits for.
 */
export function logOutput(name: 'stdout' | 'stderr'): LogOutput {
  const stream = process[name];
  // A standard stream takes more after an error, such as when its disk has room again.
  stream.on('error', () => {});
  return {
    write(record) {
      if (stream.writableLength < MAX_WAITING_BYTES) stream.write(record);
    },
    end() {
      return new Promise((resolve) => {
        stream.write('', () => resolve());
        setTimeout(resolve, END_LIMIT_MS);
      });
    },
  };
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
      logger[event.level](toRecord(event, settings.logQueries));
    },
  };
}

/** What a record says of an event beside its time and level. */
export function toRecord(
  { component, event, facts, error }: TelemetryEvent,
  logQueries: boolean,
): Record<string, unknown> {
  const { query, option, ...others } = facts ?? {};
  return {
    component,
    event,
    ...others,
    // The engine names what to look at by its own option, whoever operates the server by the variable.
    ...(option !== undefined && { setting: getVariable(option as EmbedderOption | DistillerOption) }),
    ...(query !== undefined && logQueries && { query }),
    ...(error !== undefined && { error }),
  };
}
