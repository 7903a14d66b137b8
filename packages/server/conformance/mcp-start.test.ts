import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { openMemory } from '@memoryd/engine';
import { describe, expect, it } from 'vitest';
import { createTemporaryFolder } from './folders.ts';
import { eventually, freePort, type Launched, launch } from './process.ts';
import { startClient, WORDS_ONLY } from './under-test.ts';

/** A response on standard output. */
interface Response {
  id?: string | number;
  result?: { isError?: boolean; content?: { text: string }[]; structuredContent?: Record<string, unknown> };
  error?: { code: number; message: string };
}

/** The exit of a process that a signal has ended without a handler. */
const KILLED = { code: null, stderr: '' };
/** The bundle of the server, which loads after the first messages. */
const SERVER_MODULE = 'server/dist/memoryd.js';

const newFile = () => join(createTemporaryFolder(), 'memory.db');
const start = (args = ['--db-path', newFile()], env: Record<string, string> = {}, under: string[] = []) =>
  launch(['mcp', '--structured', '--tools', 'all', ...args], { ...WORDS_ONLY, ...env }, { under });

/** Starts a process whose log can be read while the process runs. */
function startWithLog(): { process: Launched; getLog: () => string } {
  const log = join(createTemporaryFolder(), 'log.txt');
  writeFileSync(log, '');
  const process = start(undefined, undefined, ['sh', '-c', 'exec "$@" 2>"$0"', log]);
  return { process, getLog: () => readFileSync(log, 'utf8') };
}

function waitForConnection(getLog: () => string): Promise<true> {
  return eventually('agent_connected', 20_000, () => getLog().includes('"agent_connected"') || undefined);
}

function waitForModule(getModules: () => string[], name: string): Promise<string> {
  return eventually(`the module ${name}`, 20_000, () => getModules().find((url) => url.includes(name)));
}

const toLine = (message: object) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
const CLIENT_INFO = { name: 'raw', version: '1' };
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': CLIENT_INFO,
  'io.modelcontextprotocol/clientCapabilities': {},
};
const PARAMS = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT_INFO };
const INITIALIZE = toLine({ id: 0, method: 'initialize', params: PARAMS });
const INITIALIZED = toLine({ method: 'notifications/initialized' });
const LIST = toLine({ id: 1, method: 'tools/list' });
const toCall = (id: number, name: string, args: object) =>
  toLine({ id, method: 'tools/call', params: { name, arguments: args } });

function getResponses(process: Launched): Response[] {
  return process.lines().map((line) => JSON.parse(line) as Response);
}

function waitForResponse(process: Launched, id: string | number): Promise<Response> {
  return eventually(`the response to ${id}`, 20_000, () => getResponses(process).find((each) => each.id === id));
}

/** Calls a tool, expects it to fail, and returns the text that a model reads. */
async function getFailure(process: Launched, id: number, name: string, args: object): Promise<string> {
  process.write(toCall(id, name, args));
  const { result } = await waitForResponse(process, id);
  expect(result?.isError, JSON.stringify(result)).toBe(true);
  return result?.content?.[0]?.text ?? '';
}

async function endInput(process: Launched): Promise<{ ids: unknown[]; code: number | null }> {
  process.endInput();
  const { code } = await process.exited;
  return { ids: getResponses(process).map(({ id }) => id), code };
}

