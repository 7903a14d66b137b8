import { join } from 'node:path';
import { MemoryClient } from '@memoryd/client';
import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { createTemporaryFolder } from '../../../packages/server/conformance/folders.ts';
import { eventually, freePort, launch, untilHealthy } from '../../../packages/server/conformance/process.ts';
import { WORDS_ONLY } from '../../../packages/server/conformance/under-test.ts';
import { fail, hasBrowser, hold, intercept, openWithEvents, useStage, type Visit } from './browser.ts';

describe.runIf(hasBrowser())('dashboard during failures', () => {
  const stage = useStage();
  let visit: Visit;
  let page: Page;

  beforeEach(async () => {
    visit = await stage.visit('/ui/');
    page = visit.page;
    return () => visit.close();
  });

  const goTo = (address: string) => page.goto(`${stage.url}/ui/#/${address}`);
  const button = (name: string | RegExp) => page.getByRole('button', { name });

  it('distinguishes a memory that failed to load from a missing one', async () => {
    const { id } = await stage.memory.consolidate();
    await intercept(page, '**/memories/*', (route) => route.abort());
    await goTo(`run?id=${id}`);
    await page.getByText('Text not loaded').first().waitFor({ timeout: 20_000 });
    expect(await page.getByText('forgotten, expired or archived').count()).toBe(0);
  });

  it('reports that a memory failed to reload after a saved change', async () => {
    const { id } = await stage.memory.store({ content: 'The well is deep' });
    // The event of the change would load the memory again, too.
    await page.goto('about:blank');
    await intercept(page, '**/events*', (route) => route.abort());
    await goTo(`?open=${id}`);
    await button(/^Edit$/).click();
    await page.getByRole('textbox', { name: 'Text', exact: true }).fill('The well is shallow');
    await intercept(page, '**/memories/*', fail);
    await button('Save').click();
    await page.getByText('Changes saved.').waitFor();
    await page.getByRole('alert').waitFor({ timeout: 20_000 });
    await page.unroute('**/memories/*');
    await button('Try again').first().click();
    await page.locator('.memory .memory-text', { hasText: 'The well is shallow' }).waitFor();
  });

  it.each([
    { after: 'a click on Try again', recover: () => button('Try again').click() },
    {
      after: 'an event of a new session',
      recover: () => stage.memory.store({ content: 'A late talk', session_id: 'talk-late' }),
    },
  ])('shows an error with the list if the next page fails to load, and loads it after $after', async ({ recover }) => {
    const turns = Array.from({ length: 250 }, (_, i) => ({ content: `Talk ${i}`, session_id: `talk-${1000 + i}` }));
    expect((await stage.memory.storeBatch(turns)).failed_count).toBe(0);
    // The next page has no events of these memories.
    await page.goto('about:blank');
    await intercept(page, '**/sessions?*cursor=*', fail);
    await goTo('sessions');
    await page.locator('.row').first().waitFor();
    await eventually('the end of the first page', 20_000, async () => {
      await page.keyboard.press('End');
      return (await page.locator('.list > li').last().getAttribute('aria-posinset')) === '200' || undefined;
    });
    await page.getByRole('alert').waitFor({ timeout: 20_000 });
    await page.unroute('**/sessions?*cursor=*');
    await recover();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await eventually('the next page', 20_000, async () => {
      await page.keyboard.press('End');
      return Number(await page.locator('.list > li').last().getAttribute('aria-posinset')) > 200 || undefined;
    });
  });

  it('polls the service one request at a time, even if it is slow', async () => {
    await page.goto('about:blank');
    const paths: string[] = [];
    page.on('request', (request) => paths.push(new URL(request.url()).pathname));
    const release = await hold(page, '**/stats');
    await page.clock.install();
    await page.goto(`${stage.url}/ui/`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    // Three polls, and less than the timeout of a request.
    await page.clock.runFor(15_000);
    await page.evaluate(() => fetch('/openapi.json'));
    expect(paths.filter((path) => path === '/stats')).toHaveLength(1);
    release();
  });

  it('shows when the service became unreachable, keeps what it shows, and recovers by itself', async () => {
    const port = await freePort();
    const args = ['--port', String(port), '--db-path', join(createTemporaryFolder(), 'memory.db')];
    const first = launch(args, WORDS_ONLY);
    await untilHealthy(port, first);
    const memory = new MemoryClient({ url: `http://127.0.0.1:${port}` });
    const store = (session_id: string) => memory.store({ content: `A turn of the ${session_id}`, session_id });
    await store('before-the-outage');
    await page.goto('about:blank');
    await page.goto(`http://127.0.0.1:${port}/ui/#/sessions`);
    await page.locator('.row', { hasText: 'before-the-outage' }).waitFor();
    await page.locator('.live', { hasText: /^Live$/ }).waitFor();
    await first.end('SIGKILL');
    await page.getByText(/Service unreachable since \d\d:\d\d; retrying/).waitFor();
    await page.locator('.live', { hasText: /^Unreachable since \d\d:\d\d$/ }).waitFor();
    expect(await page.locator('.row', { hasText: 'before-the-outage' }).count()).toBe(1);
    // A view that is opened during the outage.
    await page.goto(`http://127.0.0.1:${port}/ui/#/session?id=before-the-outage`);
    await page.getByRole('alert').waitFor();
    const second = launch(args, WORDS_ONLY);
    await untilHealthy(port, second);
    await page.locator('.turn', { hasText: 'A turn of the before-the-outage' }).waitFor();
    await page.locator('.live', { hasText: /^Live$/ }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await page.getByText('Service unreachable').count()).toBe(0);
    await page.getByRole('link', { name: 'Sessions', exact: true }).first().click();
    await page.locator('.row').first().waitFor();
    await store('after-the-outage');
    await page.locator('.row', { hasText: 'after-the-outage' }).waitFor();
    await page.goto('about:blank');
    await second.end('SIGTERM');
  });

  it('shows an error that does not pass above the list, with a button that loads the list again', async () => {
    await intercept(page, '**/sessions?*', fail);
    await goTo('sessions');
    await page.getByRole('alert').waitFor();
    await page.unroute('**/sessions?*');
    await button('Try again').click();
    await page.locator('.row').first().waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('stays in the current view when a consolidation run ends that was started in another view', async () => {
    await stage.memory.store({ content: 'The gutter is full of leaves' });
    await goTo('consolidation');
    await button('Preview consolidation').click();
    const release = await hold(page, '**/consolidate');
    await button('Run consolidation now').click();
    await goTo('recall?query=gutter');
    await page.locator('.result').first().waitFor();
    const responded = page.waitForResponse((response) => response.url().endsWith('/consolidate'));
    release();
    const { id } = (await (await responded).json()) as { id: string };
    await eventually('the run', 20_000, async () => {
      const { consolidations } = await stage.memory.consolidations({ limit: 1 });
      return consolidations[0]?.id === id || undefined;
    });
    const recalled = page.waitForResponse((response) => response.url().includes('query=leaves'));
    await page.getByRole('searchbox').fill('leaves');
    await recalled;
    expect(page.url()).toContain('#/recall');
  });

  it('streams events only while its tab is visible, and loads the events missed while hidden', async () => {
    const setHidden = (one: Page, hidden: boolean) =>
      one.evaluate((value) => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
    await openWithEvents(page, `${stage.url}/ui/#/activity`);
    await stage.memory.store({ content: 'The first of the swallows' });
    await page.locator('.activity-list').getByText('The first of the swallows').waitFor();
    const others: Page[] = [page];
    // One more tab than a browser has connections.
    for (let i = 0; i < 7; i++) {
      await setHidden(others.at(-1) as Page, true);
      const other = await page.context().newPage();
      others.push(other);
      await other.goto(`${stage.url}/ui/`, { timeout: 20_000 });
      await other.locator('.table-text').first().waitFor();
    }
    await stage.memory.store({ content: 'The last of the swallows' });
    await setHidden(page, false);
    await page.locator('.activity-list').getByText('The last of the swallows').waitFor();
  });

  it('works at a URL with proxy credentials, and does not show the credentials', async () => {
    await page.goto('about:blank');
    await page.goto(`${stage.url.replace('//', '//ada:pass@')}/ui/#/recall?query=piano`);
    await page.locator('.result').first().waitFor();
    await page.getByText('This request as code').click();
    expect((await page.locator('.sample').allInnerTexts()).join()).not.toContain('pass');
  });

  it('works in a browser that blocks web storage', async () => {
    await page.addInitScript(() => {
      for (const name of ['localStorage', 'sessionStorage']) {
        Object.defineProperty(window, name, {
          get() {
            throw new DOMException('denied', 'SecurityError');
          },
        });
      }
    });
    await page.reload();
    await page.locator('.live-live').waitFor();
    await page.getByRole('radio', { name: 'Dark' }).check();
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
  });

  it('shows the memories for an unknown address', async () => {
    for (const address of ['nowhere', 'constructor', '__proto__']) {
      await goTo('sessions');
      await page.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor();
      await goTo(address);
      await page.getByRole('link', { name: 'Memories', exact: true }).and(page.locator('[aria-current]')).waitFor();
      expect(await page.title()).toBe('Memories · memoryd');
    }
  });
});
