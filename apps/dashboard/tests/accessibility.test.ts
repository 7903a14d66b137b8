import { setTimeout as delay } from 'node:timers/promises';
import type { Page, Request } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { getViolations, hasBrowser, useStage, type Visit } from './browser.ts';

const WIDTHS = [1440, 1024, 390] as const;

/** The rules of axe about colors. */
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];

const KEY = 'a-key-that-a-setting-gives-and-nobody-guesses';

/** A dialog, menu or form of a view: how it is opened, and what it then shows. */
interface Overlay {
  name: string;
  address: string;
  open: (page: Page) => Promise<void>;
  shown: string;
}

/** Clicks buttons one after the other. */
const click =
  (...names: readonly (string | RegExp)[]) =>
  async (page: Page) => {
    for (const name of names) await page.getByRole('button', { name }).first().click();
  };
/** Selects the first memory of the table, and then clicks buttons. */
const select =
  (...names: readonly string[]) =>
  async (page: Page) => {
    await page.getByRole('row').nth(1).getByRole('checkbox').click();
    await click(...names)(page);
  };
const chooseFile = async (page: Page) => {
  await click('Import')(page);
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), click('Choose a file')(page)]);
  await chooser.setFiles({ name: 'notes.jsonl', mimeType: 'application/jsonl', buffer: Buffer.from(NOTES) });
};
const importFile = async (page: Page) => {
  await chooseFile(page);
  await click(/^Import 1 memory/)(page);
};

const NOTES = '{"content": "The dentist moved the appointment", "external_id": "note-1"}\n{"content": "broken\n';

const OVERLAYS: readonly Overlay[] = [
  { name: 'a new filter', address: '', open: click('+ Filter'), shown: '.add-filter' },
  { name: 'the columns', address: '', open: click('Columns'), shown: '.menu-panel' },
  { name: 'the saved views', address: '', open: click('Views'), shown: '.menu-panel' },
  { name: 'a new memory', address: '', open: click('+ Add'), shown: 'dialog[open]' },
  { name: 'the bulk bar', address: '?tag=family', open: select(), shown: '.bulk-bar' },
  { name: 'the bulk bar for all', address: '', open: select('Select all'), shown: '.bulk-bar' },
  { name: 'the form Tag', address: '', open: select('Tag…'), shown: '.bulk-form' },
  { name: 'the form Untag', address: '', open: select('Untag…'), shown: '.bulk-form' },
  { name: 'the form Importance', address: '', open: select('Importance…'), shown: '.bulk-form' },
  { name: 'the export of a selection', address: '', open: select('Export…'), shown: '.bulk-form' },
  { name: 'the export', address: '', open: click('Export'), shown: '.export-menu' },
  { name: 'the import', address: '', open: click('Import'), shown: 'dialog[open]' },
  { name: 'the preview of an import', address: '', open: chooseFile, shown: '.import-first' },
  { name: 'the result of an import', address: '', open: importFile, shown: '.import-refused' },
  { name: 'a new filter of sessions', address: 'sessions', open: click('+ Filter'), shown: '.add-filter' },
  { name: 'the scope', address: 'sessions', open: click(/^Scope/), shown: '.scope-list a' },
  {
    ...{ name: 'the preview of a run', address: 'consolidation' },
    ...{ open: click('Preview consolidation'), shown: '.plan-part, .nothing' },
  },
  { name: 'a quota', address: 'admin', open: click(/^Quota of/), shown: 'dialog[open]' },
  { name: 'forgetting a user', address: 'admin', open: click(/^Forget /), shown: 'dialog[open]' },
  { name: 'a new key', address: 'admin?tab=keys', open: click('Add key…'), shown: 'dialog[open]' },
  { name: 'the delayed forgetting', address: '', open: select('Forget'), shown: '.toast' },
  { name: 'the help', address: '', open: (page) => page.keyboard.press('?'), shown: 'dialog[open]' },
];

/** The addresses of the views. `MEMORY` and `RUN` stand for the id of a memory and of a run. */
const ADDRESSES = [
  '',
  'recall',
  `recall?${new URLSearchParams({ query: 'what can Ada not eat', tag: 'family' })}`,
  'recall?query=x&source=nobody',
  '?view=timeline',
  '?view=map',
  '?q=ada',
  'sessions',
  'sessions?tag=food',
  'session?id=kitchen',
  'session?id=kitchen&open=MEMORY',
  'sessions?open=none',
  'consolidation',
  'consolidation?tab=corrections',
  'activity',
  'admin',
  'admin?tab=keys',
  'admin?tab=namespaces',
  'admin?tab=service',
  'run?id=RUN',
  'sessions?tag=family&user_id=somebody-with-a-long-name@example.org&agent_id=housekeeping-assistant&shared=true',
  'recall?query=window&open=MEMORY&user_id=anna&shared=true',
  '?open=MEMORY',
  '?open=none',
  'consolidation?user_id=anna',
];

