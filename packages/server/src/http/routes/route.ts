import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { MemoryApi } from '@memoryd/contract';
import type { Engine, Telemetry } from '@memoryd/engine';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest, RawServerDefault } from 'fastify';
import type { HookActivity } from '../../hooks/activity.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { Settings } from '../../settings/read.ts';
import type { Gate } from '../access.ts';

/** The application with typed requests: their types follow from the schemas of the routes. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

/** Dependencies of the routes. */
export interface RouteContext {
  engine: Engine;
  /** Returns the API for the memories that the caller of a request can access. */
  getApi(request: FastifyRequest): MemoryApi;
  gate: Gate;
  /** Counts an additional operation inside one HTTP request against the rate limit of its key. */
  countExtraRequest(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  hookActivity: HookActivity;
  metrics: Metrics;
  telemetry: Telemetry;
  settings: Pick<
    Settings,
    | 'dbSizeAlertMb'
    | 'database'
    | 'importMaxMb'
    | 'redact'
    | 'redactImports'
    | 'memoryLimitMb'
    | 'corsOrigins'
    | 'maxBodyBytes'
    | 'maxBatchBodyBytes'
    | 'slowClientSeconds'
    | 'timezone'
    | 'workingMax'
    | 'consolidationIntervalSeconds'
  >;
}

/** Registers one or more routes. The config of a route names the `access` that the route requires. */
export type Route = (app: App, context: RouteContext) => void;
