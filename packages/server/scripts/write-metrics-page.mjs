// Writes docs/reference/metrics.md from the metrics of the built package.
import { writeFileSync } from 'node:fs';
import { metricsPage } from '../dist/metrics/page.js';

writeFileSync(new URL('../../../docs/reference/metrics.md', import.meta.url), metricsPage());
