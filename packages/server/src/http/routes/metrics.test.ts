import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEngine } from '@memoryd/engine';
import { expect, it } from 'vitest';
import { createMetrics } from '../../metrics/metrics.ts';
import { engineSettings } from '../../settings/engine-settings.ts';
import { readSettings } from '../../settings/read.ts';
import { buildApp } from '../app.ts';

const telemetry = { report: () => {} };

it('GET /metrics returns the working memory count of the fullest namespace, to which the maximum applies', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-metrics-'));
  const settings = readSettings({ embedder: 'none', consolidationIntervalSeconds: '0', workingMax: '50' }, {});
  const engine = await openEngine({ ...engineSettings(settings), dbPath: join(folder, 'memory.db'), telemetry });
  const app = await buildApp({ settings, engine, metrics: createMetrics(), telemetry });
  for (const namespace of ['kitchen', 'travel', 'kitchen'])
    await engine.namespace(namespace).store({ content: 'kept' });
  const { body } = await app.inject({ url: '/metrics', headers: { accept: 'application/openmetrics-text' } });
  expect(body).toContain('\nservice_working_memory_entries 3\n');
  expect(body).toContain('\nservice_working_memory_fullest_entries 2\n');
  expect(body).toContain('\nservice_working_memory_max_entries 50\n');
  expect(body).toContain('\nservice_consolidation_interval_seconds 0\n');
  expect(body).toContain('\nservice_embedder_state{state="off"} 1\n');
  expect(body).toContain('\nservice_heavy_requests_waiting{kind="recall"} 0\n');
  await app.close();
  await engine.close();
  rmSync(folder, { recursive: true });
});
