import { join } from 'node:path';
import { MemoryClient } from '@memoryd/client';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createTemporaryFolder } from '../../../packages/server/conformance/folders.ts';
import { freePort, launch, untilHealthy } from '../../../packages/server/conformance/process.ts';
import { WORDS_ONLY } from '../../../packages/server/conformance/under-test.ts';
import { getViolations, hasBrowser, openWithEvents, type Stage, useStage, type Visit } from './browser.ts';

/** Dates from 1 October 2024 to 30 November 2024 in Lisbon, where the clocks change on 27 October. */
const OCTOBER_AND_NOVEMBER = { since: '2024-09-30T23:00:00.000Z', until: '2024-11-30T23:59:59.999Z' };
const OCTOBER = { ...OCTOBER_AND_NOVEMBER, until: '2024-10-31T23:59:59.999Z' };

const TURNS = [
  { content: 'The tram to the harbor is late', at: '2024-10-05T09:00:00Z', session_id: 'harbor' },
  { content: 'The crane lifts a box', at: '2024-10-05T10:00:00Z', session_id: 'harbor', tags: ['crane'] },
  { content: 'The well is deep', at: '2024-10-28T12:00:00Z', session_id: 'garden', source: 'notes' },
  // The last hour of October in Lisbon, and the first of November in Tokyo.
  { content: 'The lamp of the gate is broken', at: '2024-10-31T23:30:00Z', session_id: 'garden', source: 'notes' },
  { content: 'The pears are ripe', at: '2024-11-20T12:00:00Z', session_id: 'garden', source: 'notes' },
];

/** The turns, and a fact of October that another one replaces in February. Returns the ids of both. */
async function storeTurns(memory: MemoryClient): Promise<{ before: string; after: string }> {
  const turns = TURNS.map(({ at, ...turn }) => ({ ...turn, created_at: at }));
  expect((await memory.storeBatch(turns)).failed_count).toBe(0);
  const { id: before } = await memory.store({ content: 'Maria lives in Lisbon', created_at: '2024-10-10T12:00:00Z' });
  const { id: after } = await memory.store({
    content: 'Maria lives in Porto',
    created_at: '2025-02-10T12:00:00Z',
    supersedes: before,
  });
  return { before, after };
}

const getParams = (page: Page) => new URLSearchParams(page.url().split('?').at(1));
const getDates = (page: Page) => {
  const params = getParams(page);
  return { since: params.get('since'), until: params.get('until') };
};
const bars = (page: Page) => page.getByRole('listbox', { name: /^Memories by/ });
const bar = (page: Page, name: RegExp) => bars(page).getByRole('option', { name });
const day = (page: Page, name: RegExp) => page.getByRole('grid', { name: /^Days of/ }).getByRole('gridcell', { name });
const days = (page: Page) => page.getByRole('region', { name: 'Days' });
const changes = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

/** Opens the timeline of a stage in a new browser context, which is closed when the test ends. */
async function open(stage: Stage, query = '', options?: BrowserContextOptions): Promise<Visit> {
  const visit = await stage.visit('/ui/', options);
  onTestFinished(() => visit.close());
  await openWithEvents(visit.page, `${stage.url}/ui/#/?view=timeline${query}`);
  await bars(visit.page).waitFor();
  return visit;
}

/** Presses the mouse on one element, and releases it on another. */
async function dragTo(page: Page, from: Locator, to: Locator): Promise<void> {
  for (const one of [from, to]) await one.scrollIntoViewIfNeeded();
  const [start, end] = [await from.boundingBox(), await to.boundingBox()];
  if (!start || !end) throw new Error('an element is not shown');
  await page.mouse.move(start.x + start.width / 2, start.y + start.height / 2);
  await page.mouse.down();
  await page.mouse.move(end.x + end.width / 2, end.y + end.height / 2, { steps: 5 });
  await page.mouse.up();
}

