import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { getHookText } from './assets.ts';

/** Maximum size of the hook's file in bytes. */
const MAX_HOOK_BYTES = 3 * 1024;

let folder: string;
let server: Server;
let url: string;
let requests: { method?: string; url?: string; headers: IncomingMessage['headers']; body: string }[];
let respond: (response: ServerResponse) => void;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'memoryd-hook-'));
  writeFileSync(join(folder, 'hook.cjs'), getHookText(join(folder, 'log', 'hook.log')));
  requests = [];
  respond = (response) => response.end('{}');
  server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request.setEncoding('utf8')) body += piece;
    requests.push({ method: request.method, url: request.url, headers: request.headers, body } as (typeof requests)[0]);
    respond(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Run {
  program?: string;
  address?: string;
  event?: string;
  env?: Record<string, string>;
}

/** Runs the hook's file as an agent program does. */
async function run(input: unknown, { program = 'claude-code', address, event, env = {} }: Run = {}) {
  const words = [join(folder, 'hook.cjs'), program, address ?? `${url}/hooks/${program}?user_id=ada`];
  const child = spawn(process.execPath, event === undefined ? words : [...words, event], {
    env: { PATH: process.env.PATH, ...env },
    cwd: folder,
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (piece) => {
    output.stdout += piece;
  });
  child.stderr.setEncoding('utf8').on('data', (piece) => {
    output.stderr += piece;
  });
  child.stdin.end(typeof input === 'string' ? input : JSON.stringify(input));
  const code = await new Promise((resolve) => child.on('close', resolve));
  return { code, ...output };
}

const SILENT = { code: 0, stdout: '', stderr: '' };
const readLog = () => readFileSync(join(folder, 'log', 'hook.log'), 'utf8');

function makeRepository(name: string, config: string, head = 'ref: refs/heads/main\n'): string {
  const top = join(folder, name);
  mkdirSync(join(top, '.git'), { recursive: true });
  writeFileSync(join(top, '.git', 'config'), config);
  writeFileSync(join(top, '.git', 'HEAD'), head);
  return top;
}

describe("the hook's file", () => {
  it('the file has at most 3 kB and needs no package', () => {
    const text = getHookText('/home/ada/.local/state/memoryd/hook.log');
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_HOOK_BYTES);
    expect(Array.from(text.matchAll(/require\(["'`](.*?)["'`]\)/g), ([, name]) => name)).toEqual(
      expect.arrayContaining(['node:http']),
    );
    expect(text).not.toMatch(/require\(["'`](?!node:(fs|http|https|path)["'`])/);
  });

  it('sends its input to the address, and prints the response', async () => {
    const answer = { hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext: 'Ada: peanuts "ä"' } };
    respond = (response) => response.end(JSON.stringify(answer));
    const input = { hook_event_name: 'UserPromptSubmit', prompt: 'What may Ada eat? é', cwd: folder };
    const { code, stdout, stderr } = await run(input);
    expect({ code, stderr, answer: JSON.parse(stdout) }).toEqual({ code: 0, stderr: '', answer });
    expect(requests).toMatchObject([{ method: 'POST', url: '/hooks/claude-code?user_id=ada' }]);
    expect(JSON.parse(requests[0]?.body ?? '')).toEqual(input);
    expect(requests[0]?.headers).toMatchObject({ 'content-type': 'application/json' });
    expect(requests[0]?.headers).not.toHaveProperty('authorization');
  });

  it('prints nothing for an empty response', async () => {
    expect(await run({})).toEqual(SILENT);
  });

  it.each([401, 403, 404, 413, 500])('prints nothing and logs the status %i', async (status) => {
    respond = (response) => response.writeHead(status).end('{"error": "no"}');
    expect(await run({})).toEqual(SILENT);
    expect(readLog()).toMatch(new RegExp(`claude-code status ${status}\n$`));
  });

  it('prints nothing if no service listens, and logs one line a day', async () => {
    const address = 'http://127.0.0.1:9/hooks/codex';
    expect(await run({ prompt: 'secret words' }, { address, program: 'codex' })).toEqual(SILENT);
    expect(await run({}, { address })).toEqual(SILENT);
    expect(readLog()).toMatch(/^\d{4}-\d\d-\d\dT\S+ codex connect ECONNREFUSED 127.0.0.1:9\n$/);
    writeFileSync(join(folder, 'log', 'hook.log'), '2020-01-01T00:00:00.000Z codex status 500\n');
    await run({}, { address });
    expect(readLog().split('\n')).toHaveLength(3);
  });

  it('prints nothing if the service does not respond within the deadline', async () => {
    respond = () => {};
    expect(await run({}, { address: `${url}/hooks/codex?deadline_ms=10` })).toEqual(SILENT);
    expect(readLog()).toContain('no response in 310 ms');
  });

  it.each(['', 'not JSON', 'null'])('exits with 0 for the input %j', async (input) => {
    expect(await run(input)).toEqual(SILENT);
    expect(requests).toEqual([]);
  });

  it('sends the key beside it or of the environment to the service of the key, and to no other', async () => {
    writeFileSync(join(folder, 'key'), 'mk_file\n');
    const address = `${url}/hooks/codex?user_id=ada`;
    await run({}, { address: `${address}#key` });
    await run({}, { address: `${address}#key`, env: { MEMORYD_API_KEY: 'mk_env' } });
    await run({}, { address, env: { MEMORYD_API_KEY: 'mk_env' } });
    expect(requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer mk_file',
      'Bearer mk_env',
      undefined,
    ]);
    expect(requests.map((request) => request.url)).toEqual(Array(3).fill('/hooks/codex?user_id=ada'));
  });

  it('shortens the texts of an input only if it is too large for the service', async () => {
    const prompt = 'word '.repeat(12_000);
    await run({ session_id: 's', prompt });
    await run({ session_id: 's', prompt: 'ä'.repeat(200_000) });
    expect(JSON.parse(requests[0]?.body ?? '')).toEqual({ session_id: 's', prompt });
    expect(Buffer.byteLength(requests[1]?.body ?? '')).toBeLessThanOrEqual(64 * 1024);
    const { prompt: sent, ...others } = JSON.parse(requests[1]?.body ?? '');
    expect(others).toEqual({ session_id: 's' });
    expect(sent).toMatch(/^ä{20000,}$/);
  });

  it('sends no part of a secret at the end of a text that it shortens', async () => {
    const secret = `ghp_${'aB3dE5fG7h'.repeat(10)}`;
    await run({ prompt: `${'x'.repeat(65_536 * 0.7 - 60)} ${secret} ${'y '.repeat(20_000)}` });
    expect(requests[0]?.body).toMatch(/x "}$/);
  });

  it.each(['<html>another program on the port</html>', '[1]', 'null', '"text"'])(
    'prints nothing for the response %j, which is no object',
    async (answer) => {
      respond = (response) => response.end(answer);
      expect(await run({})).toEqual(SILENT);
    },
  );

  it.each([
    ['https://ada:secret@github.com/ada/garden.git', 'github.com/ada/garden'],
    ['git@github.com:ada/garden.git', 'github.com/ada/garden'],
    ['ssh://git@example.com:2222/ada/garden.git/', 'example.com/ada/garden'],
    ['https://example.com:8443/gärten/a b?token=x', 'example.com/gärten/a'],
    ['"https://example.com/ada/garden?token=x;y#z"', 'example.com/ada/garden'],
    ['git@example.com:/ada//garden.git', 'example.com/ada/garden'],
  ])('sends the remote %s as %s', async (remote, project) => {
    const config = `[core]\n\tbare = false\n[remote "fork"]\n\turl = https://x.org/y\n[remote "origin"]\n\tfetch = +refs/[a]*\r\n\turl = ${remote}\n[branch "main"]\n`;
    const top = makeRepository('garden', config, 'ref: refs/heads/fix/über 1\n');
    mkdirSync(join(top, 'src', 'deep'), { recursive: true });
    await run({ cwd: join(top, 'src', 'deep') });
    const { 'x-memoryd-project': sent = '', 'x-memoryd-branch': branch = '' } = requests[0]?.headers ?? {};
    expect(decodeURIComponent(String(sent))).toBe(project);
    expect(decodeURIComponent(String(branch))).toBe('fix/über 1');
  });

  it.each(['/srv/git/garden.git', 'C:\\git\\garden', '../garden', 'file:///srv/garden'])(
    'sends no project for the local remote %s',
    async (remote) => {
      await run({ cwd: makeRepository('garden', `[remote "origin"]\n\turl = ${remote}\n`) });
      expect(requests[0]?.headers).not.toHaveProperty('x-memoryd-project');
    },
  );

  it.each(['https://ada:pass/word@example.com/ada/garden', 'helper::x://ada@example.com/garden'])(
    'sends no project for the remote %s, of which a part may be a password',
    async (remote) => {
      await run({ cwd: makeRepository('garden', `[remote "origin"]\n\turl = ${remote}\n`) });
      expect(requests[0]?.headers).not.toHaveProperty('x-memoryd-project');
    },
  );

  it('reads the remote and the branch of a worktree', async () => {
    const top = makeRepository('garden', '[remote "origin"]\n\turl = git@github.com:ada/garden.git\n');
    const git = join(top, '.git', 'worktrees', 'fix');
    mkdirSync(git, { recursive: true });
    writeFileSync(join(git, 'commondir'), '../..\n');
    writeFileSync(join(git, 'HEAD'), 'ref: refs/heads/fix\n');
    mkdirSync(join(folder, 'tree'));
    writeFileSync(join(folder, 'tree', '.git'), `gitdir: ${git}\n`);
    await run({ workspace_roots: [join(folder, 'tree')] }, { program: 'cursor' });
    expect(requests[0]?.headers).toMatchObject({
      'x-memoryd-project': 'github.com%2Fada%2Fgarden',
      'x-memoryd-branch': 'fix',
    });
  });

  it('sends the input of VS Code, which runs the hooks of Copilot CLI, to the address of VS Code', async () => {
    await run({ hookEventName: 'SessionStart', sessionId: 's' }, { program: 'copilot-cli' });
    await run({ hook_event_name: 'SessionStart', session_id: 's' }, { program: 'copilot-cli' });
    expect(requests.map((request) => request.url)).toEqual([
      '/hooks/vscode?user_id=ada',
      '/hooks/copilot-cli?user_id=ada',
    ]);
  });

  it('adds the prompt of Antigravity from its transcript, but only directly after the person wrote it', async () => {
    const transcriptPath = join(folder, 'transcript.jsonl');
    const rows = [
      { type: 'USER_INPUT', source: 'USER_EXPLICIT', content: 'What may Ada eat?' },
      { type: 'EPHEMERAL_MESSAGE', source: 'SYSTEM', content: 'notes' },
    ];
    const write = () => writeFileSync(transcriptPath, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const options = { program: 'antigravity', event: 'PreInvocation' };
    write();
    await run({ transcriptPath }, options);
    rows.push({ type: 'PLANNER_RESPONSE', source: 'MODEL', content: 'Not peanuts.' });
    write();
    await run({ transcriptPath }, options);
    await run({ transcriptPath }, { ...options, event: 'Stop' });
    await run({ transcriptPath: join(folder, 'missing') }, options);
    await run({ transcriptPath: folder }, options);
    expect(requests.map(({ body }) => JSON.parse(body))).toEqual([
      { transcriptPath, hook_event_name: 'PreInvocation', prompt: 'What may Ada eat?' },
      { transcriptPath, hook_event_name: 'PreInvocation' },
      { transcriptPath, hook_event_name: 'Stop', answer: 'Not peanuts.' },
      { transcriptPath: join(folder, 'missing'), hook_event_name: 'PreInvocation' },
      { transcriptPath: folder, hook_event_name: 'PreInvocation' },
    ]);
  });

  it('replaces the memories in the rules of a connected project of Cursor, and makes no file', async () => {
    const rules = join(folder, '.cursor', 'rules', 'memoryd.mdc');
    const input = { hook_event_name: 'sessionStart', workspace_roots: [folder] };
    const options = { program: 'cursor', event: folder };
    respond = (response) =>
      response.end('{"continue":true,"additional_context":"Ada: memoryd owns this file, peanuts"}');
    await run(input, options);
    expect(readdirSync(folder)).not.toContain('.cursor');
    mkdirSync(join(folder, '.cursor', 'rules'), { recursive: true });
    writeFileSync(rules, '---\nalwaysApply: true\n---\n<!-- memoryd owns this file -->\nold\n');
    for (let count = 0; count < 2; count++) await run(input, options);
    const head = '---\nalwaysApply: true\n---\n<!-- memoryd owns this file -->\n';
    expect(readFileSync(rules, 'utf8')).toBe(`${head}Ada: memoryd owns this file, peanuts\n`);
    respond = (response) => response.end('{"additional_context":"private"}');
    await run(input, { program: 'cursor' });
    expect(readFileSync(rules, 'utf8')).not.toContain('private');
    respond = (response) => response.end('{}');
    await run(input, options);
    expect(readFileSync(rules, 'utf8')).toBe(`${head}\n`);
  });
});
