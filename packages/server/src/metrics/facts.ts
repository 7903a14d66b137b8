/** The facts of a telemetry event, by name. */
export type Facts = Record<string, unknown>;

export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
