import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { send } from '../packages/server/conformance/http.ts';
import { createTemporaryFolder, eventually, freePort } from '../packages/server/conformance/process.ts';
import { type RunningServer, startServer } from '../packages/server/conformance/server.ts';
import { WORDS_ONLY } from '../packages/server/conformance/under-test.ts';
import { isInstalled } from './tools.ts';

const folder = fileURLToPath(new URL('prometheus/', import.meta.url));
const promtool = (...args: string[]) =>
  execFileSync('promtool', args, { encoding: 'utf8', timeout: 60_000, stdio: 'pipe' });
const hasPromtool = isInstalled('promtool');
const hasPrometheus = isInstalled('prometheus');

interface Rule {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
}
const { groups } = parse(readFileSync(`${folder}rules.yml`, 'utf8')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const getRule = (alert: string) => rules.find((rule) => rule.alert === alert);

describe('the alert rules', () => {
  it('the alert rules define five critical alerts and twelve warnings', () => {
    expect(getRule('HighQueryLatency')).toMatchObject({
      expr: 'service_query_latency_ms{quantile="0.99"} > 500',
      for: '5m',
    });
    expect(getRule('StalledConsolidation')).toMatchObject({
      expr: 'time() - service_consolidation_last_run > 7200 and service_consolidation_interval_seconds > 0',
      for: '10m',
    });
    const named = (severity: string) =>
      rules.filter(({ labels }) => labels.severity === severity).map(({ alert }) => alert);
    expect(named('critical')).toEqual([
      ...['HighQueryLatency', 'StalledConsolidation'],
      ...['ServiceDown', 'ServiceUnhealthy', 'ErrorsServed'],
    ]);
    expect(named('warning')).toEqual([
      'QueryLatencyMedianHigh',
      'QueryLatencyTailHigh',
      'DatabaseLarge',
      'WorkingMemoryNearlyFull',
      'ConsolidationLate',
      'ConnectionsRefused',
      'EmbedderUnavailable',
      'EmbeddingsPending',
      'MemoryNearlyFull',
      'DiskNearlyFull',
      'ReplicaBehind',
      'BackupOld',
    ]);
  });

  it.runIf(hasPromtool)('pass the promtool rule tests', () => {
    expect(promtool('check', 'rules', `${folder}rules.yml`)).toContain(`${rules.length} rules found`);
    expect(promtool('test', 'rules', `${folder}rules.test.yml`)).toContain('SUCCESS');
  });

  it('the alert rules are all explained in the monitoring guide', () => {
    const guide = readFileSync(new URL('../docs/guide/monitoring.md', import.meta.url), 'utf8');
    for (const { alert } of rules) expect(guide).toContain(`\`${alert}\``);
  });
});

interface Panel {
  title: string;
  targets?: { expr: string }[];
}
const dashboard = JSON.parse(readFileSync(new URL('grafana/dashboard.json', import.meta.url), 'utf8')) as {
  panels: Panel[];
  annotations: { list: { expr: string }[] };
  templating: { list: { query: { query: string } }[] };
};
/** Queries of the dashboard, with Grafana's variables replaced by values. */
const queries = [
  ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ...dashboard.annotations.list.map(({ expr }) => expr),
].map((query) => query.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*'));

describe.runIf(hasPrometheus && hasPromtool)('Prometheus with a production server', () => {
  const key = 'k'.repeat(40);
  let server: RunningServer;
  let metricsKey: string;
  let prometheus: ChildProcess;
  let port: number;

  const call = <T>(method: string, path: string, json?: object) =>
    send<T>(server.port, { method, path, ...(json && { json }), headers: { authorization: `Bearer ${key}` } });
  const fetchData = async <T>(path: string) => (await send<{ data: T }>(port, { path: `/api/v1/${path}` })).body.data;

  beforeAll(async () => {
    server = await startServer({ env: { ...WORDS_ONLY, NODE_ENV: 'production', SERVICE_API_KEY: key } });
    await fill();
    const json = { namespace: 'default', scope: 'metrics', name: 'prometheus' };
    const { body } = await call<{ key: string }>('POST', '/keys', json);
    metricsKey = body.key;
    port = await freePort();
    const work = createTemporaryFolder();
    prometheus = spawn(
      'prometheus',
      [
        `--config.file=${configure(work)}`,
        `--storage.tsdb.path=${join(work, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=error',
      ],
      { stdio: 'inherit' },
    );
    await eventually('the first scrapes', 60_000, async () => {
      const scraped = await fetchData<{ result: unknown[] }>('query?query=service_build_info').catch(() => undefined);
      return (scraped?.result.length ?? 0) > 0 ? true : undefined;
    });
  });
  afterAll(async () => {
    prometheus?.kill();
    await server?.stop();
  });

  /** Writes the repository's configuration with the address and key of the test server and an interval of 1 s. */
  function configure(work: string): string {
    const config = parse(readFileSync(`${folder}prometheus.yml`, 'utf8')) as {
      global: Record<string, string>;
      scrape_configs: {
        authorization: { credentials_file: string };
        dns_sd_configs?: object;
        static_configs?: object;
      }[];
    };
    const [scrape] = config.scrape_configs;
    if (!scrape) throw new Error('prometheus.yml has no scrape_configs');
    config.global = { scrape_interval: '1s', evaluation_interval: '1s' };
    scrape.authorization.credentials_file = join(work, 'metrics-key');
    delete scrape.dns_sd_configs;
    scrape.static_configs = [{ targets: [`127.0.0.1:${server.port}`] }];
    // With a line break at the end, as `openssl rand` and editors write it.
    writeFileSync(join(work, 'metrics-key'), `${metricsKey}\n`);
    copyFileSync(`${folder}rules.yml`, join(work, 'rules.yml'));
    writeFileSync(join(work, 'prometheus.yml'), stringify(config));
    promtool('check', 'config', join(work, 'prometheus.yml'));
    return join(work, 'prometheus.yml');
  }

  /** Uses each operation once, because metrics with dynamic labels have no samples before the first use. */
  async function fill(): Promise<void> {
    await call('POST', '/store', { content: 'kept' });
    await call('GET', '/recall?query=kept');
    await call('POST', '/consolidate');
  }

  it('scrapes the server with the metrics key', async () => {
    const { activeTargets } = await fetchData<{ activeTargets: { health: string; lastError: string }[] }>('targets');
    expect(activeTargets).toMatchObject([{ health: 'up', lastError: '' }]);
  });

  it('needs a key to scrape the server', async () => {
    expect((await send(server.port, { path: '/metrics' })).status).toBe(401);
  });

  it('evaluates every rule without an error', async () => {
    const evaluated = await eventually('an evaluation', 60_000, async () => {
      const { groups: loaded } = await fetchData<{ groups: { rules: { name: string; health: string }[] }[] }>('rules');
      const all = loaded.flatMap((group) => group.rules);
      return all.every(({ health }) => health !== 'unknown') ? all : undefined;
    });
    expect(evaluated.map(({ name, health }) => `${name} ${health}`)).toEqual(rules.map(({ alert }) => `${alert} ok`));
  });

  it('stores every metric used in the rules, the dashboard and the metrics reference', async () => {
    const scraped = await fetchData<string[]>('label/__name__/values');
    const page = readFileSync(new URL('../docs/reference/metrics.md', import.meta.url), 'utf8');
    const described = [...page.matchAll(/^\| `(service_\w+)` +\| (\w+)/gm)];
    expect(described.length).toBeGreaterThan(20);
    for (const [, name, type] of described) {
      expect(scraped, name).toContain(type === 'histogram' ? `${name}_bucket` : name);
    }
    const asked = [...queries, ...rules.map(({ expr }) => expr), dashboard.templating.list[0]?.query.query ?? ''];
    const named = new Set(asked.flatMap((query) => query.match(/\bservice_\w+/g) ?? []));
    expect(named.size).toBeGreaterThan(20);
    expect([...named].filter((name) => !scraped.includes(name))).toEqual([]);
  });

  it('accepts every query of the dashboard', async () => {
    const work = createTemporaryFolder();
    const recorded = queries.map((expr, n) => ({ record: `query_${n}`, expr }));
    writeFileSync(join(work, 'queries.yml'), stringify({ groups: [{ name: 'dashboard', rules: recorded }] }));
    expect(promtool('check', 'rules', join(work, 'queries.yml'))).toContain(`${queries.length} rules found`);
    for (const query of queries) {
      const { status } = await send(port, { path: `/api/v1/query?query=${encodeURIComponent(query)}` });
      expect(status, query).toBe(200);
    }
  });
});