describe('responses of memoryd mcp', () => {
  it('responds once to each request if a call follows initialize at once', async () => {
    const process = start();
    process.write(INITIALIZE + INITIALIZED + toCall(1, 'memory_store', { content: 'the anchor is rusty' }));
    expect((await waitForResponse(process, 1)).result).toMatchObject({ structuredContent: { id: expect.any(String) } });
    expect(await endInput(process)).toEqual({ ids: [0, 1], code: 0 });
  });

  it('responds once to each request if the input ends right after a call', async () => {
    const process = start();
    process.write(INITIALIZE + toCall(1, 'memory_stats', {}) + toLine({ id: 2, method: 'tools/list' }));
    const { ids, code } = await endInput(process);
    expect([ids.sort(), code]).toEqual([[0, 1, 2], 0]);
  });

  it('responds once to each request if messages are split anywhere, also within a character', async () => {
    const process = start();
    const content = 'Zoë trinkt 茶 🍵';
    const ping = toLine({ id: 'ä🍵', method: 'ping' });
    const bytes = Buffer.from(INITIALIZE + INITIALIZED + ping + toCall(3, 'memory_store', { content }));
    for (let at = 0; at < bytes.length; at += 7) {
      process.write(bytes.subarray(at, at + 7));
      await setImmediate();
    }
    await waitForResponse(process, 3);
    process.write(toCall(4, 'memory_recall', { query: 'trinkt' }));
    expect((await waitForResponse(process, 4)).result?.structuredContent).toMatchObject({ results: [{ content }] });
    expect(await endInput(process)).toEqual({ ids: [0, 'ä🍵', 3, 4], code: 0 });
  });

  it('responds once to each request if the client is quiet before a call', async () => {
    const { process, getLog } = startWithLog();
    process.write(INITIALIZE + INITIALIZED + LIST);
    await waitForConnection(getLog);
    process.write(toLine({ id: 2, method: 'ping' }) + toCall(3, 'memory_stats', {}));
    await waitForResponse(process, 3);
    expect(await endInput(process)).toEqual({ ids: [0, 1, 2, 3], code: 0 });
  });

  it('responds once to each request if there are thousands of them before a call', async () => {
    const process = start();
    const ids = Array.from({ length: 3000 }, (_, id) => id);
    process.write(ids.map((id) => toLine({ id, method: id % 100 === 99 ? 'resources/list' : 'ping' })).join(''));
    const end = await endInput(process);
    expect(end.code).toBe(0);
    expect(end.ids.sort((a, b) => Number(a) - Number(b))).toEqual(ids);
  });

  it('responds once to each request of protocol revision 2026-07-28, which has no initialize', async () => {
    const process = start();
    const discover = toLine({ id: 0, method: 'server/discover', params: { _meta: META } });
    const list = toLine({ id: 1, method: 'tools/list', params: { _meta: META } });
    process.write(discover + list);
    await waitForResponse(process, 1);
    process.write(
      toLine({ id: 2, method: 'tools/call', params: { name: 'memory_stats', arguments: {}, _meta: META } }),
    );
    expect((await waitForResponse(process, 2)).result).toMatchObject({
      ...{ resultType: 'complete', structuredContent: { working_count: 0 } },
    });
    expect(await endInput(process)).toEqual({ ids: [0, 1, 2], code: 0 });
  });

  it('responds to an unknown method at once, also before initialize, with its id', async () => {
    const process = start([]);
    process.write(toLine({ id: 'first', method: 'no/such/method', params: { of: 'a client' } }));
    expect((await waitForResponse(process, 'first')).error).toEqual({ code: -32601, message: 'Method not found' });
    expect(await endInput(process)).toEqual({ ids: ['first'], code: 0 });
  });
});

describe('the end of memoryd mcp', () => {
  it('ends with code 0 when the input ends right after initialize', async () => {
    const process = start();
    process.write(INITIALIZE);
    expect(await endInput(process)).toEqual({ ids: [0], code: 0 });
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('ends on %s before any call', async (signal) => {
    const process = start();
    process.write(INITIALIZE + INITIALIZED + LIST);
    await waitForResponse(process, 1);
    expect(await process.end(signal)).toMatchObject(KILLED);
  });

  it('ends on SIGINT while it loads the server', async () => {
    const { env, getModules } = recordModules({ haltAt: SERVER_MODULE });
    const process = start(undefined, env);
    process.write(INITIALIZE + INITIALIZED + LIST);
    await waitForModule(getModules, SERVER_MODULE);
    expect(await process.end('SIGINT')).toMatchObject(KILLED);
  });

  it('ends on SIGINT with code 0, and logs the signal, after it has loaded the server', async () => {
    const { process, getLog } = startWithLog();
    process.write(INITIALIZE + INITIALIZED + LIST);
    await waitForConnection(getLog);
    expect((await process.end('SIGINT')).code).toBe(0);
    expect(getLog()).toMatch(/"agent_disconnected","reason":"SIGINT"/);
  });

  it('ends on SIGINT after responding to a call that it received while it was loading', async () => {
    const { env, getModules } = recordModules();
    const process = start(undefined, env);
    process.write(INITIALIZE + INITIALIZED + toCall(1, 'memory_stats', {}));
    await waitForModule(getModules, 'env-paths');
    expect((await process.end('SIGINT')).code).toBe(0);
    expect(getResponses(process).map(({ id }) => id)).toEqual([0, 1]);
  });

  it.each([
    ['an unknown option', ['--databse', 'x'], {}, 'unknown option'],
    ['an invalid option', ['--embedder', 'no'], {}, '--embedder must be minilm'],
    ['an invalid namespace', ['--namespace', 'a b'], {}, 'namespace must be'],
    ['an invalid user', ['--user', ''], {}, 'user'],
    ['an invalid variable', [], { SERVICE_TIMEZONE: 'Mars/Olympus' }, 'SERVICE_TIMEZONE must be'],
  ])('ends with an error for %s, even if the client sends nothing or hangs up', async (_what, args, env, message) => {
    const ended = start(args, env);
    ended.endInput();
    const answered = start(args, env);
    answered.write(INITIALIZE);
    for (const { code, stderr } of await Promise.all([ended.exited, answered.exited])) {
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^[^\n]+\n$/) });
      expect(stderr).toContain(message);
    }
  });
});