describe.runIf(hasBrowser())('every view', () => {
  const stage = useStage();
  let memoryId: string;
  let runId: string;

  beforeAll(async () => {
    await stage.memory.consolidate();
    const [run] = (await stage.memory.consolidations({})).consolidations;
    runId = run?.id ?? '';
    const { id } = await stage.memory.store({ content: 'The window of the shed is open', tags: ['house'] });
    memoryId = id;
    await stage.memory.update(id, { content: 'The window of the shed is shut' });
    await stage.memory.store({ content: 'Anna closes the shed', user_id: 'anna' });
  });

  /** Opens a view and waits until it has its data. */
  const open = async (page: Page, pending: ReadonlySet<Request>, address: string) => {
    // A view shows its last data until new data arrives; an empty page has none.
    await page.goto('about:blank');
    await page.goto(`${stage.url}/ui/#/${address.replace('MEMORY', memoryId).replace('RUN', runId)}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    // A view sends its requests soon after it is rendered.
    await delay(100);
    await expect.poll(() => pending.size).toBe(0);
    await expect.poll(() => page.getByText('Loading').or(page.locator('[aria-busy=true]')).count()).toBe(0);
  };
  const getScrollWidth = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth);

  describe.each(WIDTHS)('on a screen %i pixels wide', (width) => {
    let visit: Visit;
    let page: Page;
    let pending: ReadonlySet<Request>;

    beforeAll(async () => {
      visit = await stage.visit('/ui/', { viewport: { width, height: 800 }, reducedMotion: 'reduce' });
      page = visit.page;
      pending = getPending(page);
      return () => visit.close();
    });

    const check = async () => {
      await page.emulateMedia({ colorScheme: 'light' });
      expect(await getViolations(page)).toEqual([]);
      expect(await getScrollWidth(page)).toBeLessThanOrEqual(width);
      // The themes differ only in their colors.
      await page.emulateMedia({ colorScheme: 'dark' });
      expect(await getViolations(page, COLOR_RULES)).toEqual([]);
    };

    it.each(ADDRESSES)('passes axe in both themes and fits the screen at #/%s', async (address) => {
      await open(page, pending, address);
      for (const opened of await page.locator('main:not([inert]) details > summary').all()) await opened.click();
      await check();
    });

    it.each(OVERLAYS)('passes axe in both themes and fits the screen with $name', async (overlay) => {
      await open(page, pending, overlay.address);
      await overlay.open(page);
      await page.locator(overlay.shown).first().waitFor();
      await expect.poll(() => pending.size).toBe(0);
      await check();
    });

    it.runIf(width < 1000)('passes axe in both themes with the menu of the views', async () => {
      await open(page, pending, '');
      await page.getByRole('button', { name: 'Menu' }).click();
      await page.getByRole('link', { name: 'Admin' }).waitFor();
      await check();
    });
  });

  it('fits a screen 360 pixels wide', { timeout: 180_000 }, async () => {
    const { page, close } = await stage.visit('/ui/', { viewport: { width: 360, height: 740 } });
    const pending = getPending(page);
    for (const address of ADDRESSES) {
      await open(page, pending, address);
      expect(await getScrollWidth(page), address).toBeLessThanOrEqual(360);
    }
    await close();
  });
});

describe.runIf(hasBrowser())('the sign-in form', () => {
  const stage = useStage({ apiKey: KEY, env: { SERVICE_API_KEY: KEY } });

  it.each(['light', 'dark'] as const)('passes axe in the %s theme', async (colorScheme) => {
    const { page, close } = await stage.visit('/ui/', { colorScheme });
    await page.getByLabel('API key').waitFor();
    expect(await getViolations(page)).toEqual([]);
    await page.getByLabel('API key').fill('a wrong one');
    await page.keyboard.press('Enter');
    await page.getByText('The service did not accept this key.').waitFor();
    expect(await getViolations(page)).toEqual([]);
    await close();
  });
});

describe.runIf(hasBrowser())('the first-run page', () => {
  const stage = useStage({ isEmpty: true });

  it.each(['light', 'dark'] as const)(
    'passes axe in the %s theme, and fits a screen 360 pixels wide',
    async (colorScheme) => {
      const { page, close } = await stage.visit('/ui/', { colorScheme, viewport: { width: 360, height: 740 } });
      await page.getByRole('heading', { name: 'Store your first memory' }).waitFor();
      expect(await getViolations(page)).toEqual([]);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
      await close();
    },
  );
});

/** Returns the pending requests of a page, without the endless event stream. */
function getPending(page: Page): ReadonlySet<Request> {
  const pending = new Set<Request>();
  page.on('request', (request) => {
    if (!new URL(request.url()).pathname.endsWith('/events')) pending.add(request);
  });
  page.on('requestfinished', (request) => pending.delete(request));
  page.on('requestfailed', (request) => pending.delete(request));
  return pending;
}
