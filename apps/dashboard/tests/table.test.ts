import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FIXTURE_SIZE } from '../fixtures/memories.ts';
import { getRow, hasBrowser, hold, intercept, useStage, type Visit } from './browser.ts';

const COUNT = 3000;
const UNAVAILABLE = { error: { code: 'UNAVAILABLE', message: 'starting' } };

describe.runIf(hasBrowser())('table of memories', () => {
  const stage = useStage();
  let visit: Visit;
  let page: Page;

  beforeAll(async () => {
    const extra = Array.from({ length: COUNT - FIXTURE_SIZE }, (_, i) => ({
      content: `Note ${i} of the lighthouse keeper`,
      session_id: 'lighthouse',
      tags: ['sea', i % 2 === 0 ? 'even' : 'odd'],
      metadata: { lamp: i % 3 },
      importance: 0.2,
      created_at: new Date(Date.UTC(2024, 0, 1) + i * 3_600_000).toISOString(),
    }));
    expect((await stage.memory.storeBatch(extra)).failed_count).toBe(0);
  });

  beforeEach(async () => {
    visit = await stage.visit('/ui/', { viewport: { width: 1440, height: 900 } });
    page = visit.page;
    await texts().first().waitFor();
    return () => visit.close();
  });

  const goTo = async (address: string) => {
    await page.goto('about:blank');
    await page.goto(`${stage.url}/ui/#/${address}`);
  };
  const grid = () => page.getByRole('grid', { name: 'Memories' });
  const row = (position: number) => getRow(page, position);
  const texts = () => page.locator('.table-text');
  const status = () => page.locator('.table-status').getByRole('status');
  const focusedPosition = () =>
    page.evaluate(() => Number(document.activeElement?.getAttribute('aria-rowindex') ?? 0) - 1);
  /** Presses keys one after the other; the first row has the focus before. */
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const focusFirstRow = () => row(1).focus();
  const top = (position: number) => row(position).evaluate((one) => Math.round(one.getBoundingClientRect().top));

  it('loads its rows again by itself after the service was unavailable', async () => {
    await intercept(page, '**/memories?*', (route) => route.fulfill({ status: 503, json: UNAVAILABLE }));
    await goTo('?tag=sea');
    await page.getByRole('alert').waitFor({ timeout: 30_000 });
    await page.unroute('**/memories?*');
    await texts().first().waitFor();
    visit.allow(/503/);
  });

  it('lists all memories in rows of 36 pixels, and renders only those near the visible ones', async () => {
    const { total } = await stage.memory.memories({ limit: 1 });
    expect(await grid().getAttribute('aria-rowcount')).toBe(String(total + 1));
    expect(await page.locator('.table-body').evaluate((one) => one.getBoundingClientRect().height)).toBe(total * 36);
    expect(await page.locator('.table-body > [role=row]').count()).toBeLessThan(60);
    const [last] = (await stage.memory.memories({ limit: total })).memories.slice(-1);
    await focusFirstRow();
    await press('End');
    await row(total)
      .getByText(last?.content ?? '', { exact: true })
      .waitFor();
    expect(await page.locator('.table-body > [role=row]').count()).toBeLessThan(60);
    expect(visit.problems).toEqual([]);
  });

  it('shows the row of any scroll position, and aborts the requests for pages that scrolled away', async () => {
    const all = (await stage.memory.memories({ limit: COUNT })).memories;
    const release = await hold(page, /memories\?.*offset=1[0-9]00/);
    const requested = page.waitForRequest(/offset=1[0-9]00/);
    const aborted = page.waitForEvent('requestfailed', (request) => request.url().includes('offset='));
    await grid().evaluate((one) => one.scrollTo(0, 1500 * 36));
    await requested;
    await grid().evaluate((one) => one.scrollTo(0, 2600 * 36));
    expect((await aborted).url()).toMatch(/offset=1[0-9]00/);
    await row(2605)
      .getByText(all[2604]?.content ?? '', { exact: true })
      .waitFor();
    release();
  });

  it('the grid is one tab stop, and the arrow keys move between its rows and headers', async () => {
    expect(await grid().locator('[tabindex="0"]').count()).toBe(1);
    await focusFirstRow();
    await press('ArrowDown', 'ArrowDown', 'j');
    expect(await focusedPosition()).toBe(4);
    await press('k', 'ArrowUp');
    expect(await focusedPosition()).toBe(2);
    await press('PageDown');
    expect(await focusedPosition()).toBeGreaterThan(10);
    expect(await grid().locator('[tabindex="0"]').count()).toBe(1);
    await press('Home', 'ArrowUp', 'ArrowRight');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Text');
    await press('Tab');
    expect(await grid().evaluate((one) => one.contains(document.activeElement))).toBe(false);
    await press('Shift+Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Text');
  });

  it('the keys work while nothing has the focus', async () => {
    const hasFocus = () => page.evaluate(() => document.activeElement !== document.body);
    expect(await hasFocus()).toBe(false);
    await press('j');
    expect(await focusedPosition()).toBe(1);
    await press('j');
    expect(await focusedPosition()).toBe(2);
    await goTo('');
    await texts().first().waitFor();
    expect(await hasFocus()).toBe(false);
    await press('x');
    await page
      .getByText(/^1 selected of/)
      .first()
      .waitFor();
    expect(await focusedPosition()).toBe(1);
    await press('j');
    expect(await focusedPosition()).toBe(2);
    await goTo('sessions');
    await page.getByRole('link', { name: 'Memories' }).click();
    await page.locator('main:focus').waitFor();
    await texts().first().waitFor();
    await press('Control+a');
    await page
      .getByText(/^\d+ selected of/)
      .first()
      .waitFor();
  });

  it.each(['Enter', 'ArrowDown'])(
    'the key %s leads from the search field to the first row that is found',
    async (key) => {
      await press('/');
      await page.keyboard.type('note 17 lighthouse');
      await press(key);
      await expect.poll(focusedPosition).toBe(1);
      expect(await row(1).textContent()).toContain('Note 17');
      await press('/', key);
      await expect.poll(focusedPosition).toBe(1);
      await press('/');
      await page.keyboard.type('no memory has these words');
      await press(key);
      await page.getByText('No memories match these filters').waitFor();
      expect(await page.locator('#search:focus').count()).toBe(1);
    },
  );

  it('searches in another view, and leads to the first row that is found', async () => {
    await goTo('sessions');
    await page.locator('.row').first().waitFor();
    await press('/');
    await page.keyboard.type('note 17 lighthouse');
    await press('Enter');
    await expect.poll(focusedPosition).toBe(1);
    expect(await row(1).textContent()).toContain('Note 17');
  });

  it.each(['%', 'x'.repeat(300)])('shows only the error if the search is refused', async (text) => {
    await press('/');
    await page.keyboard.insertText(text);
    await page.getByRole('alert').waitFor();
    expect(await page.getByText('Loading memories').count()).toBe(0);
    expect(await grid().count()).toBe(0);
    await page.locator('#search').fill('lighthouse');
    await texts().first().waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    visit.allow(/400/);
  });

  it('selects with the keyboard: one row, a range, the loaded rows, all that match, and none', async () => {
    await focusFirstRow();
    await press('x');
    expect(await row(1).getAttribute('aria-selected')).toBe('true');
    await expect.poll(() => status().textContent()).toBe('1 selected of 3,000');
    await press('Shift+ArrowDown', 'Shift+ArrowDown');
    await expect.poll(() => status().textContent()).toBe('3 selected of 3,000');
    await press('Control+a');
    await expect.poll(() => status().textContent()).toMatch(/^[1-9]00 selected of 3,000$/);
    await press('Control+a');
    await expect.poll(() => status().textContent()).toBe('3,000 selected of 3,000');
    await press('Escape');
    await expect.poll(() => status().textContent()).toBe('3,000 memories, newest first');
  });

  it('selects a range with Shift and a click, also over rows that are not loaded', async () => {
    await row(2).getByRole('checkbox').click();
    await grid().evaluate((one) => one.scrollTo(0, 1000 * 36));
    await row(1005)
      .locator('.table-text')
      .click({ modifiers: ['Shift'] });
    await expect.poll(() => status().textContent()).toBe('1,004 selected of 3,000');
    await page.getByRole('button', { name: 'Select all', exact: true }).click();
    await expect.poll(() => status().textContent()).toBe('3,000 selected of 3,000');
    await page.getByRole('button', { name: 'Clear', exact: true }).click();
    await expect.poll(() => status().textContent()).toBe('3,000 memories, newest first');
  });

  it('opens a memory beside the table, and Back returns to the same row with the focus', async () => {
    await grid().evaluate((one) => one.scrollTo(0, 1200 * 36 + 10));
    await row(1210).locator('.table-text').waitFor();
    const before = await top(1210);
    const text = (await row(1210).locator('.table-text').textContent()) ?? '';
    await row(1210).locator('.table-text').click();
    await page.getByRole('complementary', { name: 'Open memory' }).getByText(text).first().waitFor();
    expect(await top(1210)).toBe(before);
    await page.goBack();
    await page.getByRole('complementary', { name: 'Open memory' }).waitFor({ state: 'detached' });
    expect(await focusedPosition()).toBe(1210);
    expect(await top(1210)).toBe(before);
  });

  it('returns to the same row after a reload, and after Back even if memories were stored meanwhile', async () => {
    await grid().evaluate((one) => one.scrollTo(0, 1200 * 36 + 10));
    await row(1210).locator('.table-text').waitFor();
    await row(1210).focus();
    const before = await top(1210);
    const text = (await row(1210).locator('.table-text').textContent()) ?? '';
    await page.waitForTimeout(200);
    await page.getByRole('link', { name: 'Recall', exact: true }).click();
    await grid().waitFor({ state: 'detached' });
    const { id } = await stage.memory.store({ content: 'A ship passed while nobody looked' });
    await page.goBack();
    await row(1210).getByText(text, { exact: true }).waitFor();
    expect(await top(1210)).toBe(before);
    await expect.poll(focusedPosition).toBe(1210);
    await page.reload();
    await row(1210).getByText(text, { exact: true }).waitFor();
    expect(await top(1210)).toBe(before);
    await stage.memory.forget(id);
  });

  it('counts memories that are stored while it is open, shows them on request, and drops forgotten ones', async () => {
    await page.locator('.live-live').waitFor({ state: 'attached' });
    const first = (await texts().first().textContent()) ?? '';
    const ids: string[] = [];
    for (const name of ['north', 'south']) {
      ids.push((await stage.memory.store({ content: `The ${name} buoy is lit` })).id);
    }
    await page.getByRole('button', { name: '2 new · show' }).waitFor();
    expect(await row(1).locator('.table-text').textContent()).toBe(first);
    await page.getByRole('button', { name: '2 new · show' }).click();
    await row(1).getByText('The south buoy is lit').waitFor();
    await stage.memory.update(ids[1] ?? '', { content: 'The south buoy is dark' });
    await row(1).getByText('The south buoy is dark').waitFor();
    for (const id of ids) await stage.memory.forget(id);
    await row(1).getByText(first, { exact: true }).waitFor();
    await expect.poll(() => status().textContent()).toBe('3,000 memories, newest first');
  });

  it('filters by several conditions, excludes values, and keeps both in the address', async () => {
    await goTo('?tag=sea&not.tag=odd&not.metadata.lamp=0');
    const filter = { tag: { $nin: ['odd'] }, 'metadata.lamp': { $nin: ['0', 0] } };
    const { total } = await stage.memory.memories({ tag: ['sea'], filter, limit: 1 });
    expect(total).toBe(833);
    await page.getByText('833 memories, newest first').waitFor();
    await page.getByRole('button', { name: 'Tag is not odd: include instead' }).click();
    expect(decodeURIComponent(page.url())).toContain('tag=sea&not.metadata.lamp=0&tag=odd');
    await page.getByRole('button', { name: 'Remove filter lamp not 0' }).click();
    await page.getByText('1,250 memories, newest first').waitFor();
    await page.reload();
    await page.getByText('1,250 memories, newest first').waitFor();
  });

  it('filters by text while it is typed', async () => {
    const { total } = await stage.memory.memories({ q: 'lighthouse 12', limit: 1 });
    await page.getByRole('searchbox').pressSequentially('lighthouse 12');
    await page.getByText(`${total} memories, newest first`).waitFor();
    expect(page.url()).toContain('q=lighthouse+12');
    expect(await page.getByRole('searchbox').evaluate((one) => one === document.activeElement)).toBe(true);
  });

  it('filters by facts that have ended, and by those that hold now', async () => {
    const valid_to = '2026-01-01T00:00:00.000Z';
    const created_at = '2025-12-01T00:00:00.000Z';
    const { id } = await stage.memory.store({ content: 'The old lamp burns oil', created_at, valid_to });
    const { total } = await stage.memory.memories({ current: true, limit: 1 });
    const chooseValidity = async (value: string) => {
      await page.getByRole('button', { name: '+ Filter' }).click();
      await page.getByLabel('Filter by').selectOption('current');
      await page.getByLabel('Validity').selectOption(value);
      await page.getByRole('button', { name: 'Add filter' }).click();
    };
    await chooseValidity('ended');
    await row(1).getByText('The old lamp burns oil').waitFor();
    await page.getByText('1 memory, newest first').waitFor();
    await page.getByRole('button', { name: /^Remove filter Ended by/ }).click();
    await chooseValidity('true');
    await page.getByText(`${total.toLocaleString('en')} memories, newest first`).waitFor();
    await stage.memory.forget(id);
  });

  it('follows the open memory when j and k lead to other rows', async () => {
    await row(5).locator('.table-text').click();
    await page.getByRole('complementary', { name: 'Open memory' }).locator('.memory').waitFor();
    for (const [key, position] of [
      ['j', 6],
      ['j', 7],
      ['k', 6],
    ] as const) {
      await press(key);
      await expect.poll(() => row(position).getAttribute('aria-current')).toBe('true');
      await page.getByRole('complementary', { name: 'Open memory' }).locator('.memory').waitFor();
    }
    await press('Escape');
    await expect.poll(focusedPosition).toBe(6);
  });

  it('orders by a column, and keeps the order in the address', async () => {
    const created = page.getByRole('columnheader', { name: 'Created' });
    expect(await created.getAttribute('aria-sort')).toBe('descending');
    await created.click();
    await row(1).getByText('Note 0 of the lighthouse keeper').waitFor();
    expect(await created.getAttribute('aria-sort')).toBe('ascending');
    await page.getByLabel('Order').selectOption('Least important first');
    await page.getByText('3,000 memories, least important first').waitFor();
    expect(page.url()).toContain('order=importance&dir=asc');
    // The column of the order is shown.
    expect(await page.getByRole('columnheader', { name: 'Importance' }).getAttribute('aria-sort')).toBe('ascending');
    // The column head keeps the focus, so that Enter reverses the order again.
    await row(1).focus();
    await press('ArrowUp');
    const isFocused = () => page.evaluate(() => document.activeElement?.textContent?.startsWith('Importance'));
    for (let i = 0; i < 10 && !(await isFocused()); i++) await press('ArrowRight');
    for (const order of ['most important first', 'least important first']) {
      await press('Enter');
      await page.getByText(`3,000 memories, ${order}`).waitFor();
      await expect.poll(isFocused).toBe(true);
    }
    const [least] = (await stage.memory.memories({ order: 'importance', dir: 'asc', limit: 1 })).memories;
    await row(1)
      .getByText(least?.content ?? '', { exact: true })
      .waitFor();
  });

  it('shows chosen columns in their order, in two lines on request, and saves the view', async () => {
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('checkbox', { name: 'Importance' }).check();
    await page.getByRole('checkbox', { name: 'Agent' }).uncheck();
    await page.getByLabel('Metadata field').fill('lamp');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('button', { name: 'Move lamp to the left' }).click();
    await page.getByLabel('Two lines for each row').check();
    const headers = () => page.getByRole('columnheader').allTextContents();
    const expected = [
      'Select loaded memories',
      'Text',
      'Tags',
      'Session',
      'Created ▾',
      'Used',
      'Tier',
      'lamp',
      'Importance',
    ];
    await expect.poll(headers).toEqual(expected);
    expect(await page.locator('.table-body').evaluate((one) => one.getBoundingClientRect().height)).toBe(3000 * 72);
    await press('Escape');
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByLabel('Name of the view').fill('Lamps');
    await press('Enter');
    await page.getByRole('link', { name: 'Lamps' }).waitFor();
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('button', { name: 'Default columns' }).click();
    await expect.poll(headers).not.toContain('lamp');
    await page.getByRole('button', { name: 'Views' }).click();
    await page.getByRole('link', { name: 'Lamps' }).click();
    await expect.poll(headers).toEqual(expected);
  });

  it('shows an error above the rows that are loaded, and loads by itself when the service responds again', async () => {
    await intercept(page, '**/memories?*offset=*', (route) => route.abort());
    await grid().evaluate((one) => one.scrollTo(0, 2000 * 36));
    await page.getByRole('alert').waitFor({ timeout: 30_000 });
    expect(await grid().isVisible()).toBe(true);
    await page.unroute('**/memories?*offset=*');
    await row(2005).locator('.table-text').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  it.each(['light', 'dark'] as const)(
    'passes axe in the %s theme with rows selected and a menu open',
    async (scheme) => {
      await page.emulateMedia({ colorScheme: scheme });
      await row(1).getByRole('checkbox').click();
      await page.getByRole('button', { name: '+ Filter' }).click();
      await page.getByLabel('Filter by').waitFor();
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run('main'));
      expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html.slice(0, 150))])).toEqual([]);
    },
  );

  it('fits a phone: rows of two lines, no horizontal scrolling, targets of at least 24 pixels', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await goTo('');
    await texts().first().waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    expect(await grid().evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
    expect(await row(1).evaluate((one) => one.getBoundingClientRect().height)).toBe(72);
    const small = await page
      .locator('main :is(button, .tabs a, .table-check, [role=columnheader])')
      .evaluateAll((all) =>
        all
          .map((one) => ({ text: one.textContent, box: one.getBoundingClientRect() }))
          .filter(({ box }) => box.width > 0 && (box.width < 24 || box.height < 24))
          .map(({ text }) => text),
      );
    expect(small).toEqual([]);
  });
});
