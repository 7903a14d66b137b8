import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { MemoryApi } from '@memoryd/contract';
import type { Engine, Telemetry } from '@memoryd/engine';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { Metrics } from '../metrics.ts';
import type { Settings } from '../settings.ts';

/** The application as routes see it: requests have the types of their schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** What the routes serve. */
interface Served {
  engine: Engine;
  /** The memories of callers without a key. */
  api: MemoryApi;
  metrics: Metrics;
  telemetry: Telemetry;
  settings: Pick<Settings, 'corsOrigins' | 'maxBodyBytes' | 'maxBatchBodyBytes'>;
}

/** Adds one verb's routes to the application. */
export type Route = (app: App, served: Served) => void;
