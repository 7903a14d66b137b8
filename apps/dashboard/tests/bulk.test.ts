import { join } from 'node:path';
import { MemoryClient } from '@memoryd/client';
import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTemporaryFolder } from '../../../packages/server/conformance/folders.ts';
import { freePort, launch, untilHealthy } from '../../../packages/server/conformance/process.ts';
import { WORDS_ONLY } from '../../../packages/server/conformance/under-test.ts';
import { getRow, getViolations, hasBrowser, hold, openWithEvents, useStage, type Visit } from './browser.ts';

/** Time after which a forget is sent. */
const FORGET_DELAY_MS = 10_000;

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
const bar = (page: Page) => page.getByRole('region', { name: 'Selected memories' });
const toast = (page: Page, text: string | RegExp) => page.locator('.toast', { hasText: text });

describe.runIf(hasBrowser())('bulk actions', () => {
  const stage = useStage({ isEmpty: true });
  let visit: Visit;
  let page: Page;

  beforeAll(async () => {
    const trips = Array.from({ length: 60 }, (_, i) => ({
      content: `Stop ${i} of the trip along the coast`,
      session_id: i < 40 ? 'trip-coast' : 'trip-hills',
      tags: i % 2 === 0 ? ['travel', 'seaside'] : ['travel'],
      importance: 0.3,
      created_at: new Date(Date.UTC(2025, 5, 1) + i * 3_600_000).toISOString(),
    }));
    expect((await stage.memory.storeBatch(trips)).failed_count).toBe(0);
  });

  beforeEach(async () => {
    visit = await stage.visit('/ui/', { viewport: { width: 1440, height: 900 } });
    page = visit.page;
    await row(1).waitFor();
    return () => visit.close();
  });

  const goTo = async (address: string) => {
    await page.goto('about:blank');
    await page.goto(`${stage.url}/ui/#/${address}`);
    await row(1).waitFor();
  };
  const row = (position: number) => getRow(page, position);
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const focusedText = () => page.evaluate(() => document.activeElement?.textContent);
  const tabTo = async (text: string) => {
    for (let i = 0; i < 40 && (await focusedText()) !== text; i++) await press('Tab');
    expect(await focusedText()).toBe(text);
  };
  const countTagged = async (...tag: string[]) => (await stage.memory.memories({ tag, limit: 1 })).total;
  const all = async () => (await stage.memory.memories({ limit: 1000 })).memories;
  const getLabels = async () => (await all()).map(({ id, tags, importance }) => ({ id, tags, importance }));

  it('tags the selected memories with the keyboard alone, with completion, and undoes it', async () => {
    const before = await getLabels();
    await row(1).focus();
    await press('x', 'Shift+ArrowDown', 'Shift+ArrowDown', 't');
    await page.getByRole('combobox', { name: 'Tag 3 memories' }).waitFor();
    await page.keyboard.type('seas');
    await bar(page)
      .getByRole('option')
      .first()
      .filter({ hasText: /^seaside/ })
      .waitFor();
    await press('ArrowDown', 'Enter');
    await page.keyboard.type('with Niklas');
    await press('Enter');
    await toast(page, 'Tagged 3 memories.').waitFor();
    const [first, second, third, fourth] = await all();
    for (const one of [first, second, third])
      expect(one?.tags).toEqual(expect.arrayContaining(['seaside', 'with Niklas']));
    expect(fourth?.tags).not.toContain('with Niklas');
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-rowindex'))).toBe('4');
    await tabTo('Undo');
    await press('Enter');
    await toast(page, 'Undone in 3 memories.').waitFor();
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('MAIN');
    expect(await getLabels()).toEqual(before);
    expect(visit.problems).toEqual([]);
  });

  it('shows the actions on selected memories before the next key', async () => {
    const findScript = () =>
      page.evaluate(
        () => performance.getEntriesByType('resource').find(({ name }) => name.includes('/views-'))?.name ?? '',
      );
    await expect.poll(findScript).not.toBe('');
    // The script has run then. Text, because a function would call the import of the test.
    await page.evaluate(`import('${await findScript()}').then(() => undefined)`);
    await row(1).focus();
    const buttons = await page.evaluate(async () => {
      document.activeElement?.dispatchEvent(new KeyboardEvent('keydown', { key: 'x', bubbles: true }));
      await Promise.resolve();
      return document.querySelectorAll('.bulk-bar button').length;
    });
    expect(buttons).toBeGreaterThan(0);
  });

  it('letters after `t` do nothing until the script of the form is loaded', async () => {
    await page.goto('about:blank');
    const release = await hold(page, /\/views-/);
    await goTo('');
    await row(1).focus();
    await press('x', 't', 'Escape');
    await page.locator('.bulk-bar').waitFor({ state: 'detached' });
    await press('x', 't', 'j', 'x', '#', 'Enter');
    release();
    await page.getByRole('combobox', { name: 'Tag 1 memory' }).waitFor();
    expect(await page.locator('.toast').count()).toBe(0);
    expect(page.url()).not.toContain('open=');
    expect(visit.problems).toEqual([]);
  });

  it('removes a tag from all memories that match the filter, and undoes it', async () => {
    await goTo('?tag=seaside&session_id=trip-coast');
    await row(1).getByRole('checkbox').click();
    await button(page, 'Select all').click();
    await bar(page).getByText('20 selected of 20').waitFor();
    await button(page, 'Untag…').click();
    await page.getByRole('combobox', { name: 'Remove tags from 20 memories' }).fill('seaside');
    await press('Enter');
    await toast(page, 'Untagged 20 memories.').waitFor();
    expect(await countTagged('seaside')).toBe(10);
    await button(page, 'Undo').click();
    await toast(page, 'Undone in 20 memories.').waitFor();
    expect(await countTagged('seaside')).toBe(30);
  });

  it('sets the importance of every memory, except one that is stored after the click', async () => {
    const before = await getLabels();
    await row(1).focus();
    await press('x');
    await button(page, 'Select all').click();
    await button(page, 'Importance…').click();
    await page.getByRole('spinbutton').fill('0.8');
    const release = await hold(page, /\/memories$/);
    await press('Enter');
    await toast(page, 'Changing 60 memories…').waitFor();
    const { id } = await stage.memory.store({ content: 'Nobody has selected this one', importance: 0.1 });
    release();
    await toast(page, 'Changed the importance of 60 memories.').waitFor();
    expect((await all()).filter(({ importance }) => importance === 0.8)).toHaveLength(60);
    expect((await stage.memory.memory(id)).importance).toBe(0.1);
    await stage.memory.forget(id);
    await button(page, 'Undo').click();
    await toast(page, 'Undone in 60 memories.').waitFor();
    expect(await getLabels()).toEqual(before);
  });

  it('changes all memories with some words that hold now', async () => {
    await goTo('?q=stop+7&current=true');
    await row(1).getByRole('checkbox').click();
    const { total } = await stage.memory.memories({ q: 'stop 7', current: true, limit: 1 });
    await row(1).focus();
    await press('Control+a', 'Control+a');
    await bar(page).getByText(`${total} selected of ${total}`).waitFor();
    await button(page, 'Tag…').click();
    await page.locator('.bulk-form :focus').waitFor();
    await page.keyboard.type('seven');
    await press('Enter');
    await toast(page, /^Tagged/).waitFor();
    expect(await countTagged('seven')).toBe(total);
    await button(page, 'Undo').click();
    await toast(page, /^Undone/).waitFor();
    expect(await countTagged('seven')).toBe(0);
  });

  it('asks before the page is closed while a change is not complete', async () => {
    await row(1).focus();
    await press('x', 't');
    await page.getByRole('combobox', { name: /^Tag / }).fill('slow');
    const release = await hold(page, /\/memories$/);
    await press('Enter');
    await toast(page, 'Tagging 1 memory…').waitFor();
    const asked = page.waitForEvent('dialog');
    await page.close({ runBeforeUnload: true });
    const question = await asked;
    expect(question.type()).toBe('beforeunload');
    await question.dismiss();
    release();
    await toast(page, 'Tagged 1 memory.').waitFor();
    await button(page, 'Undo').click();
    await toast(page, /^Undone/).waitFor();
  });

  it('shows why a change is refused, and changes nothing', async () => {
    const before = await getLabels();
    await row(1).focus();
    await press('x', 't');
    await page.getByRole('combobox', { name: /^Tag / }).fill('x'.repeat(200));
    await press('Enter');
    await toast(page, /has failed/)
      .getByRole('alert')
      .waitFor();
    await button(page, 'Dismiss').click();
    expect(await page.locator('.toast').count()).toBe(0);
    expect(await getLabels()).toEqual(before);
    visit.allow(/400/);
    expect(visit.problems).toEqual([]);
  });

  it('sends nothing if a forget is undone', async () => {
    await page.clock.install();
    await goTo('');
    await row(1).focus();
    await press('x', 'Shift+ArrowDown', '#');
    await toast(page, 'Forgetting 2 memories').waitFor();
    await expect.poll(() => row(1).locator('.forgetting').count()).toBe(1);
    // Real time goes on, too, so much of the delay is left for the click.
    await page.clock.fastForward(FORGET_DELAY_MS / 2);
    await button(page, 'Undo').click();
    await page.clock.fastForward(FORGET_DELAY_MS);
    expect((await all()).length).toBe(60);
    expect(await page.locator('.forgetting').count()).toBe(0);
  });

  it('forgets what matched the filter at the click, but nothing that was stored or changed since', async () => {
    const sea = Array.from({ length: 5 }, (_, i) => ({ content: `Wave ${i}`, tags: ['waves'] }));
    await stage.memory.storeBatch(sea);
    await page.clock.install();
    await goTo('?tag=waves');
    await row(1).focus();
    await press('Control+a', 'Control+a');
    await bar(page).getByText('5 selected of 5').waitFor();
    await button(page, 'Forget').click();
    await toast(page, 'Forgetting 5 memories').waitFor();
    const stored = await stage.memory.store({ content: 'A late wave', tags: ['waves'], created_at: '2020-01-01' });
    const changed = (await stage.memory.memories({ tag: ['waves'], q: 'Wave 3' })).memories[0]?.id ?? '';
    await stage.memory.update(changed, { content: 'Wave 3, the highest' });
    await page.clock.fastForward(FORGET_DELAY_MS);
    await toast(page, '4 memories forgotten.').waitFor();
    const left = (await stage.memory.memories({ tag: ['waves'] })).memories.map(({ id }) => id);
    expect(left.sort()).toEqual([stored.id, changed].sort());
    await stage.memory.forgetMany({ tag: 'waves' });
  });

  it('shows the open memory that was changed, and so was kept, when many were forgotten', async () => {
    const hedges = Array.from({ length: 3 }, (_, i) => ({ content: `Hedge ${i} is low`, tags: ['hedges'] }));
    await stage.memory.storeBatch(hedges);
    await page.clock.install();
    await goTo('?tag=hedges');
    await row(1).focus();
    await press('Control+a');
    await page
      .getByRole('row', { name: /Hedge 1/ })
      .locator('.table-text')
      .click();
    const panel = page.locator('.beside');
    await panel.locator('.memory').waitFor();
    await bar(page).getByRole('button', { name: 'Forget' }).click();
    await toast(page, 'Forgetting 3 memories').waitFor();
    const changed = (await stage.memory.memories({ tag: ['hedges'], q: 'Hedge 1' })).memories[0]?.id ?? '';
    await stage.memory.update(changed, { content: 'Hedge 1 is high' });
    await page.clock.fastForward(FORGET_DELAY_MS);
    await toast(page, '2 memories forgotten.').waitFor();
    await panel.locator('.memory-text', { hasText: 'Hedge 1 is high' }).first().waitFor();
    expect(await panel.getByText('was forgotten').count()).toBe(0);
    await page.clock.fastForward(FORGET_DELAY_MS);
    await panel.getByRole('button', { name: 'Forget', exact: true }).waitFor();
    expect(await panel.locator('.forgetting').count()).toBe(0);
    await stage.memory.forgetMany({ tag: 'hedges' });
  });

  it('forgets selected memories that no longer match the filter', async () => {
    await stage.memory.storeBatch(Array.from({ length: 3 }, (_, i) => ({ content: `Ebb ${i}`, tags: ['ebb'] })));
    await page.clock.install();
    await goTo('?tag=ebb');
    await row(1).focus();
    await press('Control+a');
    await bar(page).getByText('3 selected').waitFor();
    await stage.memory.updateMany({ tag: ['ebb'] }, { remove_tags: ['ebb'] });
    await button(page, 'Forget').click();
    await toast(page, 'Forgetting 3 memories').waitFor();
    await page.clock.fastForward(FORGET_DELAY_MS);
    await toast(page, '3 memories forgotten.').waitFor();
    expect((await stage.memory.memories({ q: 'Ebb', limit: 1 })).total).toBe(0);
  });

  it('selects with “Select all” the memories that the table shows, not those that were stored since', async () => {
    await openWithEvents(page, `${stage.url}/ui/`);
    await row(1).focus();
    await press('x');
    const ids: string[] = [];
    for (const content of ['A new stop', 'Another new stop']) ids.push((await stage.memory.store({ content })).id);
    await page.getByRole('button', { name: '2 new · show' }).waitFor();
    await bar(page).getByText('1 selected of 60').waitFor();
    await button(page, 'Select all').click();
    await bar(page).getByText('60 selected of 60').waitFor();
    expect(await page.locator('.table-status').textContent()).toContain('60 selected of 60');
    await page.getByRole('button', { name: '2 new · show' }).click();
    await row(1).getByText('new stop').waitFor();
    const isSelected = (position: number) => row(position).getAttribute('aria-selected');
    expect([await isSelected(1), await isSelected(2), await isSelected(3)]).toEqual(['false', 'false', 'true']);
    // Another row joins the selected ones that are loaded.
    await row(1).focus();
    await press('x');
    await bar(page)
      .getByText(/^61 selected/)
      .waitFor();
    await stage.memory.forgetMany({ id: ids });
  });

  it('returns the focus after Forget at once, and does not move it later', async () => {
    await row(2).focus();
    await press('x');
    await button(page, 'Select all').waitFor();
    await tabTo('Select all');
    await press('End', 'ArrowLeft');
    expect(await focusedText()).toBe('Forget');
    const release = await hold(page, /\/memories\?.*order=changed/);
    await press('Enter');
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute('aria-rowindex'))).toBe('3');
    await page.getByRole('searchbox', { name: 'Search' }).focus();
    release();
    await toast(page, 'Forgetting 1 memory').waitFor();
    await bar(page).waitFor({ state: 'detached' });
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('search');
    await button(page, 'Undo').click();
  });

  it.each([
    { how: 'Clear', leave: () => button(page, 'Clear').click() },
    { how: 'Escape', leave: () => button(page, 'Clear').press('Escape') },
  ])('returns the focus to the box of the timeline after $how, and scrolls nothing', async ({ leave }) => {
    await page.goto('about:blank');
    await page.goto(`${stage.url}/ui/#/?view=timeline`);
    const box = page.getByRole('region', { name: 'Days' }).getByRole('checkbox').last();
    // The chart and the calendar are above the days, and move them when they are loaded.
    await page.getByRole('region', { name: 'Calendar' }).waitFor();
    await box.check();
    await button(page, 'Clear').waitFor();
    await box.focus();
    const top = await page.evaluate(() => scrollY);
    await leave();
    await bar(page).waitFor({ state: 'detached' });
    expect(await page.evaluate(() => [document.activeElement?.closest('ul')?.ariaLabel, scrollY])).toEqual([
      'Days',
      top,
    ]);
  });

  it('says after a reload that a forget was not sent', async () => {
    await row(1).focus();
    await press('x', 'Shift+ArrowDown', 'Shift+ArrowDown', '#');
    await toast(page, 'Forgetting 3 memories').waitFor();
    await page.reload();
    await toast(page, 'Not forgotten: 3 memories.').waitFor();
    expect((await all()).length).toBe(60);
  });

  it('asks before the page is closed while memories are being forgotten, and says afterwards that some may be left', async () => {
    await page.clock.install();
    await goTo('');
    await row(1).focus();
    await press('x', 'Shift+ArrowDown', '#');
    await toast(page, 'Forgetting 2 memories').waitFor();
    const release = await hold(page, /\/memories\?.*id=/);
    await page.clock.fastForward(FORGET_DELAY_MS);
    await toast(page, 'Forgetting 2 memories…').waitFor();
    page.once('dialog', (dialog) => void dialog.accept());
    const asked = page.waitForEvent('dialog');
    await page.reload();
    expect((await asked).type()).toBe('beforeunload');
    release();
    await toast(page, 'Perhaps not all forgotten: 2 memories.').waitFor();
    expect((await all()).length).toBe(60);
  });

  it('makes the bar one tab stop, in which the arrow keys move and Escape ends the selection', async () => {
    await row(1).focus();
    await press('x');
    const toolbar = page.getByRole('toolbar', { name: 'Actions on selected memories' });
    await button(page, 'Select all').waitFor();
    await expect.poll(() => toolbar.locator('[tabindex="0"]').count()).toBe(1);
    await tabTo('Select all');
    await press('ArrowRight');
    expect(await focusedText()).toBe('Tag…');
    await press('End');
    expect(await focusedText()).toBe('Clear');
    await press('ArrowRight', 'ArrowLeft', 'ArrowLeft');
    expect(await focusedText()).toBe('Forget');
    expect(await toolbar.locator('[tabindex="0"]').count()).toBe(1);
    await press('Tab', 'Shift+Tab');
    expect(await focusedText()).toBe('Forget');
    await press('Home', 'ArrowRight', 'Enter');
    await page.getByRole('combobox', { name: 'Tag 1 memory' }).waitFor();
    await page.getByRole('listbox').getByRole('option').first().waitFor();
    await press('Escape', 'Escape');
    await expect.poll(focusedText).toBe('Tag…');
    await press('Escape');
    await bar(page).waitFor({ state: 'detached' });
    expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-rowindex'))).toBe('2');
  });

  it('keeps the selection in the timeline', async () => {
    await row(1).focus();
    await press('x');
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.getByRole('region', { name: 'Days' }).waitFor();
    await bar(page).getByText('1 selected of 60').waitFor();
  });

  it.each(['light', 'dark'] as const)('passes axe in the %s theme', async (colorScheme) => {
    await stage.memory.store({ content: `A ${colorScheme} stop that is forgotten` });
    await page.emulateMedia({ colorScheme });
    await goTo('');
    await row(1).getByText(`A ${colorScheme} stop`).waitFor();
    await row(1).focus();
    await press('x');
    await button(page, 'Tag…').waitFor();
    const found = await getViolations(page);
    for (const name of ['Tag…', 'Importance…', 'Export…']) {
      await button(page, name).click();
      await button(page, 'Cancel').waitFor();
      found.push(...(await getViolations(page)));
      await button(page, 'Cancel').click();
    }
    await button(page, 'Forget').click();
    await toast(page, 'Forgetting').waitFor();
    found.push(...(await getViolations(page)));
    expect(found).toEqual([]);
  });

  it('fits a phone, and hides no row', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await row(1).getByRole('checkbox').click();
    await button(page, 'Forget').waitFor();
    const boxes = () =>
      bar(page)
        .getByRole('button')
        .evaluateAll((all) => all.map((one) => one.getBoundingClientRect()));
    expect((await boxes()).filter((box) => box.right > 390 || box.height < 24 || box.bottom > 844)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    const grid = await page.getByRole('grid').boundingBox();
    const top = (await bar(page).boundingBox())?.y ?? 0;
    expect((grid?.y ?? 0) + (grid?.height ?? 0)).toBeLessThanOrEqual(top);
    await button(page, 'Tag…').click();
    await page.getByRole('listbox').getByRole('option').first().waitFor();
    const list = await page.getByRole('listbox').boundingBox();
    expect(list?.y).toBeGreaterThan(0);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  });
});

