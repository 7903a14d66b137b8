export type { Engine, EngineOptions } from './engine.ts';
export { openEngine } from './open-engine.ts';
export type { Clock } from './ports/clock.ts';
export type { Telemetry, TelemetryEvent } from './ports/telemetry.ts';
