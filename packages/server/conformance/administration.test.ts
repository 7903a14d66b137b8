import { join } from 'node:path';
import type {
  ApiKey,
  ApiKeyWithSecret,
  ImportTextsResponse,
  NamespaceSummary,
  Scope,
  StatsHistoryResponse,
  StatsPeriod,
} from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { runInProcess } from './command-in-process.ts';
import { createTemporaryFolder } from './folders.ts';
import { addKey } from './keys.ts';
import { expectRefused } from './refusal.ts';
import { expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe('API keys over HTTP', () => {
  const memoryd = useServer({ env: WORDS_ONLY });

  it('API keys over HTTP can be created, listed with their last use, and revoked', async () => {
    const operator = bearer(await addKey(memoryd.server.dbPath, 'default', 'operate'));
    const json = { namespace: 'kitchen', scope: 'write', name: 'the cook', expires_at: '2999-01-01' };
    const request = { method: 'POST', path: '/keys', json, headers: operator };
    const made = await memoryd.ok<ApiKeyWithSecret>(request);
    const unnamed = await memoryd.ok<ApiKeyWithSecret>({ ...request, json: { ...json, name: null, expires_at: null } });
    expect(unnamed.name).toBe('');
    expect(made).toMatchObject({ ...json, expires_at: '2999-01-01T00:00:00.000Z', last_used_at: null });
    const stored = { method: 'POST', path: '/store', json: { content: 'salt' }, headers: bearer(made.key) };
    expect((await memoryd.send(stored)).status).toBe(200);
    const getListed = async () =>
      (await memoryd.ok<{ keys: ApiKey[] }>({ path: '/keys', headers: operator })).keys.find(
        ({ id }) => id === made.id,
      );
    await expect.poll(async () => (await getListed())?.last_used_at).toMatch(/Z$/);
    expect(await getListed()).not.toHaveProperty('key');
    const revoking = { method: 'DELETE', path: `/keys/${made.id}`, headers: operator };
    expect(await memoryd.ok(revoking)).toEqual({ id: made.id, status: 'revoked' });
    await expectRefused(memoryd, stored, { code: 'UNAUTHORIZED' }, operator);
    await expectRefused(memoryd, { ...revoking, path: '/keys/nobody' }, { code: 'NOT_FOUND' }, operator);
    for (const [field, value] of [
      ['scope', 'all'],
      ['user_id', null],
      ['agent_id', null],
      ['namespace', 'a b'],
      ['expires_at', 'soon'],
      ['name', 7],
    ] as const) {
      const wrong = { method: 'POST', path: '/keys', json: { ...json, [field]: value }, headers: operator };
      await expectRefused(memoryd, wrong, { field }, operator);
    }
  });

  it('API keys over HTTP can, like namespaces, be managed only with the operate scope and not by pages of other origins', async () => {
    const { dbPath } = memoryd.server;
    const operator = bearer(await addKey(dbPath, 'default', 'operate'));
    for (const scope of ['metrics', 'read', 'write'] as const) {
      const headers = bearer(await addKey(dbPath, 'default', scope));
      for (const path of ['/keys', '/namespaces', '/stats/history']) {
        await expectRefused(memoryd, { path, headers }, { code: 'FORBIDDEN' }, operator);
      }
    }
    for (const path of ['/keys', '/namespaces', '/stats/history', '/hooks', '/export', '/backup']) {
      const foreign = { path, headers: { ...operator, origin: 'https://evil.example' } };
      await expectRefused(memoryd, foreign, { code: 'FORBIDDEN' }, operator);
      const local = { path, headers: { ...operator, origin: 'http://localhost:3000' } };
      expect((await memoryd.send(local)).status, path).toBe(200);
    }
  });

  it('API keys over HTTP with the metrics scope can read only metrics', async () => {
    const headers = bearer(await addKey(memoryd.server.dbPath, 'default', 'metrics'));
    expect((await memoryd.send({ path: '/metrics', headers })).status).toBe(200);
    const reader = bearer(await addKey(memoryd.server.dbPath, 'default', 'write'));
    for (const path of ['/stats', '/memories', '/recall?query=x', '/']) {
      await expectRefused(memoryd, { path, headers }, { code: 'FORBIDDEN' }, reader);
    }
    await expectRefused(memoryd, { path: '/metrics', headers: reader }, { code: 'FORBIDDEN' }, reader);
  });
});

describe('the history of the last 24 hours', () => {
  const memoryd = useServer({ env: WORDS_ONLY });

  it('counts recalls, stored memories and errors of the current period, with the latency of recalls', async () => {
    const getPeriods = async () => (await memoryd.get<StatsHistoryResponse>('/stats/history')).periods;
    const before = await getPeriods();
    await memoryd.ok({ method: 'POST', path: '/store', json: { content: 'The kettle whistles' } });
    await memoryd.ok({
      method: 'POST',
      path: '/store/batch',
      json: [{ content: 'Tea at four' }, { content: 'Scones' }],
    });
    await memoryd.get('/recall?query=kettle');
    expect((await memoryd.send({ path: '/memories/nothing' })).status).toBe(404);
    const after = await getPeriods();
    const sum = (periods: StatsPeriod[], field: 'recalls' | 'stores' | 'errors') =>
      periods.reduce((total, period) => total + period[field], 0);
    for (const [field, count] of [
      ['recalls', 1],
      ['stores', 3],
      ['errors', 1],
    ] as const) {
      expect(sum(after, field) - sum(before, field), field).toBe(count);
    }
    const { p50_ms, p99_ms } = after.findLast(({ recalls }) => recalls > 0) ?? {};
    expect(p50_ms).toBeGreaterThan(0);
    expect(p99_ms).toBeGreaterThanOrEqual(p50_ms ?? Number.NaN);
  });
});

describe('namespaces over HTTP', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  const getSummary = async (name: string) =>
    (await memoryd.get<{ namespaces: NamespaceSummary[] }>('/namespaces')).namespaces.find((one) => one.name === name);

  it('namespaces over HTTP can be selected by a header, listed, given a quota and deleted', async () => {
    const headers = { 'x-memoryd-namespace': 'garden/tools' };
    await memoryd.ok({ method: 'POST', path: '/store', json: { content: 'a spade' }, headers });
    expect((await memoryd.recall('spade')).results).toEqual([]);
    expect(await getSummary('garden/tools')).toMatchObject({ working_count: 1, memories: 1 });
    const path = '/namespaces/garden%2Ftools';
    const quota = { memories: 1, bytes: null };
    expect(await memoryd.ok({ method: 'PUT', path, json: quota })).toEqual({ name: 'garden/tools', quota });
    await expectRefused(memoryd, { method: 'PUT', path, json: { ...quota, bytes: 1e29 } }, { field: 'bytes' });
    const more = { method: 'POST', path: '/store', json: { content: 'a rake' }, headers };
    await expectRefused(memoryd, more, { code: 'FORBIDDEN' });
    expect(await memoryd.ok({ method: 'DELETE', path })).toMatchObject({ status: 'deleted', deleted_count: 1 });
    expect(await getSummary('garden/tools')).toBeUndefined();
    await expectRefused(memoryd, { method: 'DELETE', path }, { code: 'NOT_FOUND' });
    await expectRefused(memoryd, { path: '/stats', headers: { 'x-memoryd-namespace': 'a b' } });
  });

  it('namespaces over HTTP can be selected by a header only with a key of the operate scope', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const keys = Object.fromEntries(
      await Promise.all(
        (['read', 'write', 'operate'] as Scope[]).map(async (scope) => [
          scope,
          await addKey(client.server.dbPath, 'own', scope),
        ]),
      ),
    ) as Record<Scope, string>;
    const getOther = (key: string) => ({ path: '/stats', headers: { ...bearer(key), 'x-memoryd-namespace': 'other' } });
    expect((await client.send(getOther(keys.operate))).status).toBe(200);
    for (const scope of ['read', 'write'] as const) {
      await expectRefused(client, getOther(keys[scope]), { code: 'FORBIDDEN' }, bearer(keys.read));
    }
    await expectCleanEnd(client.server);
  });
});

