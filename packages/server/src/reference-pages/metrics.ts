import { createMetrics } from '../metrics/metrics.ts';
import { markdownTable } from './markdown-table.ts';

/** The reference page of all metrics, in Markdown as the formatter leaves it. */
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

\`GET /metrics\` answers the seven samples of the REST interface, one a line. A scraper that asks for OpenMetrics, as
Prometheus does by itself, gets the same samples typed and described, and all of these. It needs a key of scope
\`metrics\` or \`operate\` where the service needs keys; counts are over all namespaces. Rules for alerts and a dashboard are in
[deploy](../../deploy), how to use them in the [guide](../guide/monitoring.md).

${markdownTable(['Name', 'Type', 'Unit', 'Labels', 'Meaning'], rows)}

Labels have few values: \`route\` is a pattern such as \`/session/:session_id\`, or \`unmatched\`; \`status\` is a status that the
service answers; \`code\` is one of [the errors](errors.md). No label holds what a caller sent, a namespace or a key.

The Node process adds its own (prom-client's defaults) as \`service_process_…\` and \`service_nodejs_…\`: processor time,
resident memory, open files, delay of the event loop, garbage collection.
`;
}

/** The unit that the end of a name tells; none for what is counted. */
function getUnit(name: string): string {
  if (name === 'service_consolidation_last_run') return 'seconds since 1970';
  if (name.endsWith('_seconds')) return 'seconds';
  if (name.endsWith('_bytes')) return 'bytes';
  return name.endsWith('_ms') ? 'milliseconds' : '';
}
