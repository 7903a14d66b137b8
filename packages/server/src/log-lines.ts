import { styleText } from 'node:util';
import type { DestinationStream } from 'pino';
import { toPrintable } from './commands/printable.ts';

/** A record of the log, parsed. See `logTelemetry`. */
interface LogRecord {
  level: string;
  timestamp: string;
  component: string;
  event: string;
  message?: string;
  error?: { message?: string; stack?: string };
  [field: string]: unknown;
}

/** Maximum number of additional fields that a log line shows. */
const MAX_FIELDS = 6;

const COLORS = { DEBUG: 'gray', INFO: 'reset', WARN: 'yellow', ERROR: 'red' } as const;

/** Returns a destination for JSON log records that writes each record as a readable line for a terminal. */
export function createReadableLog(destination: DestinationStream): DestinationStream {
  return { write: (record) => destination.write(toLogLine(JSON.parse(record) as LogRecord)) };
}

/**
 * Returns a log record as a line: the local time, the level unless it is INFO, the event, the message and the first
 * fields. For the level ERROR, the stack of the error follows. Control characters are escaped.
 */
function toLogLine({ level, timestamp, component: _, event, message, error, ...fields }: LogRecord): string {
  const time = new Date(timestamp).toTimeString().slice(0, 8);
  const name = `${level === 'INFO' ? '' : `${level} `}${event.replaceAll('_', ' ')}`;
  const title = [name, message, error?.message].filter((text) => text !== undefined).join(': ');
  const color = COLORS[level as keyof typeof COLORS] ?? COLORS.INFO;
  const details = toPrintable(toText(fields));
  const line = [styleText('dim', time), styleText(color, toPrintable(title))];
  if (details !== '') line.push(styleText('dim', details));
  const stack = level === 'ERROR' ? (error?.stack?.split('\n').slice(1) ?? []) : [];
  return `${[line.join(' '), ...stack.map(toPrintable)].join('\n')}\n`;
}

/** Formats the first `MAX_FIELDS` fields. Omits empty values, request ids, and durations other than the latency. */
function toText(fields: Record<string, unknown>): string {
  return Object.entries(fields)
    .filter(([name, value]) => value !== null && value !== '' && !/^(?!latency).*_ms$|^request_id$/.test(name))
    .slice(0, MAX_FIELDS)
    .map(
      ([name, value]) => `${name}=${typeof value === 'string' && /^\S+$/.test(value) ? value : JSON.stringify(value)}`,
    )
    .join(' ');
}
