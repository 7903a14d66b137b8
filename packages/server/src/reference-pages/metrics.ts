import { createMetrics } from '../metrics/metrics.ts';
import { markdownTable } from './markdown-table.ts';

/** Returns the reference page of all metrics in Markdown. */
export function metricsPage(): string {
  const rows = createMetrics().descriptions.map(({ name, type, labels, help }) => [
    `\`${name}\``,
    type,
    getUnit(name),
    labels.map((label) => `\`${label}\``).join(', '),
    help,
  ]);
  return `<!-- Written by \`npm run metrics-page --workspace memoryd\`; edit packages/server/src/metrics instead. -->
# Metrics

\`GET /metrics\` returns seven samples as plain text, one per line. A scraper that requests OpenMetrics, as Prometheus does
by default, gets all metrics below with types and descriptions. The request needs an API key with the scope \`metrics\` or
\`operate\` if the service requires keys. Values cover all namespaces. Alert rules and a dashboard are in
[deploy](../../deploy); the [guide](../guide/monitoring.md) explains their use.

${markdownTable(['Name', 'Type', 'Unit', 'Labels', 'Meaning'], rows)}

Labels have few values: \`route\` is a pattern such as \`/session/:session_id\`, or \`unmatched\`; \`status\` is an HTTP status;
\`code\` is an [error code](errors.md). No label contains request data, a namespace or a key.

The default metrics of prom-client for the Node process are named \`service_process_…\` and \`service_nodejs_…\`: CPU time,
resident memory, open files, event loop delay and garbage collection.
`;
}

/** Returns the unit of a metric, according to the suffix of its name; an empty text for counts. */
function getUnit(name: string): string {
  if (name === 'service_consolidation_last_run') return 'seconds since 1970';
  if (name.endsWith('_seconds')) return 'seconds';
  if (name.endsWith('_bytes')) return 'bytes';
  return name.endsWith('_ms') ? 'milliseconds' : '';
}
