import { join } from 'node:path';
import { MemoryClient } from '@memoryd/client';
import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../packages/server/conformance/folders.ts';
import { eventually, freePort, launch, untilHealthy } from '../../../packages/server/conformance/process.ts';
import { WORDS_ONLY } from '../../../packages/server/conformance/under-test.ts';
import { hasBrowser, hold, useStage, type Visit } from './browser.ts';

describe.runIf(hasBrowser())('the dashboard in trouble', () => {
  const stage = useStage();
  let visit: Visit;
  let page: Page;

  beforeEach(async () => {
    visit = await stage.visit('/ui/');
    page = visit.page;
    return () => visit.close();
  });

  const goTo = (place: string) => page.goto(`${stage.url}/ui/#/${place}`);
  const button = (name: string | RegExp) => page.getByRole('button', { name });

  it('says of a memory that could not be read that it could not, rather than that it is gone', async () => {
    const { id } = await stage.memory.consolidate();
    await page.route('**/memories/*', (route) => route.abort());
    await goTo(`run?id=${id}`);
    await page.getByText('could not be read just now').first().waitFor({ timeout: 20_000 });
    expect(await page.getByText('forgotten, expired or archived').count()).toBe(0);
  });

  it('says that a memory cannot be shown, though a change of it was saved', async () => {
    const { id } = await stage.memory.store({ content: 'The well is deep' });
    await goTo(`memory?id=${id}`);
    await button('Edit').click();
    await page.getByLabel('Text').fill('The well is shallow');
    await page.route('**/memories/*', (route) => route.abort());
    await button('Save').click();
    await page.getByText('Saved.').waitFor();
    await page.getByRole('alert').waitFor({ timeout: 20_000 });
    await page.unroute('**/memories/*');
    await button('Try again').click();
    await page.locator('.memory .memory-text', { hasText: 'The well is shallow' }).waitFor();
  });

  it('says below a list that more of it could not be had, and goes on from there', async () => {
    await page.route('**/memories?*cursor=*', (route) => route.abort());
    await goTo('explore');
    await page.locator('.row').first().waitFor();
    await eventually('the end of what is there', 20_000, async () => {
      await page.keyboard.press('End');
      return (await page.locator('.list > li').last().getAttribute('aria-posinset')) === '200' || undefined;
    });
    await page.getByRole('alert').waitFor({ timeout: 20_000 });
    // The rows above are measured as they are shown, which moves the end.
    const isEndInSight = async () => {
      await page.keyboard.press('End');
      return page.getByRole('alert').evaluate(isInSight);
    };
    await expect.poll(isEndInSight).toBe(true);
    await page.unroute('**/memories?*cursor=*');
    await button('Try again').click();
    await page.locator('.list > li[aria-posinset="201"]').waitFor({ state: 'attached' });
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it('asks how the service is once at a time, however long an answer takes', async () => {
    await page.locator('.figure').first().waitFor();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    const letGo = await hold(page, '**/stats');
    await page.clock.install();
    await page.goto('about:blank');
    await page.goto(`${stage.url}/ui/`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.clock.runFor(25_000);
    await page.evaluate(() => fetch('/openapi.json'));
    expect(asked.filter((path) => path === '/stats')).toHaveLength(1);
    letGo();
  });

  it('does not offer to keep what is being forgotten', async () => {
    const { id } = await stage.memory.store({ content: 'The lodger moved out' });
    await goTo(`memory?id=${id}`);
    await button('Forget…').click();
    const letGo = await hold(page, `**/forget/${id}`);
    await button('Forget it').click();
    await button('Close').waitFor();
    expect(await button('Keep it').count()).toBe(0);
    letGo();
    await page.getByText('Forgotten for good.').waitFor();
  });

  it('says since when the service is not reachable, and recovers when it is back', async () => {
    const port = await freePort();
    const args = ['--port', String(port), '--db-path', join(temporaryFolder(), 'memory.db')];
    const first = launch(args, WORDS_ONLY);
    await untilHealthy(port, first);
    await page.goto('about:blank');
    await page.goto(`http://127.0.0.1:${port}/ui/`);
    await page.locator('.figure').first().waitFor();
    expect(await page.locator('.live-listening').textContent()).toBe('live');
    await first.end('SIGKILL');
    await page.getByText(/not reachable since \d\d:\d\d, retrying/).waitFor();
    expect(await page.locator('.figures.stale, .columns.stale').count()).toBe(2);
    const second = launch(args, WORDS_ONLY);
    await untilHealthy(port, second);
    await page.locator('.live-listening', { hasText: 'live' }).waitFor();
    expect(await page.locator('.stale').count()).toBe(0);
    await new MemoryClient({ url: `http://127.0.0.1:${port}` }).store({ content: 'stored after the return' });
    await page.getByText('stored 1 memory').first().waitFor();
    await page.goto('about:blank');
    await second.end('SIGTERM');
  });

  it('brings nobody back who went on while sleep was under way', async () => {
    await stage.memory.store({ content: 'The gutter is full of leaves' });
    await goTo('sleep');
    await button('See what sleep would do now').click();
    const letGo = await hold(page, '**/consolidate');
    await button('Sleep now').click();
    await goTo('recall?query=gutter');
    await page.locator('.result').first().waitFor();
    const answered = page.waitForResponse((response) => response.url().endsWith('/consolidate'));
    letGo();
    const { id } = (await (await answered).json()) as { id: string };
    await eventually('the run', 20_000, async () => {
      const { consolidations } = await stage.memory.consolidations({ limit: 1 });
      return consolidations[0]?.id === id || undefined;
    });
    await page.getByRole('searchbox').fill('leaves');
    await page.waitForResponse((response) => response.url().includes('query=leaves'));
    expect(page.url()).toContain('#/recall');
  });

  it('listens only while it is in sight, and then hears what it missed', async () => {
    const setSight = (one: Page, hidden: boolean) =>
      one.evaluate((value) => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => value });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
    await page.locator('.figure').first().waitFor();
    await stage.memory.store({ content: 'The first of the swallows' });
    await page.getByText('stored 1 memory').first().waitFor();
    const others: Page[] = [page];
    // One more than a browser has connections for.
    for (let i = 0; i < 7; i++) {
      await setSight(others.at(-1) as Page, true);
      const other = await page.context().newPage();
      others.push(other);
      await other.goto(`${stage.url}/ui/`, { timeout: 20_000 });
      await other.locator('.figure').first().waitFor();
    }
    const { id } = await stage.memory.store({ content: 'The last of the swallows' });
    await setSight(page, false);
    await page.locator(`.happening a[title="${id}"]`).first().waitFor();
  });

  it('is shown to who came with a name and password for a proxy, and names neither', async () => {
    await page.goto('about:blank');
    await page.goto(`${stage.url.replace('//', '//ada:pass@')}/ui/#/recall?query=piano`);
    await page.locator('.result').first().waitFor();
    await page.getByText('This request as code').click();
    expect((await page.locator('.sample').allInnerTexts()).join()).not.toContain('pass');
  });

  it('is shown by a browser that may keep nothing', async () => {
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
    await page.getByRole('radio', { name: 'dark' }).check();
    expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
  });

  it('shows the overview at an address that names no view', async () => {
    for (const place of ['nowhere', 'constructor', '__proto__']) {
      await goTo(place);
      await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
      expect(await page.title()).toBe('Overview · memoryd');
    }
  });
});

/** Whether all of an element is within the window. */
function isInSight(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
}