describe.runIf(hasBrowser())('bulk actions when the service dies', () => {
  const stage = useStage({ isEmpty: true });
  const COUNT = 9000;
  let port: number;
  let args: string[];
  let memory: MemoryClient;
  let service: ReturnType<typeof launch>;
  let visit: Visit;
  let page: Page;

  const start = async () => {
    service = launch(args, WORDS_ONLY);
    await untilHealthy(port, service);
  };

  beforeEach(async () => {
    port = await freePort();
    args = ['--port', String(port), '--db-path', join(createTemporaryFolder(), 'memory.db')];
    memory = new MemoryClient({ url: `http://127.0.0.1:${port}` });
    await start();
    const log = Array.from({ length: COUNT }, (_, i) => ({ content: `Line ${i} of the log`, tags: ['log'] }));
    expect((await memory.storeBatch(log)).failed_count).toBe(0);
    await memory.store({ content: 'Not of the log', tags: ['other'] });
    visit = await stage.visit('/ui/');
    page = visit.page;
    // The person confirms that the page is closed.
    page.on('dialog', (dialog) => void dialog.accept());
    await page.clock.install();
    await page.goto('about:blank');
    await page.goto(`http://127.0.0.1:${port}/ui/#/?tag=log`);
    await page.locator('.table-text').first().waitFor();
    await getRow(page, 1).focus();
    await page.keyboard.press('Control+a');
    await button(page, 'Select all').click();
    await bar(page).getByText('9,000 selected of 9,000').waitFor();
    return async () => {
      await visit.close();
      await service.end('SIGTERM');
    };
  });

  const countTagged = async (tag: string) => (await memory.memories({ tag: [tag], limit: 1 })).total;
  /** Acts, and kills the service when it reports the first memories that were changed or forgotten. */
  const killDuring = async (act: () => Promise<void>) => {
    const listening = new AbortController();
    await new Promise<void>((resolve, reject) => {
      const follow = async () => {
        const events = memory.events({ type: ['updated', 'forgotten'] }, listening.signal, () => act().catch(reject));
        for await (const _ of events) {
          await service.end('SIGKILL');
          resolve();
          return;
        }
      };
      follow().catch(reject);
    });
    listening.abort();
  };
  const enterTag = async (tag: string) => {
    await button(page, 'Tag…').click();
    await page.getByRole('combobox', { name: /^Tag / }).fill(tag);
    await page.keyboard.press('Enter');
  };
  const tagHalf = async () => {
    await killDuring(() => enterTag('read'));
    await toast(page, /^Tagging 9,000 memories was interrupted/).waitFor();
  };

  it('keeps what was typed for a change that cannot begin', async () => {
    await service.end('SIGKILL');
    await enterTag('read');
    await bar(page)
      .getByText(/^no response/)
      .waitFor();
    await start();
    await page.getByRole('combobox', { name: /^Tag / }).press('Enter');
    await toast(page, 'Tagged 9,000 memories.').waitFor();
    expect(await countTagged('read')).toBe(COUNT);
  });

  it('continues a change by itself, which is then whole and can be undone', async () => {
    await tagHalf();
    await start();
    await toast(page, 'Tagged 9,000 memories.').waitFor();
    expect(await countTagged('read')).toBe(COUNT);
    await button(page, 'Undo').click();
    await toast(page, 'Undone in 9,000 memories.').waitFor();
    expect(await countTagged('read')).toBe(0);
    expect(await countTagged('log')).toBe(COUNT);
  });

  it('undoes a change that was interrupted, and an undo that was interrupted', async () => {
    await tagHalf();
    await button(page, 'Undo').click();
    await toast(page, 'Not everything is undone.').waitFor();
    await start();
    await toast(page, /^Undone in/).waitFor();
    expect(await countTagged('read')).toBe(0);
    await button(page, 'Dismiss').click();
    await enterTag('again');
    await toast(page, 'Tagged 9,000 memories.').waitFor();
    await killDuring(() => button(page, 'Undo').click());
    await toast(page, 'Not everything is undone.').waitFor();
    await start();
    await toast(page, /^Undone in/).waitFor();
    expect(await countTagged('again')).toBe(0);
    expect(await countTagged('log')).toBe(COUNT);
  });

  /** Closes the page as a person does. */
  const close = async () => {
    const closed = page.waitForEvent('close');
    await page.close({ runBeforeUnload: true });
    await closed;
  };
  const openNext = async () => {
    page = await page.context().newPage();
    await page.goto(`http://127.0.0.1:${port}/ui/`);
  };
  const getRecords = () =>
    page.evaluate(() => Object.keys(localStorage).filter((name) => name.startsWith('memoryd-unfinished')));
  const getLabels = async () => {
    const pages = await Promise.all(
      Array.from({ length: COUNT / 1000 }, (_, i) => memory.memories({ tag: ['log'], limit: 1000, offset: i * 1000 })),
    );
    return pages.flatMap(({ memories }) => memories.map(({ id, tags, importance }) => ({ id, tags, importance })));
  };

  it.each([
    { act: 'Tag', label: 'Tagging', value: 'read', leave: close },
    { act: 'Untag', label: 'Untagging', value: 'log', leave: close },
    { act: 'Importance', label: 'Changing', value: '0.9', leave: () => page.reload().catch(() => undefined) },
  ])(
    'says on the next page that a change was interrupted, and undoes it: $act',
    async ({ act, label, value, leave }) => {
      const before = await getLabels();
      await killDuring(async () => {
        await button(page, `${act}…`).click();
        await bar(page).locator('input').fill(value);
        await page.keyboard.press('Enter');
      });
      await toast(page, `${label} 9,000 memories was interrupted`).waitFor();
      await leave();
      await start();
      await openNext();
      await toast(page, `${label} 9,000 memories was interrupted, because the page was closed.`).waitFor();
      expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain('read');
      expect(await getLabels()).not.toEqual(before);
      await page.reload();
      await button(page, 'Undo').click();
      await toast(page, /^Undone in [\d,]+ memories/).waitFor();
      expect(await getLabels()).toEqual(before);
      expect(await getRecords()).toEqual([]);
      await page.reload();
      await page.locator('.table-text').first().waitFor();
      expect(await page.locator('.toast').count()).toBe(0);
    },
  );

  it('undoes a change that the service continues after the page is closed', async () => {
    const before = await getLabels();
    const listening = new AbortController();
    for await (const _ of memory.events({ type: ['updated'] }, listening.signal, () => void enterTag('read'))) break;
    listening.abort();
    await close();
    await openNext();
    await toast(page, 'Tagging 9,000 memories was interrupted').waitFor();
    await button(page, 'Undo').click();
    await toast(page, 'Undone in').waitFor();
    expect(await getLabels()).toEqual(before);
  });

  it('keeps no record of a change that is complete', async () => {
    await tagHalf();
    expect(await getRecords()).toHaveLength(1);
    await start();
    await toast(page, 'Tagged 9,000 memories.').waitFor();
    expect(await getRecords()).toEqual([]);
  });

  it('says that a forget was interrupted, and completes it on request', async () => {
    await button(page, 'Forget').click();
    await toast(page, 'Forgetting 9,000 memories').waitFor();
    await killDuring(() => page.clock.fastForward(FORGET_DELAY_MS));
    const interrupted = toast(page, 'Not all forgotten: 9,000 memories.');
    await interrupted.waitFor();
    await start();
    await interrupted.getByRole('button', { name: 'Try again' }).click();
    await toast(page, 'The selected memories are forgotten.').waitFor();
    expect(await countTagged('log')).toBe(0);
    expect(await countTagged('other')).toBe(1);
  });
});
