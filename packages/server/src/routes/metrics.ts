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

export const metrics: Route = (app, served) => {
  const schema = {
    operationId: 'metrics',
    summary: 'Samples for a scraper',
    tags: ['service'],
    querystring: NoQuery,
    response: { ...answers(Type.String()), 200: MetricsText },
  };
  app.get('/metrics', { schema }, async (request, reply) => {
    const stats = await served.api.stats();
    const wantsOpenMetrics = request.headers.accept?.includes('application/openmetrics-text') ?? false;
    reply.type(wantsOpenMetrics ? OPENMETRICS_CONTENT_TYPE : PLAIN_CONTENT_TYPE);
    return wantsOpenMetrics ? served.metrics.openMetrics(stats) : served.metrics.plain(stats);
  });
};
