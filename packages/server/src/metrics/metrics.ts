import type { ErrorCode, StatsResponse } from '@memoryd/contract';
import type { Telemetry } from '@memoryd/engine';
import { collectDefaultMetrics, type OpenMetricsContentType, Registry } from 'prom-client';
import { connectionMetrics } from './connections.ts';
import { consolidationMetrics } from './consolidations.ts';
import { createGauges, GAUGES_AFTER, GAUGES_BEFORE, type Readings } from './gauges.ts';
import { createMetricsHistory, type MetricsHistory } from './history.ts';
import { recallMetrics } from './recalls.ts';
import { errorMetrics, type RequestObservation, requestMetrics } from './requests.ts';

/** A metric as listed on the reference page. */
interface MetricDescription {
  name: string;
  type: string;
  labels: readonly string[];
  help: string;
}

/** The metrics of the process, formatted for scrapers. */
export interface Metrics {
  /** Observes events of recalls, consolidations and connections; ignores all other events. */
  telemetry: Telemetry;
  observeRequest(request: RequestObservation): void;
  countError(code: ErrorCode): void;
  history: Pick<MetricsHistory, 'countStores' | 'read'>;
  /** Returns the seven samples of the plain text format, one per line. */
  plain(stats: StatsResponse): Promise<string>;
  /** Returns all metrics with types and descriptions, in OpenMetrics 1.0. */
  openMetrics(readings: Readings): Promise<string>;
  /** All metrics of the service, without the metrics of the Node process. */
  descriptions: readonly MetricDescription[];
}

export const PLAIN_CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;
export const OPENMETRICS_CONTENT_TYPE = Registry.OPENMETRICS_CONTENT_TYPE;

export function createMetrics(): Metrics {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  const setGauges = createGauges([registry]);
  const recalls = recallMetrics([registry]);
  const observeConsolidation = consolidationMetrics([registry]);
  const observeConnections = connectionMetrics([registry]);
  const observeRequest = requestMetrics([registry]);
  const countError = errorMetrics([registry]);
  const history = createMetricsHistory();
  const descriptions = describe(registry);
  collectDefaultMetrics({ register: registry, prefix: 'service_' });

  return {
    telemetry: {
      report(event) {
        recalls.observe(event);
        observeConsolidation(event);
        observeConnections(event);
        history.observe(event);
      },
    },
    observeRequest,
    countError(code) {
      countError(code);
      history.countError();
    },
    history,
    async plain(stats) {
      const { values } = await recalls.queryLatency.get();
      const quantiles = values.filter(({ labels }) => labels.quantile !== undefined);
      return [
        ...GAUGES_BEFORE.map(([name, , read]) => `${name} ${read(stats)}\n`),
        ...quantiles.map(({ labels, value }) => `service_query_latency_ms{quantile="${labels.quantile}"} ${value}\n`),
        ...GAUGES_AFTER.map(([name, , read]) => `${name} ${read(stats)}\n`),
      ].join('');
    },
    openMetrics(readings) {
      setGauges(readings);
      return registry.metrics();
    },
    descriptions,
  };
}

/**
 * The fields of the library's metrics at run time. The library's types lack the labels and declare the type as a
 * number.
 */
type RegisteredMetric = Omit<MetricDescription, 'labels'> & { labelNames: readonly string[] };

function describe(registry: Registry<OpenMetricsContentType>): MetricDescription[] {
  return (registry.getMetricsAsArray() as unknown as RegisteredMetric[]).map(({ name, type, help, labelNames }) => ({
    name,
    type,
    help,
    labels: labelNames,
  }));
}
