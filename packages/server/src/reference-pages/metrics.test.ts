import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createMetrics } from '../metrics/metrics.ts';
import { metricsPage } from './metrics.ts';

it('docs/reference/metrics.md matches the output of `npm run metrics-page --workspace memoryd`', () => {
  const page = readFileSync(new URL('../../../../docs/reference/metrics.md', import.meta.url), 'utf8');
  expect(page).toBe(metricsPage());
});

it('every metric has its unit in its name, except counts', () => {
  const names = createMetrics().descriptions.map(({ name }) => name);
  const withoutUnit = names.filter(
    (name) => !/^service_[a-z_]+_(seconds|bytes|ms|total|entries|memories|embeddings)$/.test(name),
  );
  expect(withoutUnit).toEqual([
    'service_consolidation_last_run',
    'service_event_streams',
    'service_healthy',
    'service_connections',
    'service_connections_idle',
    'service_http_requests_under_way',
    'service_embedder_state',
    'service_reranker_state',
    'service_heavy_requests_running',
    'service_heavy_requests_waiting',
    'service_build_info',
  ]);
});
