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
