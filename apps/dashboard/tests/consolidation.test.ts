import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../packages/server/conformance/process.ts';
import { hasBrowser, hold, intercept, openWithEvents, useStage, type Visit } from './browser.ts';

describe.runIf(hasBrowser())('consolidation', () => {
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
  /** Stores a memory about a town and its correction, and lets consolidation find the pair. */
  const suggest = async (town: string) => {
    await stage.memory.store({ content: `The weekly fair of ${town} is on Monday.`, user_id: town });
    await stage.memory.store({ content: `The weekly fair of ${town} has moved to Friday.`, user_id: town });
    await stage.untilEmbedded();
    await stage.memory.consolidate();
  };

  it('previews, starts and undoes a consolidation run, and lists its changes', async () => {
    // Consolidates the fixture, so that only the duplicates are left.
    await stage.memory.consolidate();
    const duplicates = await stage.memory.storeBatch(
      [1, 2].map(() => ({ content: 'The piano is tuned in spring', session_id: 'mudanza' })),
    );
    expect(duplicates.stored_count).toBe(2);
    const before = await stage.memory.stats();
    await goTo('consolidation');
    await button('Preview consolidation').click();
    await page.getByText(/^Merge \d/).click();
    await page.locator('.change-line', { hasText: 'The piano is tuned in spring' }).first().waitFor();
    expect(await stage.memory.stats()).toMatchObject({ working_count: before.working_count });
    await button('Run consolidation now').click();
    await button(/^Merged \d+$/).click();
    const duplicate = page.locator('.change-removed', { hasText: 'The piano is tuned in spring' });
    await eventually('the duplicate', 20_000, async () => {
      await page.keyboard.press('End');
      return (await duplicate.count()) > 0 || undefined;
    });
    expect(await stage.memory.stats()).toMatchObject({ working_count: 0 });
    await button('Undo…').click();
    await button('Undo run').click();
    await page.getByText('This run was undone').waitFor();
    expect((await stage.memory.stats()).working_count).toBe(before.working_count);
    await goTo('consolidation');
    await page.locator('.row', { hasText: 'Undone' }).first().waitFor();
  });

  it('lists the later runs before it undoes an older run together with them', async () => {
    await stage.memory.consolidate();
    const ids: string[] = [];
    for (const content of ['The cello is in the attic', 'The oboe is in the cellar', 'The drum is in the garage']) {
      await stage.memory.store({ content });
      ids.push((await stage.memory.consolidate()).id ?? '');
    }
    const [first = '', , newest = ''] = ids;
    const dialog = page.getByRole('dialog');
    const text = async (id: string) => {
      await goTo(`run?id=${id}`);
      await button('Undo…').click();
      await dialog.getByRole('button', { name: /^Undo (run|3 runs)$/, disabled: false }).waitFor();
      return (await dialog.textContent()) ?? '';
    };
    expect(await text(newest)).not.toContain('later');
    await page.keyboard.press('Escape');
    expect(await text(first)).toContain('This also undoes the 2 later runs, newest first:');
    expect(await dialog.getByRole('listitem').count()).toBe(2);
    await button('Undo 3 runs').click();
    await page.getByText('This run was undone').waitFor();
    for (const id of ids) expect((await stage.memory.consolidation({ id })).status).toBe('undone');
    expect((await stage.memory.stats()).working_count).toBe(3);
  });

  it('lists a run that begins elsewhere, and shows that a run was undone, without a reload', async () => {
    await stage.memory.store({ content: 'The harp is in the hall' });
    await openWithEvents(page, `${stage.url}/ui/#/consolidation`);
    const runs = page.getByRole('list', { name: 'Runs' });
    await button('Preview consolidation').waitFor();
    const { id = '' } = await stage.memory.consolidate();
    const row = runs.locator('.row', { has: page.locator(`a[href*="${id}"]`) });
    await row.getByText('Completed').waitFor();
    await stage.memory.undo(id);
    await row.getByText('Undone').waitFor();
    const { id: next = '' } = await stage.memory.consolidate();
    await openWithEvents(page, `${stage.url}/ui/#/run?id=${next}`);
    await button('Undo…').waitFor();
    await stage.memory.undo(next);
    await page.getByText('This run was undone').waitFor();
    expect(await button('Undo…').count()).toBe(0);
  });

  it('keeps the kind of change in the address', async () => {
    await stage.memory.consolidate();
    await stage.memory.store({ content: 'The tuba is in the shed' });
    const { id } = await stage.memory.consolidate();
    await goTo(`run?id=${id}`);
    await button(/^Promoted 1$/).click();
    await page.reload();
    await expect.poll(() => button(/^Promoted 1$/).getAttribute('aria-pressed')).toBe('true');
    await button(/^\d+ changes?$/).click();
    expect(new URL(page.url()).hash).toBe(`#/run?id=${id}`);
  });

  it('undoes one change of a run, and leaves the others', async () => {
    await stage.memory.consolidate();
    const lamp = await stage.memory.store({ content: 'The lamp hangs in the hall' });
    const rug = await stage.memory.store({ content: 'The rug lies in the study' });
    const { id } = await stage.memory.consolidate();
    await goTo(`run?id=${id}`);
    const change = page.locator('.change-line', { hasText: 'The lamp hangs in the hall' });
    await change.getByRole('button', { name: 'Undo this change' }).click();
    await change.getByText('Undone').waitFor();
    expect((await stage.memory.memory(lamp.id)).tier).toBe('working');
    expect((await stage.memory.memory(rug.id)).tier).toBe('episodic');
    const other = page.locator('.change-line', { hasText: 'The rug lies in the study' });
    await intercept(page, '**/consolidations/*/undo*', (route) => route.abort());
    await other.getByRole('button', { name: 'Undo this change' }).click();
    await other.getByRole('alert').waitFor({ timeout: 30_000 });
    expect(await other.getByText('Undone').count()).toBe(0);
    expect((await stage.memory.memory(rug.id)).tier).toBe('episodic');
  });

  it('lists suggested corrections with both texts, accepts one, and undoes the acceptance', async () => {
    const user_id = 'corrections';
    const earlier = await stage.memory.store({ content: 'The weekly fair of Otterby is on Monday.', user_id });
    await stage.memory.store({ content: 'The weekly fair of Otterby has moved to Friday.', user_id });
    await stage.untilEmbedded();
    await stage.memory.consolidate();
    await goTo(`consolidation?user_id=${user_id}&tab=corrections`);
    await page.getByRole('link', { name: 'Corrections 1' }).waitFor();
    const pair = page.getByRole('listitem').filter({ hasText: 'The weekly fair of Otterby is on Monday.' });
    await pair.getByText('The weekly fair of Otterby has moved to Friday.').waitFor();
    expect(await pair.locator('del').allInnerTexts()).toEqual(['is on Monday']);
    expect(await pair.locator('ins').allInnerTexts()).toEqual(['has moved to Friday']);
    const isSuperseded = async () => (await stage.memory.memory(earlier.id)).superseded_by !== null;
    expect(await isSuperseded()).toBe(false);
    await pair.getByRole('button', { name: 'Accept' }).click();
    await pair.getByText('Accepted').waitFor();
    expect(await isSuperseded()).toBe(true);
    await pair.getByRole('button', { name: 'Undo' }).click();
    await pair.getByText('Declined').waitFor();
    expect(await isSuperseded()).toBe(false);
  });

  it('undoes the acceptances of several corrections one after the other with the keyboard', async () => {
    const user_id = 'several corrections';
    for (const content of [
      'Ingrid keeps the key of the boathouse.',
      'Ingrid no longer keeps the key of the boathouse.',
      'The piano tuner charges 80 euros.',
      'The piano tuner charges 95 euros.',
    ]) {
      await stage.memory.store({ content, user_id });
    }
    await stage.untilEmbedded();
    await stage.memory.consolidate();
    await goTo(`consolidation?user_id=${user_id}&tab=corrections`);
    await page.getByText('2 pairs of which').waitFor();
    const countAccepted = async () => (await stage.memory.corrections({ user_id, state: 'accepted' })).total;
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    await press('j', 'a', 'a');
    await expect.poll(countAccepted).toBe(2);
    await press('u', 'u');
    await expect.poll(() => page.locator('.pair-declined').count()).toBe(2);
    expect(await countAccepted()).toBe(0);
    // Keys that are pressed while the requests of earlier ones are under way.
    const decisions = /\/corrections\/\w/;
    const release = await hold(page, decisions);
    let decided = 0;
    page.on('response', (response) => {
      if (decisions.test(response.url())) decided++;
    });
    await press('k', 'a', 'a', 'u', 'u', 'u', 'a');
    release();
    await expect.poll(() => decided).toBe(5);
    await page.locator('.pair').last().getByText('Accepted').waitFor();
    await page.locator('.pair').first().getByText('Declined').waitFor();
    expect(await countAccepted()).toBe(1);
  });

  it('keeps a decided pair in its place while the list is loading again', async () => {
    await suggest('Ambleside');
    await openWithEvents(page, `${stage.url}/ui/#/consolidation?tab=corrections`);
    const pair = page.locator('.pair', { hasText: 'Ambleside' });
    await pair.waitFor();
    const list = /\/corrections\?.*limit=100/;
    const release = await hold(page, list);
    const isRequested = page.waitForRequest(list);
    const loaded = page.waitForResponse(list);
    await suggest('Keswick');
    await isRequested;
    await pair.getByRole('button', { name: 'Accept' }).click();
    await pair.getByText('Accepted').waitFor();
    release();
    await (await loaded).finished();
    await pair.getByRole('button', { name: 'Undo' }).click();
    await pair.getByText('Declined').waitFor();
  });

  it('counts and lists the corrections that a run suggests while they are shown', async () => {
    const { total } = await stage.memory.corrections({ limit: 1 });
    await openWithEvents(page, `${stage.url}/ui/#/consolidation?tab=corrections`);
    await page.getByRole('link', { name: `Corrections ${total}`, exact: true }).waitFor();
    await suggest('Elmsford');
    await page.getByRole('link', { name: `Corrections ${total + 1}`, exact: true }).waitFor();
    const pair = page.locator('.pair', { hasText: 'The weekly fair of Elmsford' });
    await pair.getByRole('button', { name: 'Accept' }).click();
    await pair.getByText('Accepted').waitFor();
    await suggest('Ashbury');
    await page.getByRole('link', { name: `Corrections ${total + 1}`, exact: true }).waitFor();
    // The decision can still be undone.
    await pair.getByRole('button', { name: 'Undo' }).click();
    await pair.getByText('Declined').waitFor();
  });

  it('decides corrections with the keyboard, and undoes the last acceptance', async () => {
    const user_id = 'keys';
    const pairs = [
      ['The night bus of Harrowgate stops at 23:10.', 'The night bus of Harrowgate stops at 23:40.'],
      ['The harbour ferry costs 4 pounds.', 'The harbour ferry costs 6 pounds.'],
    ] as const;
    const earlier: string[] = [];
    for (const [before, after] of pairs) {
      earlier.push((await stage.memory.store({ content: before, user_id })).id);
      await stage.memory.store({ content: after, user_id });
    }
    await stage.untilEmbedded();
    await stage.memory.consolidate();
    expect((await stage.memory.corrections({ user_id })).total).toBe(2);
    await goTo(`consolidation?user_id=${user_id}&tab=corrections`);
    await page.locator('.pair').nth(1).waitFor();
    const countSuperseded = async () => {
      const memories = await Promise.all(earlier.map((id) => stage.memory.memory(id)));
      return memories.filter(({ superseded_by }) => superseded_by !== null).length;
    };
    await page.keyboard.press('j');
    await page.keyboard.press('a');
    await expect.poll(countSuperseded).toBe(1);
    await page.locator('.pair').first().getByText('Accepted').waitFor();
    await page.keyboard.press('d');
    await page.locator('.pair').nth(1).getByText('Declined').waitFor();
    expect(await countSuperseded()).toBe(1);
    await page.keyboard.press('u');
    await expect.poll(countSuperseded).toBe(0);
    await button('Declined').click();
    await expect.poll(() => page.locator('.pair').count()).toBe(2);
    await page.reload();
    await page.locator('.pair').first().getByRole('button', { name: 'Accept instead' }).waitFor();
  });
});
