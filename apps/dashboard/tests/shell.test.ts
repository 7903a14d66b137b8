import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { hasBrowser, useStage, type Visit } from './browser.ts';

describe.runIf(hasBrowser())('the shell of the dashboard', () => {
  const stage = useStage();
  let visit: Visit;
  let page: Page;

  beforeEach(async () => {
    visit = await stage.visit('/ui/#/sessions');
    page = visit.page;
    await page.locator('.row').first().waitFor();
    return () => visit.close();
  });

  const search = () => page.getByRole('searchbox');
  const focusedTag = () => page.evaluate(() => document.activeElement?.tagName);
  const getParams = () => new URLSearchParams(page.url().split('?')[1]);

  it.each(['/', 'Control+k'])('focuses the search field with the key %s, but not from a text field', async (key) => {
    await page.keyboard.press(key);
    expect(await search().evaluate((field) => field === document.activeElement)).toBe(true);
    await page.getByRole('button', { name: '+ Filter' }).click();
    const tag = page.getByRole('textbox', { name: 'Tag' });
    await tag.fill('a');
    await page.keyboard.press(key);
    expect(await tag.inputValue()).toBe(key === '/' ? 'a/' : 'a');
    expect(await search().inputValue()).toBe('');
  });

  it('opens the help with all keys, and closes it with Escape', async () => {
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: 'Keys' });
    await dialog.getByText('Go to the search field').waitFor();
    await page.keyboard.press('/');
    expect(await dialog.count()).toBe(1);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Help' }).click();
    await dialog.waitFor();
  });

  it('searches the memories with Enter, filters them while the user types, and asks with Ctrl+Enter', async () => {
    await search().fill('peanuts');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.title()).toBe('Memories · memoryd');
    expect(getParams().get('q')).toBe('peanuts');
    await search().fill('harpsichord');
    await expect.poll(() => getParams().get('q')).toBe('harpsichord');
    await search().fill('can Ada eat peanuts');
    await page.keyboard.press('Control+Enter');
    await page.locator('.result').first().waitFor();
    expect(getParams().get('query')).toBe('can Ada eat peanuts');
    await page.getByRole('button', { name: 'Search text' }).click();
    await expect.poll(() => getParams().get('q')).toBe('can Ada eat peanuts');
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await expect.poll(() => page.title()).toBe('Recall · memoryd');
  });

  it('moves between results with j and k, opens one with Enter beside the results, and closes it with Escape', async () => {
    await page.goto(`${stage.url}/ui/#/recall?query=peanuts`);
    await page.locator('.result').first().waitFor();
    await page.getByRole('heading', { name: 'Recall' }).click();
    const focusedIndex = () =>
      page.evaluate(() =>
        [...document.querySelectorAll('.list > li')].findIndex((row) => row.contains(document.activeElement)),
      );
    for (const [key, index] of [
      ['j', 0],
      ['j', 1],
      ['j', 2],
      ['k', 1],
    ] as const) {
      await page.keyboard.press(key);
      expect(await focusedIndex()).toBe(index);
    }
    await page.keyboard.press('Enter');
    await page.locator('.beside').waitFor();
    expect(await page.locator('.result').count()).toBeGreaterThan(1);
    expect(await page.locator('.beside').evaluate((one) => one.contains(document.activeElement))).toBe(true);
    await page.keyboard.press('Escape');
    await page.locator('.beside').waitFor({ state: 'detached' });
    expect(await focusedIndex()).toBe(1);
  });

  it('covers the view with an open memory on a narrow screen, and leaves the view out of the tab order', async () => {
    await page.setViewportSize({ width: 1024, height: 700 });
    await page.goto(`${stage.url}/ui/#/recall?query=peanuts`);
    await page.locator('.result .memory-text a').first().click();
    await page.locator('.beside').waitFor();
    expect(await page.locator('main').evaluate((main) => (main as HTMLElement).inert)).toBe(true);
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    await page.locator('.beside').waitFor({ state: 'detached' });
    expect(await page.locator('main').evaluate((main) => (main as HTMLElement).inert)).toBe(false);
  });

  it.each(['recall?query=peanuts', '?q=peanuts'])(
    'a search on a narrow screen shows what it finds in %s',
    async (view) => {
      await page.setViewportSize({ width: 1024, height: 700 });
      const [id] = (await stage.memory.memories({ limit: 1 })).memories.map((memory) => memory.id);
      await page.goto(`${stage.url}/ui/#/${view}&open=${id}`);
      await page.locator('.beside .memory').waitFor();
      await search().fill('piano');
      await page.locator('.beside').waitFor({ state: 'detached' });
      await page.locator('main').getByText(/piano/i).first().waitFor();
    },
  );

  it('asks the same question again with Enter, so that it finds what was stored meanwhile', async () => {
    const isAnswered = page.waitForResponse(/recall\?query=xylophone/);
    await page.goto(`${stage.url}/ui/#/recall?query=xylophone`);
    await isAnswered;
    await stage.memory.store({ content: 'The xylophone is in the attic' });
    await search().focus();
    await page.keyboard.press('Enter');
    await page.locator('.result', { hasText: 'xylophone' }).waitFor();
  });

  it('Enter in an empty search field moves no focus in the view that is opened next', async () => {
    await search().focus();
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Memories', exact: true }).click();
    await page.locator('.table-text').first().waitFor();
    expect(await page.evaluate(() => document.activeElement?.closest('[role=grid]') === null)).toBe(true);
  });

  it('j and k of an open memory do not move the focus in the results beside it', async () => {
    await page.goto(`${stage.url}/ui/#/recall?query=peanuts`);
    await page.locator('.result .memory-text a').first().click();
    await page.locator('.beside .memory').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    expect(await page.locator('.beside').evaluate((one) => one.contains(document.activeElement))).toBe(true);
  });

  it.each(['', 'sessions', 'recall'])('a removed filter of the user ends the scope in the view "%s"', async (view) => {
    const { user_id } = await stage.memory.memory((await stage.memory.store({ content: 'x', user_id: 'maria' })).id);
    await page.goto(`${stage.url}/ui/#/${view}?query=x&user_id=${user_id}`);
    await page.getByRole('button', { name: 'Remove filter User maria' }).click();
    await page.locator('.scope', { hasText: 'All users' }).waitFor();
    expect(getParams().has('user_id')).toBe(false);
  });

  it('shows one bar of 56 pixels on a phone, and a menu with the views', async () => {
    await page.setViewportSize({ width: 390, height: 780 });
    const bar = await page.locator('.top').boundingBox();
    expect([bar?.y, bar?.height]).toEqual([0, 56]);
    const link = page.getByRole('link', { name: 'Recall', exact: true });
    expect(await link.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.locator('.live', { hasText: 'Live' }).waitFor();
    await link.click();
    await page.getByRole('heading', { name: 'Recall' }).waitFor();
    expect(await link.isVisible()).toBe(false);
    expect(await focusedTag()).toBe('INPUT');
  });

  it('shows a stored session in the list of sessions without a reload', async () => {
    await page.locator('.live', { hasText: /^Live$/ }).waitFor();
    await stage.memory.store({ content: 'The ferry leaves at nine', session_id: 'a-new-session' });
    await page.locator('.row', { hasText: 'a-new-session' }).waitFor();
  });

  it('lists the sessions with a tag when memories get the tag, and when they lose it', async () => {
    const { id } = await stage.memory.store({ content: 'The tram is late', session_id: 'tagged-later' });
    await page.goto(`${stage.url}/ui/#/sessions?tag=tram`);
    await page.getByText('No sessions match').waitFor();
    await page.locator('.live', { hasText: /^Live$/ }).waitFor();
    await stage.memory.update(id, { tags: ['tram'] });
    await page.locator('.row', { hasText: 'tagged-later' }).waitFor();
    await stage.memory.update(id, { tags: [] });
    await page.getByText('No sessions match').waitFor();
  });

  it('shows the turn that is added to the session that it shows, and leaves out a forgotten turn', async () => {
    const { id } = await stage.memory.store({ content: 'The first turn', session_id: 'growing' });
    await page.goto(`${stage.url}/ui/#/session?id=growing`);
    await page.locator('.turn', { hasText: 'The first turn' }).waitFor();
    await page.locator('.live', { hasText: /^Live$/ }).waitFor();
    await stage.memory.store({ content: 'The second turn', session_id: 'growing' });
    await page.locator('.turn', { hasText: 'The second turn' }).waitFor();
    await stage.memory.forget(id);
    await page.locator('.turn', { hasText: 'The first turn' }).waitFor({ state: 'detached' });
  });
});
