import { Type } from '@memoryd/contract/typebox';
import type { Readings } from '../../metrics/gauges.ts';
import { OPENMETRICS_CONTENT_TYPE, PLAIN_CONTENT_TYPE } from '../../metrics/metrics.ts';
import { maxResidentBytes } from '../overload/pressure.ts';
import { createResponseSchemas } from '../response-schemas.ts';
import { NoQuery } from './parameters.ts';
import type { App, Route, RouteContext } from './route.ts';

const toTextSchema = (description: string) => ({ schema: Type.String({ description }) });

const MetricsText = {
  description: 'Samples in a text exposition format.',
  content: {
    'text/plain': toTextSchema('Seven samples, one per line.'),
    'application/openmetrics-text': toTextSchema('All metrics with their types and descriptions.'),
  },
};

const config = { access: 'metrics' } as const;

export const metrics: Route = (app, context) => {
  const schema = {
    operationId: 'getMetrics',
    summary: 'Get the metrics of the service',
    description: 'The values cover all namespaces.',
    tags: ['service'],
    querystring: NoQuery,
    response: { ...createResponseSchemas(Type.String()), 200: MetricsText },
  };
  app.get('/metrics', { schema, config }, async (request, reply) => {
    if (request.headers.accept?.includes('application/openmetrics-text')) {
      reply.type(OPENMETRICS_CONTENT_TYPE);
      return context.metrics.openMetrics(await getReadings(app, context));
    }
    reply.type(PLAIN_CONTENT_TYPE);
    return context.metrics.plain(await context.engine.namespaces.totals());
  });
};

async function getReadings(app: App, { engine, settings }: RouteContext): Promise<Readings> {
  const [stats, namespaces, { problem }, condition] = await Promise.all([
    engine.namespaces.totals(),
    engine.namespaces.list(),
    engine.databaseState(),
    engine.databaseCondition(),
  ]);
  return {
    stats,
    isHealthy: problem === undefined,
    condition,
    fullestWorkingCount: namespaces.reduce((maximum, { working_count }) => Math.max(maximum, working_count), 0),
    embedder: engine.embedder().state,
    reranker: engine.reranker().state,
    settings,
    load: {
      pendingRequests: app.pendingRequests().length,
      heavyWork: app.heavyWork,
      eventStreams: app.eventStreams(),
      connections: app.connectionCount(),
      maxResidentBytes: maxResidentBytes(settings.memoryLimitMb),
    },
  };
}