describe.runIf(hasBrowser())('the timeline', () => {
  const stage = useStage({ isEmpty: true });

  beforeAll(async () => {
    await storeTurns(stage.memory);
  });

  it('shows what the store holds by month in the time zone of the person', async () => {
    const { page, problems } = await open(stage, '&step=month&stack=source');
    await bar(page, /^October 2024: 5 memories, api 3, notes 2$/).waitFor();
    await bar(page, /^November 2024: 1 memory, notes 1$/).waitFor();
    await bar(page, /^December 2024: 0 memories$/).waitFor();
    await bar(page, /^February 2025: 1 memory, api 1$/).waitFor();
    expect(problems).toEqual([]);
    const tokyo = await open(stage, '&step=month', { timezoneId: 'Asia/Tokyo' });
    await bar(tokyo.page, /^October 2024: 4 memories,/).waitFor();
    await bar(tokyo.page, /^November 2024: 2 memories,/).waitFor();
  });

  it('adds up days and weeks over a change of the clocks', async () => {
    const { page } = await open(stage, '&step=week');
    await bar(page, /^Week of 28 Oct 2024: 2 memories,/).waitFor();
    await page.getByRole('radio', { name: 'Day' }).check();
    await bar(page, /^Thu,? 31 Oct 2024: 1 memory,/).waitFor();
    expect(getParams(page).get('step')).toBe('day');
    // A week has seven bars, also that of the change.
    const names = await bars(page)
      .getByRole('option')
      .evaluateAll((all) => all.map((one) => one.ariaLabel ?? ''));
    expect(
      names.findIndex((name) => name.includes('28 Oct')) - names.findIndex((name) => name.includes('21 Oct')),
    ).toBe(7);
  });

  it('sets the dates by dragging over bars, which the table keeps', async () => {
    const { page } = await open(stage, '&step=month');
    await dragTo(page, bar(page, /^October 2024/), bar(page, /^November 2024/));
    await expect.poll(() => getDates(page)).toEqual(OCTOBER_AND_NOVEMBER);
    await expect.poll(() => bar(page, /^October 2024/).getAttribute('aria-selected')).toBe('true');
    expect(await bar(page, /^February 2025/).getAttribute('aria-selected')).toBe('false');
    await days(page).getByText('6 memories').waitFor();
    await page.getByRole('link', { name: 'Table', exact: true }).click();
    await page.getByRole('row', { name: /The pears are ripe/ }).waitFor();
    expect(await page.getByRole('row', { name: /Porto/ }).count()).toBe(0);
    expect(getDates(page)).toEqual(OCTOBER_AND_NOVEMBER);
    await page.goBack();
    await bars(page).waitFor();
    await page.getByRole('button', { name: 'All dates' }).click();
    await expect.poll(() => getDates(page)).toEqual({ since: null, until: null });
    await page.goBack();
    await expect.poll(() => getDates(page)).toEqual(OCTOBER_AND_NOVEMBER);
  });

  it('sets the dates with keys alone', async () => {
    const { page } = await open(stage, '&step=month');
    await bars(page).focus();
    await page.keyboard.press('End');
    // February is the last month: four months before it is October.
    for (let i = 0; i < 4; i++) await page.keyboard.press('ArrowLeft');
    const active = await bars(page).getAttribute('aria-activedescendant');
    expect(await page.locator(`[id="${active}"]`).getAttribute('aria-label')).toMatch(/^October 2024: 5 memories/);
    await page.keyboard.press('Shift+ArrowRight');
    await page.keyboard.press('Enter');
    await expect.poll(() => getDates(page)).toEqual(OCTOBER_AND_NOVEMBER);
    await page.keyboard.press('Escape');
    await expect.poll(() => getDates(page)).toEqual({ since: null, until: null });
  });

  it('shows what changed in a month after one click on its bar', async () => {
    const { page } = await open(stage, '&step=month');
    await bar(page, /^February 2025/).click();
    await changes(page, 'Changes in February 2025').waitFor();
    await changes(page, 'Appeared').getByText('Maria lives in Porto').waitFor();
    const ended = changes(page, 'Ended');
    await ended.getByText('Maria lives in Lisbon').waitFor();
    await ended.getByText('Now:').waitFor();
    await ended.getByText('Maria lives in Porto').waitFor();
    await bar(page, /^October 2024/).click();
    await changes(page, 'Changes in October 2024').waitFor();
    await changes(page, 'Appeared').getByText('Maria lives in Lisbon').waitFor();
    await expect.poll(() => changes(page, 'Ended').getByText('None').count()).toBe(1);
  });

  it('shows a year as a grid with one tab stop, in which keys and the mouse choose days', async () => {
    const { page } = await open(stage, '&year=2024');
    const grid = page.getByRole('grid', { name: 'Days of 2024' });
    await expect.poll(() => grid.locator('[tabindex="0"]').count()).toBe(1);
    expect(await grid.getByRole('gridcell').count()).toBe(366);
    await day(page, /31 Dec 2024/).focus();
    for (let i = 0; i < 9; i++) await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowLeft');
    expect(await page.evaluate(() => document.activeElement?.ariaLabel)).toMatch(/28 Oct 2024: 1 memory$/);
    expect(await grid.locator('[tabindex="0"]').count()).toBe(1);
    await page.keyboard.press('Shift+ArrowLeft');
    await page.keyboard.press('Enter');
    // The clocks change on 27 October.
    await expect
      .poll(() => getDates(page))
      .toEqual({
        since: '2024-10-26T23:00:00.000Z',
        until: '2024-10-28T23:59:59.999Z',
      });
    await dragTo(page, day(page, /\b1 Oct 2024/), day(page, /\b31 Oct 2024/));
    await expect.poll(() => getDates(page)).toEqual(OCTOBER);
    await expect.poll(() => grid.locator('[aria-selected="true"]').count()).toBe(31);
    await page.getByRole('button', { name: '2025' }).click();
    await day(page, /10 Feb 2025: 1 memory/).waitFor();
    expect(getParams(page).get('year')).toBe('2025');
  });

  it('shows what held at a time: a fact before and after it was corrected', async () => {
    const { page } = await open(stage, '&step=month');
    const slider = page.getByRole('slider', { name: 'As of' });
    await slider.focus();
    await page.keyboard.press('Home');
    await expect.poll(() => getParams(page).get('as_of')).toBe('2024-10-05T22:59:59.999Z');
    await page.getByText('2 memories held then.').waitFor();
    for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowRight');
    await expect.poll(() => getParams(page).get('as_of')).toBe('2024-10-10T22:59:59.999Z');
    expect(await slider.getAttribute('aria-valuetext')).toBe('10 Oct 2024');
    await days(page).getByText('Maria lives in Lisbon').waitFor();
    await changes(page, 'Changes in October 2024').waitFor();
    await openWithEvents(page, `${stage.url}/ui/#/?view=timeline&step=month&as_of=2025-02-11T00:00:00Z`);
    await days(page).getByText('Maria lives in Porto').waitFor();
    expect(await days(page).getByText('Maria lives in Lisbon').count()).toBe(0);
    await page.getByText('6 memories held then.').waitFor();
    await changes(page, 'Ended').getByText('Maria lives in Lisbon').waitFor();
    await page.getByRole('button', { name: 'Today' }).click();
    await expect.poll(() => getParams(page).get('as_of')).toBe(null);
  });

  it('opens the memory of a day, and Back returns to its row', async () => {
    const { page } = await open(stage);
    const link = days(page).getByRole('link', { name: 'The tram to the harbor is late' });
    const getTop = () => link.evaluate((element) => Math.round(element.getBoundingClientRect().top));
    await link.scrollIntoViewIfNeeded();
    const before = await getTop();
    await link.click();
    await page.locator('.beside').waitFor();
    await page.goBack();
    await page.locator('.beside').waitFor({ state: 'detached' });
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.textContent))
      .toBe('The tram to the harbor is late');
    await expect.poll(getTop).toBe(before);
    // Also from another view.
    await days(page).getByRole('link', { name: 'harbor', exact: true }).click();
    await page.locator('.turn').first().waitFor();
    await page.goBack();
    await link.waitFor();
    await expect.poll(getTop).toBe(before);
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe('harbor');
  });

  it('selects the memories of a session, and of a day', async () => {
    const { page } = await open(stage, '&since=2024-10-05T00:00:00Z&until=2024-10-10T23:00:00Z');
    await page
      .getByLabel('Select harbor of Saturday 5 October 2024')
      .or(page.getByLabel('Select harbor of Saturday, 5 October 2024'))
      .check();
    await page
      .getByText(/^2 selected/)
      .first()
      .waitFor();
    await page.getByLabel(/^Select Thursday,? 10 October 2024$/).check();
    await page
      .getByText(/^3 selected/)
      .first()
      .waitFor();
    await page.getByLabel(/^Select Saturday,? 5 October 2024$/).uncheck();
    await page
      .getByText(/^1 selected/)
      .first()
      .waitFor();
  });

  it('leaves out only the day that is unchecked while all memories are selected', async () => {
    const { page } = await open(stage, '&since=2024-10-05T00:00:00Z&until=2024-10-10T23:00:00Z');
    const ofDay = page.getByLabel(/^Select Thursday,? 10 October 2024$/);
    await ofDay.check();
    await page.getByRole('button', { name: 'Select all' }).click();
    await page
      .getByText(/^3 selected/)
      .first()
      .waitFor();
    await ofDay.uncheck();
    await page
      .getByText(/^2 selected/)
      .first()
      .waitFor();
  });

  it.each(['light', 'dark'] as const)('passes axe in the %s theme, also on a phone', async (colorScheme) => {
    const query = `&step=month&stack=tag&as_of=2024-11-15T00:00:00Z&${new URLSearchParams(OCTOBER)}`;
    const { page } = await open(stage, query, { colorScheme });
    await changes(page, 'Ended').waitFor();
    expect(await getViolations(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 740 });
    expect(await getViolations(page)).toEqual([]);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  });

  it('chooses dates by touch, and has targets of 24 pixels', async () => {
    const { page } = await open(stage, '&step=month&year=2024', {
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
    });
    await bar(page, /^October 2024/).tap();
    await expect.poll(() => getDates(page)).toEqual(OCTOBER);
    await day(page, /\b5 Oct 2024/).tap();
    await expect
      .poll(() => getDates(page))
      .toEqual({
        since: '2024-10-04T23:00:00.000Z',
        until: '2024-10-05T22:59:59.999Z',
      });
    const small = await page
      .locator('.timeline :is(button, select, [role=gridcell], .timeline-check, input[type=range])')
      .evaluateAll((all) =>
        all
          .map((one) => one.getBoundingClientRect())
          .filter(({ width, height }) => width < 24 || height < 24)
          .map(({ width, height }) => `${width} × ${height}`),
      );
    expect(small).toEqual([]);
  });

  it('says when no memories match the filters, and when none are in the dates', async () => {
    const { page } = await stage.visit('/ui/#/?view=timeline&tag=nothing');
    onTestFinished(() => page.context().close());
    await page.getByText('No memories match these filters').waitFor();
    await page.goto(`${stage.url}/ui/#/?view=timeline&since=2020-01-01T00:00:00Z&until=2020-02-01T00:00:00Z`);
    await page.getByText('No memories in these dates').waitFor();
    await bars(page).waitFor();
  });

  it('sends one request for the bars and one for the days', async () => {
    const visit = await stage.visit('/ui/#/sessions');
    onTestFinished(() => visit.close());
    await visit.page.locator('.row').first().waitFor();
    const paths: string[] = [];
    visit.page.on('request', (request) => paths.push(new URL(request.url()).pathname));
    await visit.page.goto(`${stage.url}/ui/#/?view=timeline`);
    await days(visit.page).getByText('Maria lives in Porto').waitFor();
    await bars(visit.page).waitFor();
    expect(paths.filter((path) => path === '/growth' || path === '/memories').sort()).toEqual(['/growth', '/memories']);
  });
});

