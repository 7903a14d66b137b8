import { join } from 'node:path';
import { MemoryClient, type MemoryError } from '@memoryd/client';
import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { createTemporaryFolder } from '../../../packages/server/conformance/folders.ts';
import { freePort, launch, untilHealthy } from '../../../packages/server/conformance/process.ts';
import { WORDS_ONLY } from '../../../packages/server/conformance/under-test.ts';
import { getViolations, hasBrowser, hold, openWithEvents, useStage, type Visit } from './browser.ts';

/** Time for which forgetting can be undone, and what a loaded machine adds. */
const FORGOTTEN_TIMEOUT_MS = 30_000;

describe.runIf(hasBrowser())('the panel of one memory', () => {
  const stage = useStage({ isEmpty: true });
  let visit: Visit;
  let page: Page;

  beforeEach(async () => {
    visit = await stage.visit('/ui/');
    page = visit.page;
    return async () => {
      await visit.close();
      expect(visit.problems).toEqual([]);
    };
  });

  const panel = () => page.locator('.beside');
  const open = async (id: string) => {
    await page.goto(`${stage.url}/ui/#/?open=${id}`);
    // The memory that was open before is shown until then.
    const { content } = await read(id);
    await panel().locator('.memory .memory-text', { hasText: content }).first().waitFor();
  };
  const button = (name: string | RegExp) => panel().getByRole('button', { name, exact: true });
  const textField = () => panel().getByRole('textbox', { name: 'Text', exact: true });
  const section = (name: string) => panel().getByRole('region', { name, exact: true });
  const store = async (content: string, fields: object = {}) => (await stage.memory.store({ content, ...fields })).id;
  const read = (id: string) => stage.memory.memory(id);
  const isInPanel = () => page.evaluate(() => document.activeElement?.closest('.beside') !== null);

  it('edits the text with a click and Ctrl+Enter, and shows the changed words in the history', async () => {
    const id = await store('The spare key hangs in the shed');
    await open(id);
    await panel().locator('.memory-text').first().click();
    await textField().fill('The spare key hangs in the cellar');
    await panel().getByRole('combobox', { name: /Tags/ }).fill('house, keys');
    await page.keyboard.press('Control+Enter');
    await page.getByText('Changes saved.').waitFor();
    expect(await read(id)).toMatchObject({ content: 'The spare key hangs in the cellar', tags: ['house', 'keys'] });
    await section('History').locator('del', { hasText: 'shed' }).waitFor();
    await section('History').locator('ins', { hasText: 'cellar' }).waitFor();
  });

  it('restores an earlier text', async () => {
    const id = await store('The boat is red');
    await stage.memory.update(id, { content: 'The boat is blue' });
    await open(id);
    await button('Restore this text').click();
    await page.getByText('Text restored.').waitFor();
    expect(await read(id)).toMatchObject({ content: 'The boat is red' });
    expect((await stage.memory.history(id)).total).toBe(3);
  });

  it('edits validity, expiry and metadata, and keeps metadata values that are not texts', async () => {
    const metadata = { room: 'kitchen', size: { width: 3 }, old: 'x' };
    const id = await store('The table is oak', { metadata });
    await open(id);
    await button('Edit').click();
    await panel().getByLabel('True from').fill('2026-01-02T03:04:05');
    await panel().getByLabel('Expires').fill('2036-01-02T03:04:05');
    await panel().getByLabel('Importance, from 0 to 1').fill('0.9');
    await panel().getByLabel('Value of field 1').fill('dining room');
    await button('Remove field old').click();
    await button('Add field').click();
    await panel().getByLabel('Name of field 3').fill('room');
    await button('Save').click();
    await page.getByRole('alert').getByText('two fields “room”').waitFor();
    expect((await read(id)).version).toBe(1);
    await panel().getByLabel('Name of field 3').fill('wood');
    await panel().getByLabel('Value of field 3').fill('oak');
    await button('Save').click();
    await page.getByText('Changes saved.').waitFor();
    expect(await read(id)).toMatchObject({
      ...{ content: 'The table is oak', importance: 0.9, version: 2 },
      metadata: { room: 'dining room', size: { width: 3 }, wood: 'oak' },
      ...{ valid_from: '2026-01-02T03:04:05.000Z', valid_to: null, expires_at: '2036-01-02T03:04:05.000Z' },
    });
    expect((await read(id)).metadata).not.toHaveProperty('old');
  });

  it('ends the validity of a memory with one button', async () => {
    const id = await store('The shop is open on Sundays', { created_at: '2026-01-01T00:00:00Z' });
    await open(id);
    await button('No longer true…').click();
    await page.keyboard.press('Control+Enter');
    await page.getByText('Changes saved.').waitFor();
    expect(Date.parse((await read(id)).valid_to ?? '')).toBeLessThanOrEqual(Date.now());
  });

  it('finds and corrects an outdated fact from the table with five actions', async () => {
    const kept = {
      ...{ session_id: 'talk', user_id: 'anna', agent_id: 'guide' },
      ...{ tags: ['people'], importance: 0.8, metadata: { a: 1 } },
    };
    const old = await store('Noor lives in Porto', kept);
    await store('The heron is grey');
    await page.goto(`${stage.url}/ui/#/?tag=people`);
    await page.getByRole('row', { name: /Noor lives/ }).click();
    await button('Correct…').click();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('Noor lives in Faro');
    await page.keyboard.press('Control+Enter');
    await panel().locator('.memory .memory-text', { hasText: 'Noor lives in Faro' }).waitFor();
    const { superseded_by: newer } = await read(old);
    expect(await read(newer ?? '')).toMatchObject({
      ...{ content: 'Noor lives in Faro', supersedes: old },
      ...kept,
    });
    expect((await read(old)).content).toBe('Noor lives in Porto');
    await section('Corrections').getByText('Noor lives in Porto').waitFor();
    expect(await panel().getByRole('link', { name: 'Noor lives in Porto' }).count()).toBeGreaterThan(0);
  });

  it('shows a concurrent change, keeps the draft, and saves the draft on request', async () => {
    const id = await store('Dinner is at seven', { tags: ['a', 'x, y'] });
    await open(id);
    await button('Edit').click();
    await textField().fill('Dinner is at nine');
    const release = await hold(page, '**/events*');
    await stage.memory.update(id, { tags: ['x, y', 'theirs'], importance: 0.9 });
    await button('Save').click();
    await page.getByText('Someone else changed this memory.').waitFor();
    expect((await read(id)).content).toBe('Dinner is at seven');
    expect(await panel().locator('.notice del').allInnerTexts()).toEqual(['a, "x, y"', '0.5', 'seven']);
    expect(await panel().locator('.notice ins').allInnerTexts()).toEqual(['"x, y", theirs', '0.9', 'nine']);
    await button('Keep my changes').click();
    await button('Save').click();
    await page.getByText('Changes saved.').waitFor();
    const expected = { content: 'Dinner is at nine', tags: ['x, y', 'theirs'], importance: 0.9 };
    expect(await read(id)).toMatchObject(expected);
    release();
    visit.allow(/412/);
  });

  it('shows a change by someone else at once, and reports it while the memory is being edited', async () => {
    const id = await store('The lift is broken');
    await openWithEvents(page, `${stage.url}/ui/#/?open=${id}`);
    await panel().locator('.memory-text', { hasText: 'The lift is broken' }).first().waitFor();
    await stage.memory.update(id, { content: 'The lift works' });
    await panel().locator('.memory .memory-text', { hasText: 'The lift works' }).waitFor();
    await button('Edit').click();
    await textField().fill('The lift works on weekdays');
    await stage.memory.update(id, { content: 'The lift is new' });
    await page.getByText('Changed meanwhile.').waitFor();
    expect(await textField().inputValue()).toBe('The lift works on weekdays');
    await button('Compare').click();
    await button('Discard my changes').click();
    expect(await textField().inputValue()).toBe('The lift is new');
  });

  it('keeps the line ends of a text, and does not send an unchanged text', async () => {
    const id = await store('one\r\ntwo\r\nthree');
    await open(id);
    await button('Edit').click();
    await textField().press('End');
    await page.keyboard.type('x');
    await page.keyboard.press('Backspace');
    await panel()
      .getByLabel(/Importance/)
      .fill('0.9');
    await button('Save').click();
    await page.getByText('Changes saved.').waitFor();
    expect(await read(id)).toMatchObject({ content: 'one\r\ntwo\r\nthree', importance: 0.9 });
    expect((await stage.memory.history(id)).total).toBe(1);
    await button('Edit').click();
    await textField().fill('one\nor two\nthree');
    await button('Save').click();
    await panel().locator('.history ins').waitFor();
    expect((await read(id)).content).toBe('one\r\nor two\r\nthree');
  });

  it('a saved memory cannot be changed before its new version is loaded', async () => {
    const id = await store('The shed is green');
    await open(id);
    await page.keyboard.press('e');
    await textField().fill('The shed is blue');
    const release = await hold(page, `**/memories/${id}`);
    await page.keyboard.press('Control+Enter');
    await page.getByText('Changes saved.').waitFor();
    const pressAll = async () => {
      for (const key of ['e', 't', 'c', '#']) await page.keyboard.press(key);
      expect(await panel().locator('form').count()).toBe(0);
      expect(await page.locator('.toast').count()).toBe(0);
    };
    await pressAll();
    release();
    await button('Edit').click();
    expect(await textField().inputValue()).toBe('The shed is blue');
    // Also after a form that is left while its save is under way.
    const releaseSave = await hold(page, /\/update\//);
    await textField().fill('The shed is red');
    await page.keyboard.press('Control+Enter');
    await page.keyboard.press('Escape');
    await pressAll();
    releaseSave();
    await button('Edit').click();
    expect(await textField().inputValue()).toBe('The shed is red');
    expect((await read(id)).version).toBe(3);
  });

  it('keeps the draft after Escape until it is discarded', async () => {
    const id = await store('The red boat leaks');
    const other = await store('The green boat is sound');
    await open(id);
    await page.keyboard.press('e');
    await textField().fill('The red boat is mended');
    await page.keyboard.press('Escape');
    await page.getByText('You have unsaved changes').waitFor();
    await open(other);
    expect(await page.getByText('You have unsaved changes').count()).toBe(0);
    await page.goto(`${stage.url}/ui/#/?open=${id}`);
    expect(await textField().inputValue()).toBe('The red boat is mended');
    expect(await textField().evaluate((field) => field === document.activeElement)).toBe(true);
    await button('Discard').click();
    await panel().locator('.memory .memory-text', { hasText: 'The red boat leaks' }).waitFor();
    expect(await page.getByText('You have unsaved changes').count()).toBe(0);
    expect((await read(id)).version).toBe(1);
  });

  it.each([
    ['e', 'Edit memory'],
    ['t', 'Edit memory'],
    ['c', 'Correct memory'],
  ])('types the letters after `%s` into the form', async (key, form) => {
    await open(await store('The loft has mice'));
    const focused = await page.evaluate(async (pressed) => {
      const event = new KeyboardEvent('keydown', { key: pressed, bubbles: true, cancelable: true });
      document.activeElement?.dispatchEvent(event);
      // The browser handles the next key in the next task at the earliest.
      const { port1, port2 } = new MessageChannel();
      const isNextTask = new Promise((resolve) => port1.addEventListener('message', resolve, { once: true }));
      port1.start();
      port2.postMessage(undefined);
      await isNextTask;
      return document.activeElement?.closest('form')?.ariaLabel;
    }, key);
    expect(focused).toBe(form);
  });

  it('completes tags', async () => {
    await store('Tagged', { tags: ['household'] });
    const id = await store('To be tagged', { tags: ['a'] });
    await open(id);
    await page.keyboard.press('t');
    await page.keyboard.press('End');
    await page.keyboard.type(', househ');
    await panel()
      .getByRole('option', { name: /household/ })
      .waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Control+Enter');
    await page.getByText('Changes saved.').waitFor();
    expect((await read(id)).tags).toEqual(['a', 'household']);
  });

  it('suggests only tags that begin with what is typed, even before the service has answered', async () => {
    // The counts of tags may be those of ten seconds ago, but nobody has asked for those of this user.
    const user_id = 'tagger';
    await store('Tagged', { tags: ['household', 'attic'], user_id });
    await page.goto('about:blank');
    await page.goto(`${stage.url}/ui/#/?user_id=${user_id}&open=${await store('To be tagged', { user_id })}`);
    await panel().locator('.memory .memory-text', { hasText: 'To be tagged' }).waitFor();
    await page.keyboard.press('t');
    const options = panel().getByRole('option');
    await options.filter({ hasText: 'attic' }).waitFor();
    const release = await hold(page, /\/facets\?.*prefix=/);
    await page.keyboard.type('Hous');
    await expect.poll(() => options.allInnerTexts()).toEqual([expect.stringMatching(/^household/)]);
    release();
  });

  it('forgets a memory ten seconds later, on every view, unless it is undone', { timeout: 120_000 }, async () => {
    const [kept, gone] = [await store('A note to keep'), await store('A note to be rid of')];
    await open(kept);
    await button('Forget').click();
    await panel().locator('.memory .forgetting').waitFor();
    await button('Undo forgetting').click();
    await button('Forget').waitFor();
    await open(gone);
    await page.keyboard.press('#');
    await page.getByRole('link', { name: 'Sessions', exact: true }).click();
    await page.getByText('Forgetting “A note to be rid of”').waitFor();
    expect((await read(gone)).id).toBe(gone);
    await page.getByText('Memory forgotten.').waitFor({ timeout: FORGOTTEN_TIMEOUT_MS });
    expect(await read(gone).catch((error: MemoryError) => error)).toMatchObject({ code: 'NOT_FOUND' });
    expect((await read(kept)).id).toBe(kept);
  });

  it('forgets nothing that waits when the page is closed, and reports it when the page is opened again', async () => {
    const id = await store('A note that stays');
    await open(id);
    await button('Forget').click();
    await page.getByText('Forgetting “A note that stays”').waitFor();
    await page.goto('about:blank');
    await page.goto(`${stage.url}/ui/`);
    await page.getByText('Not forgotten: 1 memory.').waitFor();
    await page.locator('.toast').getByRole('link').click();
    await panel().locator('.memory-text', { hasText: 'A note that stays' }).first().waitFor();
    await page.locator('.toast').getByRole('button', { name: 'Dismiss' }).click();
    await page.reload();
    await panel().locator('.memory').waitFor();
    expect(await page.locator('.toast').count()).toBe(0);
  });

  it('keeps a memory that changed before it was to be forgotten', { timeout: 120_000 }, async () => {
    const id = await store('The gate sticks');
    await open(id);
    await button('Forget').click();
    const release = await hold(page, /\/memories\/|\/history\//);
    await stage.memory.update(id, { content: 'The gate sticks, and the key is lost' });
    await page.getByRole('alert').getByText('Not forgotten').waitFor({ timeout: FORGOTTEN_TIMEOUT_MS });
    release();
    expect((await read(id)).content).toBe('The gate sticks, and the key is lost');
    visit.allow(/412/);
  });

  it('takes the merge of a duplicate back', async () => {
    const fields = { session_id: 'attic', tags: ['piano'] };
    const ids = [
      await store('The piano is tuned in spring', fields),
      await store('The piano is tuned in spring', fields),
    ];
    await stage.memory.consolidate();
    const merged = await Promise.all(ids.map(read));
    const survivor = merged.find(({ merged_into }) => merged_into === null)?.id ?? '';
    const duplicate = ids.find((id) => id !== survivor) ?? '';
    await open(survivor);
    await button('Find merged duplicates').click();
    await section('Merged duplicates').getByText('Merged by the run of').waitFor();
    await button('Unmerge').click();
    await section('Merged duplicates').getByText('No longer merged').waitFor();
    expect((await read(duplicate)).merged_into).toBeNull();
  });

  it('shows neighbors, related memories, sources and the questions that returned the memory', async () => {
    const ids: string[] = [];
    for (const turn of ['one', 'two', 'three', 'four', 'five', 'six']) {
      ids.push(await store(`Turn ${turn} of the talk`, { session_id: 'talk' }));
    }
    await stage.memory.recall({ query: 'turn three of the talk' });
    await open(ids[2] ?? '');
    const lines = section('In the session').locator('.memory-line');
    await expect
      .poll(() => lines.allInnerTexts())
      .toEqual(['one', 'two', 'This memory', 'four', 'five'].map((word) => expect.stringContaining(word)));
    await section('Related').locator('.memory-line', { hasText: 'of the talk' }).first().waitFor();
    await section('Recalled by').getByText('turn three of the talk').waitFor();
  });

  it('leaves forgotten memories out of the session and of the related ones, and shows a turn that is added', async () => {
    const [first = '', second = '', third = ''] = [
      await store('The first verse of the ballad', { session_id: 'ballad' }),
      await store('The second verse of the ballad', { session_id: 'ballad' }),
      await store('The third verse of the ballad', { session_id: 'ballad' }),
    ];
    await stage.untilEmbedded();
    await openWithEvents(page, `${stage.url}/ui/#/?open=${second}`);
    const line = (name: string, text: string) => section(name).locator('.memory-line', { hasText: text });
    const [before, after] = [line('In the session', 'The first verse'), line('In the session', 'The third verse')];
    await before.waitFor();
    await line('Related', 'The third verse').waitFor();
    await stage.memory.forget(third);
    await after.waitFor({ state: 'detached' });
    await line('Related', 'The third verse').waitFor({ state: 'detached' });
    await stage.memory.update(first, { content: 'The first verse of the ballad, in French' });
    await line('In the session', 'in French').waitFor();
    await line('Related', 'in French').waitFor();
    await store('The last verse of the ballad', { session_id: 'ballad' });
    await line('In the session', 'The last verse').waitFor();
  });

  it('says that the open memory was forgotten, here or by somebody else', { timeout: 120_000 }, async () => {
    const [here, elsewhere] = [await store('A note to burn'), await store('A note that somebody burns')];
    await openWithEvents(page, `${stage.url}/ui/#/?open=${elsewhere}`);
    await panel().locator('.memory').waitFor();
    await stage.memory.forget(elsewhere);
    await panel().getByText('This memory was forgotten').waitFor();
    expect(await panel().locator('.memory').count()).toBe(0);
    await open(here);
    await page.keyboard.press('#');
    await panel().getByText('This memory was forgotten').waitFor({ timeout: FORGOTTEN_TIMEOUT_MS });
    expect(await panel().getByRole('alert').count()).toBe(0);
    visit.allow(/404/);
  });

  it('keeps what was typed about a memory that somebody forgot', async () => {
    const id = await store('The cellar is dry');
    await openWithEvents(page, `${stage.url}/ui/#/?open=${id}`);
    await button('Correct…').click();
    const text = panel().getByRole('textbox', { name: 'What is true now' });
    await text.fill('The cellar is wet');
    await stage.memory.forget(id);
    await panel().getByRole('alert').first().waitFor();
    expect(await text.inputValue()).toBe('The cellar is wet');
    visit.allow(/404/);
  });

  it('opens the next and the previous memory of the list, and Back closes the panel', async () => {
    for (const content of ['Third', 'Second', 'First']) await store(content, { tags: ['ordered'] });
    await page.goto(`${stage.url}/ui/#/?tag=ordered`);
    await page.getByRole('row', { name: /First/ }).click();
    const shows = (content: string) => panel().locator('.memory .memory-text', { hasText: content }).waitFor();
    await shows('First');
    await page.keyboard.press('j');
    await shows('Second');
    await button('Next memory').click();
    await shows('Third');
    expect(await button('Next memory').isDisabled()).toBe(true);
    await page.keyboard.press('k');
    await shows('Second');
    await page.goBack();
    await panel().waitFor({ state: 'detached' });
    expect(page.url()).toContain('tag=ordered');
  });

  it('takes the focus when it opens, and returns it to the row with Escape', async () => {
    await store('The lamp is in the hall', { tags: ['lamp'] });
    await page.goto(`${stage.url}/ui/#/?tag=lamp`);
    const row = page.getByRole('row', { name: /The lamp/ });
    await row.focus();
    await page.keyboard.press('Enter');
    await panel().locator('.memory').waitFor();
    expect(await isInPanel()).toBe(true);
    await page.keyboard.press('e');
    const form = page.getByRole('form', { name: 'Edit memory' });
    await form.waitFor();
    await page.keyboard.press('Escape');
    await form.waitFor({ state: 'detached' });
    expect(await isInPanel()).toBe(true);
    await page.keyboard.press('Escape');
    await panel().waitFor({ state: 'detached' });
    await expect.poll(() => row.evaluate((element) => element === document.activeElement)).toBe(true);
  });

  it.each(['light', 'dark'] as const)('passes axe in the %s theme', { timeout: 120_000 }, async (colorScheme) => {
    await store('The table is laid', { tags: ['household'] });
    const id = await store('Dinner is at seven', { session_id: 'home', tags: ['home'], metadata: { a: 'b', c: 1 } });
    await stage.memory.update(id, { content: 'Dinner is at eight' });
    await store('Dinner is at nine', { supersedes: id });
    const other = await stage.visit(`/ui/#/?open=${id}`, { colorScheme, viewport: { width: 390, height: 800 } });
    const shown = other.page.locator('.beside');
    const press = (name: string) => shown.getByRole('button', { name, exact: true }).click();
    await shown.locator('.memory').waitFor();
    await expect.poll(() => shown.getByText('Loading').count()).toBe(0);
    const found = await getViolations(other.page);
    await press('Edit');
    await shown.getByRole('combobox', { name: 'Tags' }).fill('home, ho');
    await shown.getByRole('option').first().waitFor();
    found.push(...(await getViolations(other.page)));
    await press('Discard');
    await press('Correct…');
    found.push(...(await getViolations(other.page)));
    await press('Discard');
    await press('Forget');
    found.push(...(await getViolations(other.page)));
    expect(found).toEqual([]);
    expect(await other.page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await other.close();
  });

  it('keeps what was typed when the service dies, and saves it when the service is back', {
    timeout: 120_000,
  }, async () => {
    const port = await freePort();
    const args = ['--port', String(port), '--db-path', join(createTemporaryFolder(), 'memory.db')];
    const first = launch(args, WORDS_ONLY);
    await untilHealthy(port, first);
    const memory = new MemoryClient({ url: `http://127.0.0.1:${port}` });
    const { id } = await memory.store({ content: 'The well is deep' });
    await page.goto('about:blank');
    await page.goto(`http://127.0.0.1:${port}/ui/#/?open=${id}`);
    await button('Edit').click();
    await textField().fill('The well is shallow');
    await first.end('SIGKILL');
    await button('Save').click();
    await panel().locator('form').getByRole('alert').waitFor();
    expect(await textField().inputValue()).toBe('The well is shallow');
    const second = launch(args, WORDS_ONLY);
    await untilHealthy(port, second);
    await button('Save').click();
    await page.getByText('Changes saved.').waitFor();
    expect((await memory.memory(id)).content).toBe('The well is shallow');
    await page.goto('about:blank');
    await second.end('SIGTERM');
    visit.allow(/ERR_|outside request|Failed to load/);
  });
});
