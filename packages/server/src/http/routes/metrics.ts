import { Type } from '@memoryd/contract/typebox';
import type { Readings } from '../../metrics/gauges.ts';
import { OPENMETRICS_CONTENT_TYPE, PLAIN_CONTENT_TYPE } from '../../metrics/metrics.ts';
import { answers } from '../answers.ts';
import { maxResidentBytes } from '../overload/pressure.ts';
import { NoQuery } from './parameters.ts';
import type { App, Route, Served } from './route.ts';

const asText = (description: string) => ({ schema: Type.String({ description }) });

const MetricsText = {
  description: 'Samples in a text exposition format.',
  content: {
    'text/plain': asText('Seven samples, one a line.'),
    'application/openmetrics-text': asText('The same samples and more, typed and described.'),
  },
};

const config = { access: 'metrics' } as const;

export const metrics: Route = (app, served) => {
  const schema = {
    operationId: 'metrics',
    summary: 'Samples for a scraper',
    description: 'Of all namespaces together.',
    tags: ['service'],
    querystring: NoQuery,
    response: { ...answers(Type.String()), 200: MetricsText },
  };
  app.get('/metrics', { schema, config }, async (request, reply) => {
    if (request.headers.accept?.includes('application/openmetrics-text')) {
      reply.type(OPENMETRICS_CONTENT_TYPE);
      return served.metrics.openMetrics(await getReadings(app, served));
    }
    reply.type(PLAIN_CONTENT_TYPE);
    return served.metrics.plain(await served.engine.namespaces.totals());
  });
};

async function getReadings(app: App, { engine, settings }: Served): Promise<Readings> {
  const [stats, namespaces, problem, condition] = await Promise.all([
    engine.namespaces.totals(),
    engine.namespaces.list(),
    engine.databaseProblem(),
    engine.databaseCondition(),
  ]);
  return {
    stats,
    isHealthy: problem === undefined,
    condition,
    fullestWorkingCount: namespaces.reduce((most, { working_count }) => Math.max(most, working_count), 0),
    embedder: engine.embedder().state,
    settings,
    load: {
      requestsUnderWay: app.requestsUnderWay().length,
      heavyWork: app.heavyWork,
      eventStreams: app.eventStreams(),
      connections: app.connectionCount(),
      maxResidentBytes: maxResidentBytes(settings.memoryLimitMb),
    },
  };
}
