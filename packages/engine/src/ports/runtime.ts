/** The time, in milliseconds since 1970-01-01T00:00:00Z, and the only way that the core learns it. */
export interface Clock {
  now(): number;
}

/** A source of identities: each call answers a text that no call on any machine answered before. */
export interface IdSource {
  next(): string;
}

/**
 * Makes of a text one that tells nothing of it, and reads it again. The same text for the same purpose always gives the
 * same one where the same database is open.
 */
export interface Seal {
  seal(text: string, purpose: string): string;
  /** Undefined for a text that was never made here for this purpose. */
  open(sealed: string, purpose: string): string | undefined;
}

/** One thing that happened, for the log: a component, an event name in snake case, and its facts. */
export interface TelemetryEvent {
  level: 'debug' | 'info' | 'warn' | 'error';
  component: string;
  event: string;
  /** Facts in snake case with the unit last, such as `latency_ms`; never the text of a memory. */
  facts?: Record<string, string | number | boolean | null>;
  /** What was thrown, where something was. */
  error?: unknown;
}

/** Facts reported to whoever operates the service. Reporting never throws and never blocks. */
export interface Telemetry {
  report(event: TelemetryEvent): void;
}
