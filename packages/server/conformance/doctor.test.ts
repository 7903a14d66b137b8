import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { MemoryClient } from '@memoryd/client';
import { AdministrationClient } from '@memoryd/client/administration';
import { openMemory } from '@memoryd/engine';
import { describe, expect, it } from 'vitest';
import { checkDisk } from '../src/doctor/disk.ts';
import { checkFile } from '../src/doctor/file.ts';
import { checkModels } from '../src/doctor/model.ts';
import { checkPort } from '../src/doctor/port.ts';
import { checkService } from '../src/doctor/service.ts';
import { checkSettings } from '../src/doctor/settings.ts';
import { checkSync } from '../src/doctor/sync.ts';
import { readSettings } from '../src/settings/read.ts';
import { runCommand } from './command.ts';
import { examine } from './doctor.ts';
import { createTemporaryFolder } from './folders.ts';
import { addKey } from './keys.ts';
import { startServer } from './server.ts';
import { WORDS_ONLY } from './under-test.ts';

const newPath = () => join(createTemporaryFolder(), 'memory.db');

describe('memoryd doctor', () => {
  it('runs all checks, and exits with 0 if there is no problem', async () => {
    const { ok, findings } = await examine(['--db-path', newPath(), '--embedder', 'minilm']);
    expect(ok).toBe(true);
    const checks = ['node', 'settings', 'disk', 'sync', 'file', 'model', 'port'];
    expect(findings.map(({ check }) => check)).toEqual(checks);
    expect(findings.filter(({ state }) => state === 'problem')).toEqual([]);
    expect(findings.at(-1)?.found).toBe('a port of 127.0.0.1 is free');
    for (const { state, advice } of findings) expect(advice === undefined).toBe(state === 'ok');
  });

  it('measures and reports the duration of a synced write', async () => {
    const { found } = await checkSync(createTemporaryFolder());
    expect(found).toMatch(/^a synced write takes \d+\.\d\d ms \(median of 50; slowest \d+\.\d\d ms\)$/);
  });

  it('prints one line per finding, and advice for a host that cannot be bound', async () => {
    const args = ['doctor', '--host', '192.0.2.1', '--embedder', 'none', '--db-path', newPath()];
    const { code, stdout } = await runCommand(args);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ok +node +Node \d/m);
    expect(stdout).toMatch(/^problem +port +.*192\.0\.2\.1 .*\n +→ use --host with /m);
  });

  it('prints one line per finding, and advice for an unreachable model', async () => {
    const args = ['doctor', '--port', '0', '--embedder', 'openai:m', '--embedding-url', 'http://127.0.0.1:9/v1'];
    const { code, stdout } = await runCommand([...args, '--db-path', newPath()]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ok +node +Node \d/m);
    expect(stdout).toMatch(/^problem +model +openai:m: .*\n +→ check SERVICE_EMBEDDING_URL; /m);
  });

  it('reports a file that other users may read, a corrupt database, and a file that is not a database', async () => {
    const dbPath = newPath();
    await (await openMemory(dbPath, { embedder: 'none' })).close();
    expect(await checkFile(dbPath)).toMatchObject({ check: 'file', state: 'ok' });
    chmodSync(dbPath, 0o644);
    const advised = (await checkDisk(dbPath)).filter(({ state }) => state === 'warning');
    expect(advised).toContainEqual(expect.objectContaining({ advice: `chmod 600 ${dbPath}` }));
    const bytes = readFileSync(dbPath);
    bytes.fill(0x5a, 8192 * 5, 8192 * 9);
    writeFileSync(dbPath, bytes);
    const text = newPath();
    writeFileSync(text, 'no database at all\n'.repeat(1000));
    for (const path of [dbPath, text]) {
      const advice = expect.stringContaining('memoryd restore');
      expect(await checkFile(path)).toMatchObject({ check: 'file', state: 'problem', advice });
    }
  });

  it('reports a folder that is not writable', async () => {
    const { ok, of } = await examine(['--db-path', '/dev/null/memory.db']);
    expect(ok).toBe(false);
    expect(of('disk')).toMatchObject([{ state: 'problem', advice: expect.stringContaining('--db-path') }]);
    expect(of('sync')).toEqual([]);
  });

  it('reports models that do not respond, and names the setting of each model', async () => {
    const nowhere = 'http://127.0.0.1:9/v1';
    const remote = { embedder: 'openai:m', embeddingUrl: nowhere, llmUrl: nowhere, llmModel: 'm' };
    expect(await checkModels(readSettings(remote, {}))).toMatchObject([
      { check: 'model', state: 'problem', advice: expect.stringContaining('SERVICE_EMBEDDING_URL') },
      { check: 'model', state: 'problem', advice: expect.stringContaining('SERVICE_LLM_URL') },
    ]);
  });

  it('names the program that uses the configured port', async () => {
    const other = createServer((socket) => socket.end('no HTTP')).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const found = await checkPort({ host: '127.0.0.1', port: (other.address() as AddressInfo).port });
    other.close();
    const owner = process.platform === 'linux' ? `(process ${process.pid})` : 'another program';
    expect(found).toMatchObject({
      state: 'problem',
      found: expect.stringContaining(owner),
      advice: 'choose another port with --port',
    });
  });

  it('reports invalid settings and unknown environment variables', async () => {
    const { ok, findings } = await examine(['--log-level', 'loud'], { SERVICE_PROT: '1' });
    expect(ok).toBe(false);
    expect(findings).toMatchObject([
      { check: 'node' },
      { check: 'settings', state: 'problem', found: '--log-level must be one of debug, info, warn, error' },
      { check: 'settings', state: 'warning', found: expect.stringContaining('SERVICE_PORT') },
    ]);
  });

  it('warns about a settings file that contains an API key and that other users may read', () => {
    const config = join(createTemporaryFolder(), 'settings.json');
    writeFileSync(config, JSON.stringify({ apiKey: 'k'.repeat(40) }), { mode: 0o644 });
    const { findings } = checkSettings({ config }, {});
    expect(findings).toMatchObject([{ state: 'ok' }, { state: 'warning', advice: `chmod 600 ${config}` }]);
  });

  it('recognizes a memoryd server on the port, and checks the service at --url', async () => {
    const dbPath = newPath();
    const key = await addKey(dbPath, 'default', 'read');
    const server = await startServer({ dbPath, env: WORDS_ONLY });
    const url = `http://127.0.0.1:${server.port}`;
    expect(await checkPort({ host: '127.0.0.1', port: server.port })).toMatchObject({
      ...{ check: 'port', state: 'ok', found: expect.stringMatching(/^memoryd \d.* is running on port/) },
    });
    const healthy = await examine(['--url', url], { SERVICE_API_KEY: key });
    expect(healthy.findings.map(({ check, state }) => [check, state])).toEqual([
      ['node', 'ok'],
      ['settings', 'ok'],
      ['service', 'ok'],
      ['service', 'ok'],
      ['hooks', 'ok'],
    ]);
    const service = new MemoryClient({ url, retries: 0 });
    expect(await checkService(service, url)).toMatchObject([
      { state: 'ok' },
      { state: 'problem', advice: expect.stringContaining('SERVICE_API_KEY') },
    ]);
    await server.stop();
    const advice = expect.stringContaining('memoryd serve');
    expect(await checkService(service, url)).toMatchObject([{ check: 'service', state: 'problem', advice }]);
  });

  it('reports the hooks of a user at --url and on the port, and that they are paused', async () => {
    const dbPath = newPath();
    const key = await addKey(dbPath, 'default', 'write');
    const server = await startServer({ dbPath, env: WORDS_ONLY });
    const url = `http://127.0.0.1:${server.port}`;
    const client = new AdministrationClient({ url, apiKey: key });
    await client.setHooks({ paused: true, ignored_folders: ['/home/ada/private'] }, { user_id: 'ada' });
    const env = { SERVICE_API_KEY: key };
    const hooks = { check: 'hooks' };
    const none = (of: string) => ({ ...hooks, state: 'ok', found: expect.stringContaining(`hook of ${of}`) });
    const ofAda = [
      { ...hooks, state: 'warning', advice: 'memoryd connect --resume' },
      { ...hooks, state: 'ok', found: expect.stringContaining('/home/ada/private') },
      none('ada'),
    ];
    const local = ['--host', '127.0.0.1', '--port', String(server.port), '--db-path', newPath()];
    for (const place of [['--url', url], local]) {
      expect((await examine([...place, '--user', 'ada'], env)).of('hooks')).toMatchObject(ofAda);
      expect((await examine([...place, '--user', 'ben'], env)).of('hooks')).toMatchObject([none('ben')]);
    }
    const withoutKey = await examine(local);
    expect(withoutKey.of('hooks')).toMatchObject([{ state: 'warning', advice: 'set SERVICE_API_KEY' }]);
    expect(withoutKey.ok).toBe(true);
    await server.stop();
  });
});
