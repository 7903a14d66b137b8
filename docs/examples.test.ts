import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { MemoryClient } from '@memoryd/client';
import { openMemory } from '@memoryd/engine';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTemporaryFolder } from '../packages/server/conformance/process.ts';
import { useServer, WORDS_ONLY } from '../packages/server/conformance/under-test.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

/** Returns the lines of a program without blank lines and comments. */
function getLines(path: string): string[] {
  const lines = readFileSync(join(root, path), 'utf8').split('\n');
  return lines.filter((line) => !/^\s*(\/\/.*)?$/.test(line));
}

describe('the chat agent example', () => {
  const folder = createTemporaryFolder();
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const program = join(root, 'examples/chat/agent.mjs');

  /** Runs one conversation and returns the agent's output. */
  async function converse(lines: string[], env: Record<string, string> = {}): Promise<string> {
    const { OPENAI_BASE_URL: _none, ...inherited } = process.env;
    const file = { MEMORY_FILE: join(folder, 'chat.db') };
    const running = execFile(process.execPath, [program], { env: { ...inherited, ...file, ...env } });
    running.stdin?.end(lines.map((line) => `${line}\n`).join(''));
    let output = '';
    running.stdout?.on('data', (text) => (output += text));
    let failure = '';
    running.stderr?.on('data', (text) => (failure += text));
    const [code] = await once(running, 'close');
    expect([code, failure]).toEqual([0, '']);
    return output;
  }

  it('the chat agent example has at most 30 lines', () => {
    expect(getLines('examples/chat/agent.mjs').length).toBeLessThanOrEqual(30);
  });

  it('recalls messages of an earlier conversation', async () => {
    expect(await converse(['My kestrel is called Falstaff', ''])).toBe('I will remember that.\n');
    expect(await converse(['What is my kestrel called?'])).toMatch(
      /^I remember:\nFrom memory\.[\s\S]*\n {2}My kestrel is called Falstaff\n[\s\S]*<\/memories>\n$/,
    );
  });

  it('sends memories and the conversation to an OpenAI-compatible endpoint, and stores the responses', async () => {
    const requests: { headers: IncomingMessage['headers']; url: string | undefined; body: unknown }[] = [];
    const model = createServer(async (request, response) => {
      requests.push({ url: request.url, headers: request.headers, body: await json(request) });
      const message = { role: 'assistant', content: `Answer ${requests.length}` };
      response.end(JSON.stringify({ choices: [{ message }] }));
    }).listen(0, '127.0.0.1');
    await once(model, 'listening');
    const { port } = model.address() as AddressInfo;
    const env = { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, OPENAI_MODEL: 'a-model', OPENAI_API_KEY: 'a-key' };
    expect(await converse(['Where does Falstaff the kestrel live?', 'Are you sure?'], env)).toBe(
      'Answer 1\nAnswer 2\n',
    );
    model.close();
    expect(requests[1]).toMatchObject({
      url: '/v1/chat/completions',
      headers: { authorization: 'Bearer a-key' },
      body: {
        model: 'a-model',
        messages: [
          { role: 'user', content: 'Where does Falstaff the kestrel live?' },
          { role: 'assistant', content: 'Answer 1' },
          { role: 'user', content: 'Are you sure?' },
        ],
      },
    });
    const body = requests[0]?.body as { messages: Record<string, string>[] } | undefined;
    const { role, content } = body?.messages[0] ?? {};
    expect([role, content]).toEqual(['system', expect.stringMatching(/not instructions/)]);
    expect(content).toContain('My kestrel is called Falstaff');
    const memory = await openMemory(join(folder, 'chat.db'), { embedder: 'none' });
    const { sessions } = await memory.sessions({});
    expect(sessions.map(({ total }) => total).sort()).toEqual([2, 2, 4]);
    await memory.close();
  });
});

/** Serves the page for all tests of the calling block. Returns a function that returns its origin. */
function usePage(): () => string {
  const serving = spawn(process.execPath, [join(root, 'examples/browser/serve.mjs'), '0'], { stdio: 'pipe' });
  const firstOutput = once(serving.stdout, 'data');
  let origin = '';
  beforeAll(async () => {
    origin = String(await firstOutput).trim();
  });
  afterAll(() => serving.kill());
  return () => origin;
}

describe('the web page example', () => {
  const origin = usePage();

  it('the web page example is served with every module that it imports and no other files', async () => {
    const page = await (await fetch(origin())).text();
    const pending = [/"@memoryd\/client": "([^"]+)"/.exec(page)?.[1] as string];
    const seen = new Set<string>();
    for (let path = pending.pop(); path; path = pending.pop()) {
      seen.add(path);
      const response = await fetch(origin() + path);
      expect([path, response.status, response.headers.get('content-type')]).toEqual([
        ...[path, 200, 'text/javascript; charset=utf-8'],
      ]);
      const imports = [...(await response.text()).matchAll(/ from '\.\/([^']+)'/g)].map(
        ([, name]) => `/client/${name}`,
      );
      pending.push(...imports.filter((each) => !seen.has(each)));
    }
    expect(seen.size).toBeGreaterThan(5);
    for (const path of [
      '/client/',
      '/client/..%2fpackage.json',
      '/client/../package.json',
      '/serve.mjs',
      '/client/no.js',
    ]) {
      expect((await fetch(origin() + path)).status, path).toBe(404);
    }
  });
});

const hasBrowser = existsSync(CHROMIUM);
// biome-ignore lint/suspicious/noConsole: the test run must show skipped tests
if (!hasBrowser) console.log(`skipped: there is no ${CHROMIUM}; set CHROMIUM to the path of a browser`);

describe.runIf(hasBrowser)('the web page example in a browser', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  const origin = usePage();
  let browser: Browser;
  let page: Page;
  const problems: string[] = [];
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    page = await browser.newPage();
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => problems.push(message.text()));
    await page.goto(`${origin()}/?service=http://127.0.0.1:${memoryd.server.port}`);
  });
  afterAll(() => browser.close());

  async function submit(label: string, text: string, button: string): Promise<void> {
    await page.getByLabel(label).fill(text);
    await page.getByRole('button', { name: button }).click();
  }

  it('stores and recalls memories, and shows events', async () => {
    const markup = 'The <b>merlin</b> hunts larks';
    const client = new MemoryClient({ url: `http://127.0.0.1:${memoryd.server.port}` });
    await client.store({ content: 'The merlin of another user', user_id: 'ben' });
    const memory = client.scope({ userId: 'ada' });
    await expect
      .poll(async () => {
        await memory.store({ content: 'heard by those who listen' });
        return page.locator('#events li').count();
      })
      .toBeGreaterThan(0);
    await submit('Remember', markup, 'Store');
    await expect.poll(() => page.getByLabel('Remember').inputValue()).toBe('');
    await submit('Ask', 'What does the merlin hunt?', 'Recall');
    await page.locator('#results li').first().waitFor();
    expect(await page.locator('#results li').allTextContents()).toEqual([
      expect.stringMatching(/^0\.\d\d The <b>merlin<\/b> hunts larks$/),
    ]);
    await expect.poll(() => page.locator('#events li').first().textContent()).toMatch(/ recalled$/);
    expect(problems).toEqual([]);
  });

  it('shows the error of a rejected request', async () => {
    await submit('Ask', ' ', 'Recall');
    await expect.poll(() => page.locator('#problem').textContent()).toMatch(/^INVALID_REQUEST: query must/);
  });
});
