import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEngine } from '@memoryd/engine';
import Fastify from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { HookActivity } from '../../hooks/activity.ts';
import { createMetrics } from '../../metrics/metrics.ts';
import { engineSettings } from '../../settings/engine-settings.ts';
import { readSettings } from '../../settings/read.ts';
import { createGate } from '../access.ts';
import { limitResponses } from '../overload/bytes-in-flight.ts';
import { limitHeavyWork } from '../overload/heavy-work.ts';
import { compileValidator } from '../validation.ts';
import { mcp } from './mcp.ts';
import type { App } from './route.ts';

const LIMIT_BYTES = 100_000;
const CONTENT = 'x'.repeat(LIMIT_BYTES / 10);

/** Starts the route with its own database and a small response budget. */
async function listen() {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-mcp-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const settings = readSettings({ embedder: 'none', consolidationIntervalSeconds: '0' }, {});
  const telemetry = { report: () => {} };
  const engine = await openEngine({ ...engineSettings(settings), dbPath: join(folder, 'memory.db'), telemetry });
  onTestFinished(() => engine.close());
  const app: App = Fastify({ routerOptions: { querystringParser: (raw) => ({ raw }) } });
  app.setValidatorCompiler(compileValidator);
  onTestFinished(() => app.close());
  app.decorateRequest('caller');
  app.addHook('onRequest', async (request) => {
    request.caller = { namespace: 'default', scope: 'write' };
  });
  limitResponses(app, 60_000, LIMIT_BYTES);
  limitHeavyWork(app, 60_000);
  const api = engine.namespace('default');
  const countExtraRequest = async () => {};
  const gate = createGate(engine, settings);
  mcp(app, {
    ...{ engine, getApi: () => api, gate, countExtraRequest, hookActivity: new HookActivity() },
    ...{ metrics: createMetrics(), telemetry, settings },
  });
  return { api, address: await app.listen({ host: '127.0.0.1', port: 0 }) };
}

it('POST /mcp rejects the calls of a batch that exceed the response budget', async () => {
  const { api, address } = await listen();
  const { id } = await api.store({ content: CONTENT });
  const read = { jsonrpc: '2.0', method: 'resources/read', params: { uri: `memory://${id}` } };
  const sendBatch = async (times: number) => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const body = JSON.stringify(Array.from({ length: times }, (_, n) => ({ ...read, id: n })));
    const response = await fetch(`${address}/mcp`, { method: 'POST', headers, body });
    return [...(await response.text()).matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data ?? ''));
  };
  const messages = await sendBatch(50);
  const refused = messages.filter(({ error }) => error !== undefined);
  expect(messages).toHaveLength(50);
  expect(messages.length - refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeGreaterThan(30);
  for (const { error } of refused) expect(error.data.error.code).toBe('UNAVAILABLE');
  // Responses that have been read release their budget.
  await expect.poll(async () => (await sendBatch(1)).map(({ error }) => error)).toEqual([undefined]);
});
