import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hasBrowser, useStage } from './browser.ts';

const SESSION = 'long-talk';
const TURNS = 600;

describe.runIf(hasBrowser())('Back in the dashboard', () => {
  const stage = useStage({ isEmpty: true });
  let page: Page;

  beforeAll(async () => {
    const start = Date.now() - TURNS * 60_000;
    // Rows of very different heights.
    const turns = Array.from({ length: TURNS }, (_, i) => ({
      content: `Turn ${i} about the harbor. ${'The crane lifts another box. '.repeat((i * 7) % 23)}`,
      session_id: SESSION,
      tags: i % 3 === 0 ? ['harbor', 'crane'] : [],
      created_at: new Date(start + i * 60_000).toISOString(),
    }));
    const sessions = Array.from({ length: 300 }, (_, i) => ({
      content: `The only turn of talk ${i}`,
      session_id: `talk-${String(i).padStart(3, '0')}${' with a long name'.repeat(i % 4 === 0 ? 6 : 0)}`,
    }));
    expect((await stage.memory.storeBatch(turns)).failed_count).toBe(0);
    expect((await stage.memory.storeBatch(sessions)).failed_count).toBe(0);
  });

  beforeEach(async () => {
    const visit = await stage.visit('/ui/');
    page = visit.page;
    return () => visit.close();
  });

  const top = (row: string) => page.locator(row).evaluate((element) => Math.round(element.getBoundingClientRect().top));
  /** Windows scroll by whole pixels, but the heights of rows have fractions. */
  const isAt300 = async (row: string) => Math.abs((await top(row)) - 300) <= 1;
  /** Scrolls step by step until a row is at 300 pixels from the top of the window. */
  const scrollTo = async (row: string) => {
    await expect
      .poll(
        async () => {
          if ((await page.locator(row).count()) === 0) {
            await page.mouse.wheel(0, 600);
            return undefined;
          }
          await page.locator(row).evaluate((element) => scrollBy(0, element.getBoundingClientRect().top - 300));
          return top(row);
        },
        // Some rows are more than a hundred steps away.
        { interval: 10, timeout: 60_000 },
      )
      .toBe(300);
  };
  const focusedRow = () => page.evaluate(() => document.activeElement?.closest('li')?.getAttribute('aria-posinset'));

  it.each([
    { view: `session?id=${SESSION}`, posinset: 431, link: '.turn-head a', away: 'Activity' },
    { view: 'sessions', posinset: 233, link: 'a', away: undefined },
    { view: 'recall?query=harbor+crane&top_k=50', posinset: 31, link: '.memory-text a', away: 'Activity' },
  ])(
    'returns to the row and the focus in the view $view, also after a reload',
    async ({ view, posinset, link, away }) => {
      // Vectors change results, and so the row.
      await stage.untilEmbedded();
      await page.goto(`${stage.url}/ui/#/${view}`);
      const row = `.list > li[aria-posinset="${posinset}"]`;
      await page.locator('.list > li').first().waitFor();
      await page.mouse.move(600, 500);
      await scrollTo(row);
      await page.locator(row).locator(link).first().click();
      if (away !== undefined) {
        await page.locator('.beside').waitFor();
        // The list stays where it is beside the memory.
        await expect.poll(() => isAt300(row)).toBe(true);
        await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: away }).click();
        await page.getByRole('heading', { name: away }).waitFor();
        await page.goBack();
        await expect.poll(() => isAt300(row)).toBe(true);
        await page.locator('.beside').waitFor();
      } else {
        await page.locator('.turn').first().waitFor();
      }
      await page.goBack();
      await expect.poll(() => isAt300(row)).toBe(true);
      await expect.poll(focusedRow).toBe(String(posinset));
      await page.reload();
      await expect.poll(() => isAt300(row)).toBe(true);
    },
  );

  it('keeps a row where it was scrolled to, even if the browser reports the heights of rows late', async () => {
    await page.addInitScript(() => {
      let pending = 0;
      Object.assign(window, {
        ResizeObserver: class extends ResizeObserver {
          constructor(report: ResizeObserverCallback) {
            super((entries, observer) => {
              pending++;
              setTimeout(() => {
                report(entries, observer);
                pending--;
              }, 300);
            });
          }
        },
        countPendingReports: () => pending,
      });
    });
    await page.goto('about:blank');
    await page.goto(`${stage.url}/ui/#/session?id=${SESSION}`);
    const row = '.list > li[aria-posinset="431"]';
    await page.locator('.list > li').first().waitFor();
    await page.mouse.move(600, 500);
    await scrollTo(row);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    await expect.poll(() => page.evaluate('countPendingReports()')).toBe(0);
    expect(await top(row)).toBe(300);
  });

  it('shows the results of another question from their top', async () => {
    await stage.untilEmbedded();
    await page.goto(`${stage.url}/ui/#/recall?query=harbor+crane&top_k=50`);
    await page.locator('.result').first().waitFor();
    await page.mouse.move(600, 500);
    await scrollTo('.list > li[aria-posinset="31"]');
    await page.getByRole('searchbox').fill('only turn of talk');
    await page.locator('.list > li[aria-posinset="1"]', { hasText: 'The only turn of talk' }).waitFor();
  });

  it('a filtered table does not take the position of the table that it replaces', async () => {
    await page.locator('.table-body .table-row').first().waitFor();
    await stage.memory.store({ content: 'The newest note', tags: ['newest'] });
    // The address changes before the page shows it. The table that is still there saves its position meanwhile.
    await page.evaluate(() => history.pushState(null, '', '#/?tag=newest'));
    for (const key of ['j', 'j']) await page.keyboard.press(key);
    await expect.poll(() => page.evaluate(() => typeof history.state?.entry)).toBe('string');
    await page.evaluate(() => dispatchEvent(new Event('hashchange')));
    await page.getByRole('row', { name: /The newest note/ }).waitFor();
  });

  it('counts the memories that were stored while another view was open, also after a reload', async () => {
    const tags = ['restored'];
    await stage.memory.store({ content: 'Stored first', tags });
    await page.goto(`${stage.url}/ui/#/?tag=restored`);
    await page.getByRole('row', { name: /Stored first/ }).waitFor();
    await page.getByRole('link', { name: 'Sessions', exact: true }).click();
    await page.locator('.list > li').first().waitFor();
    await stage.memory.store({ content: 'Stored meanwhile', tags });
    await page.goBack();
    const showNew = page.getByRole('button', { name: /1 new/ });
    await showNew.waitFor();
    await page.reload();
    await showNew.click();
    await page.getByRole('row', { name: /Stored meanwhile/ }).waitFor();
  });
});
