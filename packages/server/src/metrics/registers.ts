import type { OpenMetricsContentType, Registry } from 'prom-client';

/** Where the metrics of one process are kept. */
export type Registers = [Registry<OpenMetricsContentType>];
