import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { MemoryApi } from '@memoryd/contract';
import type { Engine, Telemetry } from '@memoryd/engine';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest, RawServerDefault } from 'fastify';
import type { Metrics } from '../../metrics/metrics.ts';
import type { Settings } from '../../settings/read.ts';
import type { Gate } from '../access.ts';

/** The application as routes see it: requests have the types of their schemas. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** What the routes serve. */
export interface Served {
  engine: Engine;
  /** The memories of whoever calls, as far as they may see them. */
  getApi(request: FastifyRequest): MemoryApi;
  gate: Gate;
  /** Counts what a request holds beside its first against the rate of its key. */
  countAnother(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  metrics: Metrics;
  telemetry: Telemetry;
  settings: Pick<
    Settings,
    | 'dbSizeAlertMb'
    | 'memoryLimitMb'
    | 'corsOrigins'
    | 'maxBodyBytes'
    | 'maxBatchBodyBytes'
    | 'slowClientSeconds'
    | 'workingMax'
    | 'consolidationIntervalSeconds'
  >;
}

/** Adds one verb's routes to the application; each says in its config what `access` it asks of callers. */
export type Route = (app: App, served: Served) => void;