describe('a failed call to memoryd mcp', () => {
  it('returns the reason why a database cannot be opened, until it can', async () => {
    const dbPath = newFile();
    mkdirSync(dbPath);
    const process = start(['--db-path', dbPath]);
    process.write(INITIALIZE + INITIALIZED);
    expect(await getFailure(process, 1, 'memory_recall', { query: 'tea' })).toContain(`cannot open ${dbPath}`);
    process.write(toLine({ id: 2, method: 'resources/list' }));
    expect((await waitForResponse(process, 2)).error?.message).toContain(`cannot open ${dbPath}`);
    rmdirSync(dbPath);
    process.write(toCall(3, 'memory_store', { content: 'black tea' }));
    expect((await waitForResponse(process, 3)).result?.structuredContent).toMatchObject({ id: expect.any(String) });
    expect((await endInput(process)).code).toBe(0);
    expect((await process.exited).stderr).toContain('"open_failed"');
  });

  it('returns the reason why a file is not a database', async () => {
    const dbPath = newFile();
    writeFileSync(dbPath, 'not a database '.repeat(1000));
    const process = start(['--db-path', dbPath]);
    process.write(INITIALIZE);
    expect(await getFailure(process, 1, 'memory_store', { content: 'tea' })).toContain(`cannot open ${dbPath}`);
    expect((await endInput(process)).code).toBe(0);
  });

  it('advises to tell the user if the database has the schema of a newer version', async () => {
    const dbPath = newFile();
    await (await openMemory(dbPath, { embedder: 'none' })).close();
    const database = new DatabaseSync(dbPath);
    database.exec('PRAGMA user_version = 9999');
    database.close();
    const process = start(['--db-path', dbPath]);
    process.write(INITIALIZE);
    expect(await getFailure(process, 1, 'memory_recall', { query: 'tea' })).toMatch(
      /update memoryd\. If the message names a fix, tell the user; otherwise/,
    );
    expect((await endInput(process)).code).toBe(0);
  });

  it('returns the reason why a service does not respond, until it does', async () => {
    const port = await freePort();
    const process = start(['--url', `http://127.0.0.1:${port}`]);
    process.write(INITIALIZE + INITIALIZED);
    expect(await getFailure(process, 1, 'memory_recall', { query: 'tea' })).toContain(`127.0.0.1:${port}`);
    expect((await endInput(process)).code).toBe(0);
  });
});

/**
 * Returns the environment of a process that writes the URL of each loaded module to a file, and a reader of that file.
 *
 * @param haltAt the end of the URL of a module whose loading blocks the process for a minute
 */
function recordModules({ haltAt = 'no module' } = {}): { env: Record<string, string>; getModules: () => string[] } {
  const folder = createTemporaryFolder();
  const [hook, list] = [join(folder, 'hook.mjs'), join(folder, 'modules.txt')];
  writeFileSync(list, '');
  writeFileSync(
    hook,
    `import { appendFileSync } from 'node:fs';
     import { registerHooks } from 'node:module';
     registerHooks({ load(url, context, next) {
       appendFileSync(${JSON.stringify(list)}, url + '\\n');
       if (url.endsWith(${JSON.stringify(haltAt)})) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
       return next(url, context);
     } });`,
  );
  return {
    env: { NODE_OPTIONS: `--import ${pathToFileURL(hook)}` },
    getModules: () => readFileSync(list, 'utf8').split('\n').slice(0, -1),
  };
}

describe('modules of memoryd mcp', () => {
  it('loads a single file for its first responses', async () => {
    const { env, getModules } = recordModules();
    const process = launch(['mcp'], env);
    process.write(INITIALIZE + INITIALIZED + LIST);
    await endInput(process);
    const files = getModules().flatMap((url) => (url.startsWith('file:') ? [url.replace(/^.*\/packages\//, '')] : []));
    expect(files).toEqual(['server/bin/memoryd.mjs', 'engine/node-version.mjs', 'server/dist/memoryd-front.js']);
  });

  it('loads no engine for the calls to a service', async () => {
    const server = await startClient({ env: WORDS_ONLY });
    const { env, getModules } = recordModules();
    const process = start(['--url', `http://127.0.0.1:${server.server.port}`], env);
    process.write(
      INITIALIZE +
        INITIALIZED +
        toCall(1, 'memory_store', { content: 'tea' }) +
        toLine({ id: 2, method: 'resources/list' }),
    );
    await Promise.all([waitForResponse(process, 1), waitForResponse(process, 2)]);
    expect((await endInput(process)).code).toBe(0);
    const engine = /\.node$|onnx|sqlite|minilm|packages\/(search|postgres)|engine\/dist\/bundle\/index/;
    expect(getModules().filter((url) => engine.test(url))).toEqual([]);
    expect(getModules().some((url) => url.includes('/client/'))).toBe(true);
  });

  it('loads the engine at the first call only', async () => {
    const dbPath = newFile();
    await (await openMemory(dbPath, { embedder: 'none' })).close();
    const { env, getModules } = recordModules();
    const process = start(['--db-path', dbPath], env);
    process.write(INITIALIZE + INITIALIZED + toLine({ id: 1, method: 'logging/setLevel', params: { level: 'error' } }));
    await waitForResponse(process, 1);
    const hasEngine = () => getModules().some((url) => url.includes('engine/dist/bundle/index'));
    expect(hasEngine()).toBe(false);
    process.write(toCall(2, 'memory_stats', {}));
    await waitForResponse(process, 2);
    expect(hasEngine()).toBe(true);
    expect((await endInput(process)).code).toBe(0);
  });
});
