// Writes docs/reference/http.md from what the built service says of itself.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildApp } from '../dist/http/app.js';
import { createMetrics } from '../dist/metrics/metrics.js';
import { openDatabase } from '../dist/open-database.js';
import { httpPage } from '../dist/reference-pages/http.js';
import { readSettings } from '../dist/settings/read.js';

const folder = mkdtempSync(join(tmpdir(), 'memoryd-page-'));
const settings = readSettings(
  { embedder: 'none', consolidationIntervalSeconds: '0', dbPath: join(folder, 'memory.db') },
  {},
);
const telemetry = { report: () => {} };
const engine = await openDatabase(settings, telemetry);
const app = await buildApp({ settings, engine, metrics: createMetrics(), telemetry });
const page = httpPage((await app.inject('/openapi.json')).json());
writeFileSync(new URL('../../../docs/reference/http.md', import.meta.url), page);
await app.close();
await engine.close();
rmSync(folder, { recursive: true });
