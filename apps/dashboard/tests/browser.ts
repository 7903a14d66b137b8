import { existsSync } from 'node:fs';
import { MemoryClient } from '@memoryd/client';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page, type Route } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import {
  eventually,
  type ProcessOptions,
  type ServerProcess,
  startProcess,
} from '../../../packages/server/conformance/process.ts';
import { fixtureMemories } from '../fixtures/memories.ts';

/** Path of a request that `intercept` always answers. */
const PROBE = '/health?intercepted';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';

/**
 * Returns whether a browser is installed, and reports a missing browser.
 *
 * @throws if the browser is missing and `BROWSER_TESTS=required` is set
 */
export function hasBrowser(): boolean {
  if (existsSync(CHROMIUM)) return true;
  const missing = `no Chromium at ${CHROMIUM} (set CHROMIUM to its path; on Debian, install the package chromium)`;
  if (process.env.BROWSER_TESTS === 'required') throw new Error(missing);
  process.stderr.write(`dashboard tests are skipped: ${missing}\n`);
  return false;
}

/** A browser page and the problems seen in it. */
export interface Visit {
  page: Page;
  /** Console errors and warnings, exceptions, and requests to other hosts, except those that `allow` was called for. */
  readonly problems: string[];
  /** Allows the problems that match, before and after the call: the browser may log a response late. */
  allow(pattern: RegExp): void;
  close(): Promise<void>;
}

/** A server with the fixture memories and a browser, for the tests of one file. */
export interface Stage {
  readonly server: ServerProcess;
  readonly url: string;
  readonly memory: MemoryClient;
  /** Waits until all memories are embedded. Until then, the results of a recall may change. */
  untilEmbedded(): Promise<void>;
  visit(path: string, options?: BrowserContextOptions): Promise<Visit>;
}

export interface StageOptions extends ProcessOptions {
  /** The API key that the client `memory` sends. */
  apiKey?: string;
  /** Leaves the store empty. */
  isEmpty?: boolean;
}

export function useStage({ apiKey, isEmpty = false, ...options }: StageOptions = {}): Stage {
  let server: ServerProcess | undefined;
  let browser: Browser | undefined;
  let memory: MemoryClient | undefined;
  const started = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error('the stage starts before the tests, not before the block');
    return value;
  };
  beforeAll(async () => {
    server = await startProcess(options);
    memory = new MemoryClient({ url: `http://127.0.0.1:${server.port}`, ...(apiKey !== undefined && { apiKey }) });
    // A run now delays the next automatic run until after the tests.
    await memory.consolidate();
    if (!isEmpty) {
      const { failed_count } = await memory.storeBatch(fixtureMemories(Date.now()));
      expect(failed_count).toBe(0);
    }
    // Chromium does not start as root with its sandbox.
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await Promise.all(getPages(browser).map(printPage));
  });
  afterAll(async () => {
    await browser?.close();
    await server?.stop();
  });
  return {
    get server() {
      return started(server);
    },
    get url() {
      return `http://127.0.0.1:${started(server).port}`;
    },
    get memory() {
      return started(memory);
    },
    async untilEmbedded() {
      await eventually('all embeddings', 60_000, async () => {
        return (await started(memory).stats()).pending_embeddings === 0 || undefined;
      });
    },
    async visit(path, options) {
      const context = await started(browser).newContext({ locale: 'en-GB', timezoneId: 'Europe/Lisbon', ...options });
      // Long, because a loaded machine may be slow.
      context.setDefaultTimeout(60_000);
      const page = await context.newPage();
      const problems = getProblems(page, `http://127.0.0.1:${started(server).port}/`);
      await page.goto(`http://127.0.0.1:${started(server).port}${path}`);
      const allowed: RegExp[] = [];
      return {
        page,
        get problems() {
          return problems.filter((problem) => !allowed.some((pattern) => pattern.test(problem)));
        },
        allow: (pattern) => void allowed.push(pattern),
        close: () => context.close(),
      };
    },
  };
}

const getPages = (browser: Browser | undefined) => browser?.contexts().flatMap((context) => context.pages()) ?? [];

/** Prints what a page shows, because the error of a missing element does not say what is there instead. */
async function printPage(page: Page): Promise<void> {
  process.stderr.write(`The page at ${page.url()} shows:\n${await page.locator('body').ariaSnapshot()}\n`);
}

/**
 * Opens an address and waits until the page has its stream of events: it does not show earlier events. The stream of the
 * page that was open before ends first, so that its late response is not taken for the new one.
 */
export async function openWithEvents(page: Page, address: string): Promise<void> {
  await page.goto('about:blank');
  const isOpen = page.waitForResponse((response) => new URL(response.url()).pathname === '/events');
  await page.goto(address);
  await isOpen;
}

/** Returns a row of the table whose memory is loaded: keys do nothing in a row that is loading. Counts from 1. */
export const getRow = (page: Page, position: number) =>
  page.locator(`[aria-rowindex="${position + 1}"]:not([aria-busy="true"])`);

/**
 * Handles the requests of a page to `path` from now on. Playwright alone lets requests pass that a page sends right after
 * its first route, so this waits until a request is handled.
 */
export async function intercept(
  page: Page,
  path: string | RegExp,
  handle: (route: Route) => Promise<unknown>,
): Promise<void> {
  await page.route(path, handle);
  // No request of the next page passes.
  if (page.url() === 'about:blank') return;
  await page.route(
    ({ pathname, search }) => pathname + search === PROBE,
    (route) => route.fulfill({ body: 'intercepted' }),
  );
  const probe = (url: string) => fetch(url).then((response) => response.text());
  const getAnswer = () => page.evaluate(probe, new URL(PROBE, page.url()).href).catch(() => undefined);
  await expect.poll(getAnswer).toBe('intercepted');
}

/** Answers a request of a page with an error after which the page does not try again by itself. */
export const fail = (route: Route): Promise<void> =>
  route.fulfill({ status: 500, json: { error: { code: 'INTERNAL_ERROR', message: 'the database is broken' } } });

/** Delays the requests of a page to `path` until the returned function is called. */
export async function hold(page: Page, path: string | RegExp): Promise<() => void> {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await intercept(page, path, async (route) => {
    await released;
    // The page may have aborted the request.
    await route.continue().catch(() => undefined);
  });
  return release;
}

function getProblems(page: Page, home: string): string[] {
  const problems: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`exception: ${error.message}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(home) && !/^(blob|data):/.test(url)) problems.push(`outside request: ${url}`);
  });
  return problems;
}

/**
 * Returns the rules of accessibility that the page breaks, each with the element.
 *
 * @param rules limits the check to these rules of axe
 */
export async function getViolations(page: Page, rules?: string[]): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source);
  const options: axe.RunOptions = {
    resultTypes: ['violations'],
    ...(rules && { runOnly: { type: 'rule', values: rules } }),
  };
  const { violations } = await page.evaluate(
    (chosen) => (globalThis as unknown as { axe: typeof axe }).axe.run(chosen),
    options,
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, any }) => `${id} ${html.slice(0, 200)} ${any[0]?.message ?? ''}`),
  );
}
