/** Wall clock. `now` returns milliseconds since 1970-01-01T00:00:00Z. The core reads the wall-clock time only here. */
export interface Clock {
  now(): number;
}

/** Generates unique ids: no two calls, on any machine, return the same text. */
export interface IdSource {
  next(): string;
}

/**
 * Encrypts short texts, such as page cursors, so that callers cannot read or forge them. Deterministic: the same text
 * and purpose give the same result in every process that has the same database open.
 */
export interface Seal {
  seal(text: string, purpose: string): string;
  /** Decrypts a text. Returns undefined unless `seal` made the text for the same purpose and database. */
  open(sealed: string, purpose: string): string | undefined;
}

/** A log event: a component, an event name in snake case, and its facts. */
export interface TelemetryEvent {
  level: 'debug' | 'info' | 'warn' | 'error';
  component: string;
  event: string;
  /** Names in snake case with the unit last, such as `latency_ms`. Never contains the text of a memory. */
  facts?: Record<string, string | number | boolean | null>;
  /** The error that was thrown, if any. */
  error?: unknown;
}

/** Receives log events for operators. `report` never throws and never blocks. */
export interface Telemetry {
  report(event: TelemetryEvent): void;
}
