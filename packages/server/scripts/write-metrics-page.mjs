// Writes docs/reference/metrics.md from the metrics of the built package.
import { writeFileSync } from 'node:fs';
import { metricsPage } from '../dist/reference-pages/metrics.js';

writeFileSync(new URL('../../../docs/reference/metrics.md', import.meta.url), metricsPage());