describe.runIf(hasBrowser())('the timeline of a changing store', () => {
  const stage = useStage({ isEmpty: true });

  it('shows how to store the first memory, then a bar, and follows new memories', { timeout: 120_000 }, async () => {
    const visit = await stage.visit('/ui/');
    onTestFinished(() => visit.close());
    const { page } = visit;
    await openWithEvents(page, `${stage.url}/ui/#/?view=timeline`);
    await page.getByRole('heading', { name: 'Store your first memory' }).waitFor();
    await stage.memory.store({ content: 'The first memory of all' });
    await bar(page, /: 1 memory, working 1$/).waitFor();
    expect(await bars(page).getByRole('option').count()).toBe(24);
    await days(page).getByText('The first memory of all').waitFor();
    await stage.memory.store({ content: 'The second memory', session_id: 'second' });
    await days(page).getByText('The second memory').waitFor();
    // The service keeps its counts for ten seconds.
    await bar(page, /: 2 memories, working 2$/).waitFor();
  });
});

describe.runIf(hasBrowser())('the timeline during an outage', () => {
  const stage = useStage({ isEmpty: true });

  it('keeps what it shows, tells what it could not load, and loads it when the service is back', {
    timeout: 180_000,
  }, async () => {
    const port = await freePort();
    const args = ['--port', String(port), '--db-path', join(createTemporaryFolder(), 'memory.db')];
    const first = launch(args, WORDS_ONLY);
    await untilHealthy(port, first);
    await storeTurns(new MemoryClient({ url: `http://127.0.0.1:${port}` }));
    const visit = await stage.visit('/ui/');
    onTestFinished(() => visit.close());
    const { page } = visit;
    await openWithEvents(page, `http://127.0.0.1:${port}/ui/#/?view=timeline&step=month`);
    await bar(page, /^October 2024/).waitFor();
    await days(page).getByText('Maria lives in Porto').waitFor();
    await first.end('SIGKILL');
    await bar(page, /^October 2024/).click();
    await page.getByRole('alert').first().waitFor();
    await page.getByRole('button', { name: 'Try again' }).first().waitFor();
    expect(await bar(page, /^October 2024: 5 memories/).count()).toBe(1);
    expect(getDates(page)).toEqual(OCTOBER);
    const second = launch(args, WORDS_ONLY);
    await untilHealthy(port, second);
    await changes(page, 'Appeared').getByText('Maria lives in Lisbon').waitFor();
    await days(page).getByText('The tram to the harbor is late').waitFor();
    await expect.poll(() => page.getByRole('alert').count()).toBe(0);
    await page.goto('about:blank');
    await second.end('SIGTERM');
  });
});
