import { join } from 'node:path';
import { MemoryClient } from '@memoryd/client';
import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { createTemporaryFolder } from '../../../packages/server/conformance/folders.ts';
import { eventually, freePort, launch, untilHealthy } from '../../../packages/server/conformance/process.ts';
import { WORDS_ONLY } from '../../../packages/server/conformance/under-test.ts';
import { hasBrowser, hold, useStage, type Visit } from './browser.ts';

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
    await page.route('**/memories/*', (route) => route.abort());
    await goTo(`run?id=${id}`);
    await page.getByText('Text not loaded').first().waitFor({ timeout: 20_000 });
    expect(await page.getByText('forgotten, expired or archived').count()).toBe(0);
  });

  it('reports that a memory failed to reload after a saved change', async () => {
    const { id } = await stage.memory.store({ content: 'The well is deep' });
    await goTo(`memory?id=${id}`);
    await button('Edit').click();
    await page.getByLabel('Content').fill('The well is shallow');
    await page.route('**/memories/*', (route) => route.abort());
    await button('Save').click();
    await page.getByText('Changes saved.').waitFor();
    await page.getByRole('alert').waitFor({ timeout: 20_000 });
    await page.unroute('**/memories/*');
    await button('Try again').click();
    await page.locator('.memory .memory-text', { hasText: 'The well is shallow' }).waitFor();
  });

  it('shows an error below the list if the next page fails to load, and retries', async () => {
    await page.route('**/memories?*cursor=*', (route) => route.abort());
    await goTo('explore');
    await page.locator('.row').first().waitFor();
    await eventually('the end of the first page', 20_000, async () => {
      await page.keyboard.press('End');
      return (await page.locator('.list > li').last().getAttribute('aria-posinset')) === '200' || undefined;
    });
    await page.getByRole('alert').waitFor({ timeout: 20_000 });
    // Rows above move the end when they are rendered and measured.
    const isEndVisible = async () => {
      await page.keyboard.press('End');
      return page.getByRole('alert').evaluate(isVisible);
    };
    await expect.poll(isEndVisible).toBe(true);
    await page.unroute('**/memories?*cursor=*');
    await button('Try again').click();
    await page.locator('.list > li[aria-posinset="201"]').waitFor({ state: 'attached' });
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('polls the service one request at a time, even if it is slow', async () => {
    await page.locator('.figure').first().waitFor();
    const paths: string[] = [];
    page.on('request', (request) => paths.push(new URL(request.url()).pathname));
    const release = await hold(page, '**/stats');
    await page.clock.install();
    await page.goto('about:blank');
    await page.goto(`${stage.url}/ui/`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.clock.runFor(25_000);
    await page.evaluate(() => fetch('/openapi.json'));
    expect(paths.filter((path) => path === '/stats')).toHaveLength(1);
    release();
  });

  it('the dashboard during failures has no Cancel button while a memory is being forgotten', async () => {
    const { id } = await stage.memory.store({ content: 'The lodger moved out' });
    await goTo(`memory?id=${id}`);
    await button('Forget…').click();
    const release = await hold(page, `**/forget/${id}`);
    await button('Forget memory').click();
    await button('Close').waitFor();
    expect(await button('Cancel').count()).toBe(0);
    release();
    await page.getByText('Memory forgotten.').waitFor();
  });

  it('shows when the service became unreachable, and recovers', async () => {
    const port = await freePort();
    const args = ['--port', String(port), '--db-path', join(createTemporaryFolder(), 'memory.db')];
    const first = launch(args, WORDS_ONLY);
    await untilHealthy(port, first);
    const memory = new MemoryClient({ url: `http://127.0.0.1:${port}` });
    await memory.store({ content: 'stored before the outage' });
    await page.goto('about:blank');
    await page.goto(`http://127.0.0.1:${port}/ui/`);
    await page.locator('.figure').first().waitFor();
    expect(await page.locator('.live-live').textContent()).toBe('Live');
    await first.end('SIGKILL');
    await page.getByText(/Service unreachable since \d\d:\d\d; retrying/).waitFor();
    expect(await page.locator('.figures.stale, .columns.stale').count()).toBe(2);
    const second = launch(args, WORDS_ONLY);
    await untilHealthy(port, second);
    await page.locator('.live-live', { hasText: 'Live' }).waitFor();
    expect(await page.locator('.stale').count()).toBe(0);
    await memory.store({ content: 'stored after the outage' });
    await page.getByText('Stored 1 memory').first().waitFor();
    await page.goto('about:blank');
    await second.end('SIGTERM');
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
    await page.getByRole('searchbox').fill('leaves');
    await page.waitForResponse((response) => response.url().includes('query=leaves'));
    expect(page.url()).toContain('#/recall');
  });

  it('streams events only while its tab is visible, and loads the events missed while hidden', async () => {
    const setHidden = (one: Page, hidden: boolean) =>
      one.evaluate((value) => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
    await page.locator('.figure').first().waitFor();
    await stage.memory.store({ content: 'The first of the swallows' });
    await page.getByText('Stored 1 memory').first().waitFor();
    const others: Page[] = [page];
    // One more tab than a browser has connections.
    for (let i = 0; i < 7; i++) {
      await setHidden(others.at(-1) as Page, true);
      const other = await page.context().newPage();
      others.push(other);
      await other.goto(`${stage.url}/ui/`, { timeout: 20_000 });
      await other.locator('.figure').first().waitFor();
    }
    const { id } = await stage.memory.store({ content: 'The last of the swallows' });
    await setHidden(page, false);
    await page.locator(`.activity a[title="${id}"]`).first().waitFor();
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
    await page.locator('.figure').first().waitFor();
    await page.getByRole('radio', { name: 'Dark' }).check();
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
  });

  it('shows the overview for an unknown address', async () => {
    for (const address of ['nowhere', 'constructor', '__proto__']) {
      await goTo(address);
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
      expect(await page.title()).toBe('Overview · memoryd');
    }
  });
});

/** Returns whether an element is completely visible. */
function isVisible(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}
