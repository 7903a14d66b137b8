import type { OpenMetricsContentType, Registry } from 'prom-client';

/** The registry for the metrics of one process, as prom-client expects it. */
export type Registers = [Registry<OpenMetricsContentType>];
