import { existsSync } from 'node:fs';
import { MemoryClient } from '@memoryd/client';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { type ProcessOptions, type ServerProcess, startProcess } from '../../../packages/server/conformance/process.ts';
import { fixtureMemories } from '../fixtures/memories.ts';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

/**
 * Whether the tests that need a browser can run; says so where they cannot. `BROWSER_TESTS=required` makes a browser that is
 * missing a failure.
 */
export function hasBrowser(): boolean {
  if (existsSync(CHROMIUM)) return true;
  const missing = `no Chromium at ${CHROMIUM} (CHROMIUM names another place; Debian has it in the package chromium)`;
  if (process.env.BROWSER_TESTS === 'required') throw new Error(missing);
  process.stderr.write(`tests of the dashboard are left out: ${missing}\n`);
  return false;
}

/** A browser's page that remembers whatever went wrong in it. */
export interface Visit {
  page: Page;
  /** Errors on the console, exceptions, and requests to anywhere but the server. */
  troubles: string[];
  close(): Promise<void>;
}

/** A server filled with the fixture and a browser to look at it, for the tests of one file. */
export interface Stage {
  readonly server: ServerProcess;
  readonly url: string;
  readonly memory: MemoryClient;
  visit(path: string, options?: BrowserContextOptions): Promise<Visit>;
}

export interface StageOptions extends ProcessOptions {
  /** Shown with what the stage itself asks of the server. */
  apiKey?: string;
}

export function useStage({ apiKey, ...options }: StageOptions = {}): Stage {
  let server: ServerProcess | undefined;
  let browser: Browser | undefined;
  let memory: MemoryClient | undefined;
  const there = <T>(thing: T | undefined): T => {
    if (thing === undefined) throw new Error('the stage is not set yet');
    return thing;
  };
  beforeAll(async () => {
    server = await startProcess(options);
    memory = new MemoryClient({ url: `http://127.0.0.1:${server.port}`, ...(apiKey !== undefined && { apiKey }) });
    // So that no run that comes by itself changes what the tests look at.
    await memory.consolidate();
    const { failed_count } = await memory.storeBatch(fixtureMemories(Date.now()));
    expect(failed_count).toBe(0);
    // Without the sandbox, as root has none.
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });
  return {
    get server() {
      return there(server);
    },
    get url() {
      return `http://127.0.0.1:${there(server).port}`;
    },
    get memory() {
      return there(memory);
    },
    async visit(path, context) {
      const opened = await there(browser).newContext({ locale: 'en-GB', timezoneId: 'Europe/Lisbon', ...context });
      // As long as a test: a machine that does much else takes its time.
      opened.setDefaultTimeout(60_000);
      const page = await opened.newPage();
      const troubles = getTroubles(page, `http://127.0.0.1:${there(server).port}/`);
      await page.goto(`http://127.0.0.1:${there(server).port}${path}`);
      return { page, troubles, close: () => opened.close() };
    },
  };
}

/** Holds requests of a page until what this answers is called. */
export async function hold(page: Page, path: string | RegExp): Promise<() => void> {
  let letGo = () => {};
  const released = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route(path, async (route) => {
    await released;
    // The page may have given it up meanwhile.
    await route.continue().catch(() => undefined);
  });
  return letGo;
}

function getTroubles(page: Page, home: string): string[] {
  const troubles: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') troubles.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => troubles.push(`exception: ${error.message}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(home) && !/^(blob|data):/.test(url)) troubles.push(`outside request: ${url}`);
  });
  return troubles;
}
