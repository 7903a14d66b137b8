import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { fixtureMemories } from '../fixtures/memories.ts';
import { hasBrowser, openWithEvents, useStage } from './browser.ts';

const IMAGES = process.env.IMAGES ?? fileURLToPath(new URL('../../../docs/images/', import.meta.url));
const DESKTOP = { width: 1440, height: 900 };
const PHONE = { width: 390, height: 844 };

/** The user whose memories are shown. */
const USER = 'maria';

/** Memories of two years, as many as a person has after daily use, and fewer of others. */
const MEMORIES = [
  { user: USER, count: 3000, days: 730 },
  { user: 'jonas', count: 400, days: 90 },
  { user: 'priya', count: 250, days: 30 },
];

/** Recalled before the pictures are taken, so that the memory in the panel shows by which questions it was recalled. */
const QUERIES = ['bicycle', 'what hurt after the marathon', 'Lisbon', 'who reviews the search index', 'blackcurrant'];

const IMPORTED = [
  'date,note,topic',
  '2026-03-02,The dentist moved the appointment to Thursday,health',
  '2026-03-09,Mei prefers the window seat,people',
  '2026-03-17,The key of the workshop is at the library,home',
  '2026-04-01,Kwame plays the cello on Sundays,people',
  '2026-04-11,The bicycle needs a new chain,home',
].join('\n');

/** A view with an element that shows that it is loaded. */
interface View {
  name: string;
  address: string;
  until: string;
  prepare?: (page: Page) => Promise<void>;
}

describe.runIf(hasBrowser())('pictures of the dashboard', () => {
  const stage = useStage({ isEmpty: true });
  let views: View[] = [];
  let phoneViews: View[] = [];

  beforeAll(async () => {
    mkdirSync(IMAGES, { recursive: true });
    for (const name of readdirSync(IMAGES)) rmSync(join(IMAGES, name));
    const memory = stage.memory.scope({ userId: USER });
    for (const { user, ...size } of MEMORIES) {
      const { failed_count } = await stage.memory.scope({ userId: user }).storeBatch(fixtureMemories(Date.now(), size));
      expect(failed_count).toBe(0);
    }
    await stage.untilEmbedded();
    await stage.memory.consolidate();
    const bicycle = { content: 'Ada brings her new bicycle on Friday', session_id: 'kitchen', tags: ['family'] };
    const { id } = await memory.store(bicycle);
    await memory.update(id, { content: 'Ada brings her old bicycle on Saturday' });
    await stage.untilEmbedded();
    for (const query of QUERIES) await memory.recall({ query });
    const [run] = (await stage.memory.consolidations({})).consolidations;
    const table = { name: 'table', address: '', until: '[role=row] [role=gridcell]' };
    const timeline = { name: 'timeline', address: '?view=timeline', until: '.timeline-bars svg' };
    const map = { name: 'map', address: '?view=map', until: '.map-canvas' };
    const panel = { name: 'panel', address: `?open=${id}`, until: '.history' };
    views = [
      table,
      {
        ...{ name: 'bulk', address: '?tag=garden', until: '[role=row] [role=gridcell]' },
        prepare: async (page) => {
          await page.getByRole('checkbox').first().click();
          await page.getByRole('button', { name: 'Select all' }).click();
        },
      },
      panel,
      timeline,
      map,
      {
        ...{ name: 'import', address: '', until: '[role=row] [role=gridcell]' },
        prepare: async (page) => {
          await page.getByRole('button', { name: 'Import' }).click();
          const file = { name: 'notes.csv', mimeType: 'text/csv', buffer: Buffer.from(IMPORTED) };
          await page.locator('input[type=file]').setInputFiles(file);
          await page.getByText('Kwame plays the cello').waitFor();
        },
      },
      { name: 'recall', address: 'recall?query=Can+Ada+eat+peanut+butter%3F', until: '.result' },
      { name: 'session', address: 'session?id=kitchen', until: '.turn' },
      { name: 'consolidation', address: 'consolidation', until: '.list .row' },
      { name: 'corrections', address: 'consolidation?tab=corrections', until: '.pair' },
      {
        ...{ name: 'run', address: `run?id=${run?.id}`, until: '.change-line' },
        // Summaries may be in scripts for which the machine has no font.
        prepare: (page) => page.getByRole('button', { name: /^Merged/ }).click(),
      },
      {
        ...{ name: 'activity', address: 'activity', until: 'h1' },
        prepare: async (page) => {
          await openWithEvents(page, getUrl('activity'));
          for (const query of QUERIES) await memory.recall({ query });
          await memory.store({ content: 'Jonas moved the choir to Tuesday', session_id: 'kitchen', tags: ['family'] });
          await page.getByText('Jonas moved the choir').first().waitFor();
        },
      },
      { name: 'admin', address: 'admin', until: '.users-row[data-row]' },
    ];
    phoneViews = [table, panel, timeline, map];
  });

  const getUrl = (address: string) => `${stage.url}/ui/#/${address}${address.includes('?') ? '&' : '?'}user_id=${USER}`;

  const take = async (page: Page, { address, until, prepare }: View, file: string) => {
    await page.goto('about:blank');
    await page.goto(getUrl(address));
    await page.waitForSelector(until);
    await prepare?.(page);
    // Texts and fonts load after the rows, and the map settles.
    await page.waitForTimeout(1500);
    await page.screenshot({ path: join(IMAGES, file) });
  };

  it.each(['light', 'dark'] as const)('pictures of the dashboard are taken in the %s theme', async (colorScheme) => {
    const { page, close } = await stage.visit('/ui/', { viewport: DESKTOP, colorScheme });
    for (const view of views) await take(page, view, `${view.name}-${colorScheme}.png`);
    await close();
  });

  it('pictures of the dashboard are taken on a phone', async () => {
    const { page, close } = await stage.visit('/ui/', { viewport: PHONE, colorScheme: 'light' });
    for (const view of phoneViews) await take(page, view, `${view.name}-phone.png`);
    await close();
  });
});