describe('access from loopback addresses', () => {
  it('requires a key after `keys add` created the first key with a warning, until `keys open` is run', async () => {
    const dbPath = join(createTemporaryFolder(), 'memory.db');
    const client = await startClient({ dbPath, env: WORDS_ONLY });
    const getStatus = async () => (await client.send({ path: '/stats' })).status;
    const command = (...args: string[]) => runInProcess(['keys', ...args, '--db-path', dbPath]);
    expect(await getStatus()).toBe(200);
    expect((await command('add')).stderr).toMatch(
      /^From now on, requests from this machine need a key too.*keys open --yes/,
    );
    await expect.poll(getStatus, { timeout: 5000 }).toBe(401);
    expect((await command('add')).stderr).not.toContain('From now on');
    expect((await command('open')).code).toBe(2);
    expect((await command('open', '--yes')).code).toBe(0);
    await expect.poll(getStatus, { timeout: 5000 }).toBe(200);
    await expectCleanEnd(client.server);
  });
});

describe('the audit log', () => {
  it('records the key, namespace and address of each action, but no texts of memories', async () => {
    const client = await startClient({ env: { ...WORDS_ONLY, SERVICE_ACCESS_LOG: 'true' } });
    const { dbPath } = client.server;
    const key = await addKey(dbPath, 'default', 'operate');
    const headers = bearer(key);
    const ok = (method: string, path: string, json?: object) =>
      client.ok({ method, path, headers, ...(json && { json }) });
    const [one, two] = (
      (await ok('POST', '/store/batch', [{ content: 'xylograph', tags: ['secret'] }, { content: 'quincunx' }])) as {
        results: { id: string }[];
      }
    ).results;
    await ok('DELETE', `/forget/${one?.id}`);
    await ok('DELETE', '/memories?tag=secret');
    const exported = await client.send({ path: '/export', headers });
    await client.send({ method: 'POST', path: '/import', headers, body: exported.text });
    const body = JSON.stringify({ content: 'syzygy', external_id: 'one' });
    const imported = await client.ok<ImportTextsResponse>({
      method: 'POST',
      path: '/imports?from=jsonl',
      headers,
      body,
    });
    await ok('DELETE', `/imports/${imported.import_id}`);
    await client.send({ path: '/backup', headers });
    await ok('POST', '/store', { content: 'promoted by the run' });
    const run = (await ok('POST', '/consolidate')) as { id: string };
    await ok('POST', '/store', { content: 'promoted by the later run' });
    const later = (await ok('POST', '/consolidate')) as { id: string };
    await ok('POST', `/consolidations/${run.id}/undo?with_later=true`);
    await ok('PUT', '/namespaces/default', { memories: 10, bytes: null });
    const made = (await ok('POST', '/keys', { namespace: 'n', scope: 'read' })) as ApiKeyWithSecret;
    await ok('DELETE', `/keys/${made.id}`);
    await ok('DELETE', '/namespaces/n');
    await client.send({ path: '/stats', headers: bearer(`mmd_${'0'.repeat(16)}_${'0'.repeat(64)}`) });
    const records = client.server.records();
    const audited = records.filter(({ component }) => component === 'audit');
    const caller = { key_id: key.split('_')[1], namespace: 'default', address: '127.0.0.1' };
    expect(audited.map(({ event }) => event)).toEqual([
      ...['memory_forgotten', 'memories_forgotten', 'exported', 'imported'],
      ...['imported', 'import_undone', 'backed_up'],
      ...['consolidation_undone', 'consolidation_undone'],
      ...['quota_changed', 'key_added', 'key_revoked', 'namespace_deleted', 'authentication_failed'],
    ]);
    for (const record of audited.slice(0, -1)) expect(record).toMatchObject({ level: 'INFO', ...caller });
    expect(audited[0]).toMatchObject({ memory_id: one?.id, count: 1 });
    expect(audited[1]).toMatchObject({ filters: 'tag', count: 0 });
    expect(audited[2]).toMatchObject({ count: 1 });
    expect(audited.slice(4, 6)).toMatchObject([
      { import_id: imported.import_id, count: 1, updated_count: 0 },
      { import_id: imported.import_id, count: 1 },
    ]);
    expect(audited.slice(7, 9).map((record) => record.consolidation_id)).toEqual([later.id, run.id]);
    expect(audited.at(-1)).toMatchObject({ address: '127.0.0.1', key_id: null, path: '/stats' });
    expect(JSON.stringify(audited)).not.toMatch(/xylograph|quincunx|syzygy|secret/);
    expect(two).toBeDefined();
    const requests = records.filter(({ event }) => event === 'request_completed');
    expect(requests[0]).toMatchObject({ ...caller, method: 'POST', path: '/store/batch', status: 200 });
    expect(requests.at(-1)).toMatchObject({ method: 'GET', path: '/stats', status: 401 });
    await expectCleanEnd(client.server);
  });
});
