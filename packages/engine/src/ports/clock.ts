/** The time, in milliseconds since 1970-01-01T00:00:00Z, and the only way that the core learns it. */
export interface Clock {
  now(): number;
}
