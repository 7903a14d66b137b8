import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startPglite } from '../../engine/src/storage/postgres/database.fixture.ts';
import { runCommand } from './command.ts';
import { eventually, startServer, temporaryFolder } from './process.ts';
import { WORDS_ONLY } from './under-test.ts';

const PATIENCE_MS = 240_000;

interface Finding {
  check: string;
  state: 'ok' | 'warning' | 'problem';
  found: string;
  advice?: string;
}

/** What the doctor finds, with every port free and no model unless flags say otherwise. */
async function examined(flags: string[], env: Record<string, string> = {}) {
  const args = ['doctor', '--json', '--port', '0', '--embedder', 'none', ...flags];
  const { code, stdout, stderr } = await runCommand(args, { env });
  expect(stderr.replace(/^memoryd: .*\n/gm, '')).toBe('');
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
  expect(code).toBe(ok ? 0 : 1);
  return { ok, findings, of: (check: string) => findings.filter((finding) => finding.check === check) };
}

const newPath = () => join(temporaryFolder(), 'memory.db');

describe('memoryd doctor', { timeout: PATIENCE_MS }, () => {
  it('looks at all that a service needs, and ends with 0 where nothing is wrong', async () => {
    const { ok, findings } = await examined(['--db-path', newPath(), '--embedder', 'minilm']);
    expect(ok).toBe(true);
    const checks = ['node', 'settings', 'disk', 'sync', 'file', 'model', 'port'];
    expect(findings.map(({ check }) => check)).toEqual(checks);
    expect(findings.filter(({ state }) => state === 'problem')).toEqual([]);
    expect(findings.at(-1)?.found).toBe('a port of 127.0.0.1 is free');
    for (const { state, advice } of findings) expect(advice === undefined).toBe(state === 'ok');
  });

  it('says of a database on a server whether it can be used, and leaves an empty one empty', async () => {
    const server = await startPglite();
    onTestFinished(() => server.close());
    const url = await server.create();
    for (let time = 0; time < 2; time++) {
      const [database] = (await examined(['--database-url', url])).of('database');
      expect(database).toMatchObject({
        state: 'ok',
        found: expect.stringContaining('is made ready at the next start'),
      });
      await server.reopening(url);
    }
    const [nobody] = (await examined(['--database-url', 'postgres://a:secret@127.0.0.1:1/a'])).of('database');
    expect(nobody).toMatchObject({ state: 'problem', found: expect.not.stringContaining('secret') });
  });

  it('measures how long a write takes, and tells the figure', async () => {
    const [sync] = (await examined(['--db-path', newPath()])).of('sync');
    expect(sync?.found).toMatch(/^a write is on disk after \d+\.\d\d ms \(median of 50; slowest \d+\.\d\d ms\)$/);
  });

  it('tells people what to do, a line for each finding', async () => {
    const args = ['doctor', '--port', '0', '--embedder', 'openai:m', '--embedding-url', 'http://127.0.0.1:9/v1'];
    const { code, stdout } = await runCommand([...args, '--db-path', newPath()]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^ok +node +Node \d/m);
    expect(stdout).toMatch(/^problem +model +openai:m: .*\n +→ look at SERVICE_EMBEDDING_URL; /m);
  });

  it('finds a damaged file, and one that is no database', async () => {
    const server = await startServer({ env: WORDS_ONLY });
    await server.stop();
    expect((await examined(['--db-path', server.dbPath])).of('file')).toMatchObject([{ state: 'ok' }]);
    const bytes = readFileSync(server.dbPath);
    bytes.fill(0x5a, 8192 * 5, 8192 * 9);
    writeFileSync(server.dbPath, bytes);
    const text = newPath();
    writeFileSync(text, 'no database at all\n'.repeat(1000));
    for (const dbPath of [server.dbPath, text]) {
      const { ok, of } = await examined(['--db-path', dbPath]);
      expect(ok).toBe(false);
      expect(of('file')).toMatchObject([{ state: 'problem', advice: expect.stringContaining('memoryd restore') }]);
    }
  });

  it('warns of a database that others may read', async () => {
    const server = await startServer({ env: WORDS_ONLY });
    await server.stop();
    chmodSync(server.dbPath, 0o644);
    const { ok, of } = await examined(['--db-path', server.dbPath]);
    expect(ok).toBe(true);
    const advised = of('disk').filter(({ state }) => state === 'warning');
    expect(advised).toContainEqual(expect.objectContaining({ advice: `chmod 600 ${server.dbPath}` }));
  });

  it('finds a folder that cannot be written', async () => {
    const { ok, of } = await examined(['--db-path', '/dev/null/memory.db']);
    expect(ok).toBe(false);
    expect(of('disk')).toMatchObject([{ state: 'problem', advice: expect.stringContaining('--db-path') }]);
    expect(of('sync')).toEqual([]);
  });

  it('finds models that do not answer, each with its variable', async () => {
    const remote = ['--embedder', 'openai:m', '--embedding-url', 'http://127.0.0.1:9/v1'];
    const llm = ['--llm-url', 'http://127.0.0.1:9/v1', '--llm-model', 'm'];
    const { of } = await examined([...remote, ...llm, '--db-path', newPath()]);
    expect(of('model')).toMatchObject([
      { state: 'problem', advice: expect.stringContaining('SERVICE_EMBEDDING_URL') },
      { state: 'problem', advice: expect.stringContaining('SERVICE_LLM_URL') },
    ]);
  });

  it('knows a memoryd on the port from another program, which it names', async () => {
    const server = await startServer({ env: WORDS_ONLY });
    const served = await examined(['--port', `${server.port}`, '--db-path', server.dbPath]);
    expect(served.of('port')).toMatchObject([
      { state: 'ok', found: expect.stringMatching(/^memoryd \d.* serves on port/) },
    ]);
    await server.stop();
    const other = createServer((socket) => socket.end('no HTTP')).listen(0, '127.0.0.1');
    const { port } = await eventually('to listen', 20_000, () => (other.address() as AddressInfo | null) ?? undefined);
    const { ok, of } = await examined(['--port', `${port}`, '--db-path', newPath()]);
    other.close();
    expect(ok).toBe(false);
    const owner = process.platform === 'linux' ? `(process ${process.pid})` : 'another program';
    expect(of('port')).toMatchObject([
      { state: 'problem', found: expect.stringContaining(owner), advice: 'use --port' },
    ]);
  });

  it('finds an address that is none of this machine', async () => {
    const { of } = await examined(['--host', '192.0.2.1', '--db-path', newPath()]);
    expect(of('port')).toMatchObject([{ state: 'problem', advice: expect.stringContaining('--host') }]);
  });

  it('tells of settings that cannot be used, and of variables that are none', async () => {
    const { ok, findings } = await examined(['--log-level', 'loud'], { SERVICE_PROT: '1' });
    expect(ok).toBe(false);
    expect(findings).toMatchObject([
      { check: 'node' },
      { check: 'settings', state: 'problem', found: '--log-level must be one of debug, info, warn, error' },
      { check: 'settings', state: 'warning', found: expect.stringContaining('SERVICE_PORT') },
    ]);
  });

  it('warns of a settings file that others may read while keys are set', async () => {
    const config = join(temporaryFolder(), 'settings.json');
    writeFileSync(config, JSON.stringify({ apiKey: 'k'.repeat(40) }), { mode: 0o644 });
    const { of } = await examined(['--config', config, '--db-path', newPath()]);
    expect(of('settings')).toMatchObject([{ state: 'ok' }, { state: 'warning', advice: `chmod 600 ${config}` }]);
  });

  it('looks at a service where one is named', async () => {
    const server = await startServer({ env: WORDS_ONLY });
    const url = ['--url', `http://127.0.0.1:${server.port}`];
    const healthy = await examined(url);
    expect(healthy.findings.map(({ check, state }) => [check, state])).toEqual([
      ['node', 'ok'],
      ['settings', 'ok'],
      ['service', 'ok'],
      ['service', 'ok'],
    ]);
    await runCommand(['keys', 'add', '--db-path', server.dbPath]);
    const refused = await eventually('the key to be known', 20_000, async () => {
      const { ok, of } = await examined(url);
      return ok ? undefined : of('service');
    });
    expect(refused).toMatchObject([
      { state: 'ok' },
      { state: 'problem', advice: expect.stringContaining('SERVICE_API_KEY') },
    ]);
    await server.stop();
    const gone = await examined(url);
    expect(gone.of('service')).toMatchObject([{ state: 'problem', advice: expect.stringContaining('memoryd serve') }]);
  });
});
