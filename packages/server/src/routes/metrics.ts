import { Type } from '@fastify/type-provider-typebox';
import { answers } from '../answers.ts';
import { OPENMETRICS_CONTENT_TYPE, PLAIN_CONTENT_TYPE } from '../metrics.ts';
import { NoQuery } from './parameters.ts';
import type { Route } from './route.ts';

const asText = (description: string) => ({ schema: Type.String({ description }) });

const MetricsText = {
  description: 'Samples in a text exposition format.',
  content: {
    'text/plain': asText('Seven samples, one a line.'),
    'application/openmetrics-text': asText('The same samples and more, typed and described.'),
  },
};

const config = { access: 'operate' } as const;

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
    const stats = await served.engine.namespaces.totals();
    const wantsOpenMetrics = request.headers.accept?.includes('application/openmetrics-text') ?? false;
    reply.type(wantsOpenMetrics ? OPENMETRICS_CONTENT_TYPE : PLAIN_CONTENT_TYPE);
    return wantsOpenMetrics ? served.metrics.openMetrics(stats) : served.metrics.plain(stats);
  });
};
