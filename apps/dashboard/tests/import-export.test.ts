import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MemoryClient } from '@memoryd/client';
import type { Download, Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTemporaryFolder } from '../../../packages/server/conformance/folders.ts';
import { freePort, launch, untilHealthy } from '../../../packages/server/conformance/process.ts';
import { WORDS_ONLY } from '../../../packages/server/conformance/under-test.ts';
import { getRow, getViolations, hasBrowser, hold, intercept, useStage, type Visit } from './browser.ts';

const COUNT = 600;

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true });
const toast = (page: Page, text: string | RegExp) => page.locator('.toast', { hasText: text });
const dialog = (page: Page) => page.getByRole('dialog', { name: 'Import' });
const read = async (download: Download) => readFile(await download.path(), 'utf8');
const chooseFile = async (page: Page, name: string, content: string) => {
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button(page, /^Choose a/).click()]);
  await chooser.setFiles({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) });
};
const toJsonLines = (contents: readonly string[]) =>
  contents.map((content, i) => `${JSON.stringify({ content, external_id: `note-${i}` })}\n`).join('');

describe.runIf(hasBrowser())('export and import', () => {
  const stage = useStage({ isEmpty: true });
  let visit: Visit;
  let page: Page;

  beforeAll(async () => {
    const notes = Array.from({ length: COUNT }, (_, i) => ({
      content: i === 0 ? '=HYPERLINK("http://example.com")' : `Note ${i} of the lighthouse keeper`,
      tags: [i % 2 === 0 ? 'even' : 'odd'],
      created_at: new Date(Date.UTC(2024, 0, 1) + i * 3_600_000).toISOString(),
    }));
    expect((await stage.memory.storeBatch(notes)).failed_count).toBe(0);
  });

  beforeEach(async () => {
    visit = await stage.visit('/ui/', { viewport: { width: 1440, height: 900 } });
    page = visit.page;
    await row(1).waitFor();
    return () => visit.close();
  });

  const row = (position: number) => getRow(page, position);
  const goTo = async (address: string) => {
    await page.goto('about:blank');
    await page.goto(`${stage.url}/ui/#/${address}`);
    await row(1).waitFor();
  };
  const exportAs = async (format: string) => {
    const [download] = await Promise.all([page.waitForEvent('download'), button(page, format).click()]);
    return download;
  };
  const drop = async (name: string, content: string) => {
    const dataTransfer = await page.evaluateHandle(
      ([fileName, text]) => {
        const data = new DataTransfer();
        data.items.add(new File([text], fileName));
        return data;
      },
      [name, content] as const,
    );
    await page.dispatchEvent('body', 'dragover', { dataTransfer });
    await page.getByText('Drop the file to import it').waitFor();
    await page.dispatchEvent('body', 'drop', { dataTransfer });
  };
  const count = async () => (await stage.memory.memories({ limit: 1 })).total;

  it('exports all memories that match the filters as JSON lines, newest first', async () => {
    await goTo('?tag=odd');
    await button(page, 'Export').click();
    await page.getByText('Export 300 memories as').waitFor();
    const download = await exportAs('JSON lines');
    expect(download.suggestedFilename()).toMatch(/^memoryd-memories-\d{4}-\d\d-\d\d\.jsonl$/);
    const lines = (await read(download)).trimEnd().split('\n');
    const { memories } = await stage.memory.memories({ tag: ['odd'], limit: 300 });
    // The retention falls with every second.
    const withoutRetention = ({ retention: _, ...memory }: (typeof memories)[number]) => memory;
    expect(lines.map((line) => withoutRetention(JSON.parse(line)))).toEqual(memories.map(withoutRetention));
    await toast(page, 'Exported 300 memories.').waitFor();
    expect(visit.problems).toEqual([]);
  });

  it('exports the selected memories as CSV that no spreadsheet calculates', async () => {
    await row(1).focus();
    await page.keyboard.press('End');
    await row(COUNT).waitFor();
    for (const key of ['x', 'Shift+ArrowUp']) await page.keyboard.press(key);
    await button(page, 'Export…').click();
    const text = await read(await exportAs('CSV'));
    expect(text.split('\r\n').map((line) => line.split(',')[1])).toEqual([
      'content',
      'Note 1 of the lighthouse keeper',
      `"'=HYPERLINK(""http://example.com"")"`,
      undefined,
    ]);
  });

  it('exports more selected memories than it reads one by one, without reading others than those of the filter', async () => {
    await goTo('?tag=odd');
    await row(1).focus();
    await page.keyboard.press('Control+a');
    await button(page, 'Export…').click();
    const requests: URL[] = [];
    page.on('request', (request) => requests.push(new URL(request.url())));
    const text = await read(await exportAs('Markdown'));
    const lists = requests.filter(({ pathname }) => pathname === '/memories');
    expect(lists.length).toBeGreaterThan(0);
    expect(lists.map(({ searchParams }) => searchParams.get('tag'))).toEqual(lists.map(() => 'odd'));
    expect(text).toMatch(/^# 100 memories\n\n## /);
    expect(text.match(/^Note \d+ of the lighthouse keeper$/gm)).toHaveLength(100);
  });

  it.each([
    { keys: ['x', 'Shift+ArrowDown', 'Shift+ArrowDown'], selected: 3, how: 'each by itself' },
    { keys: ['Control+a'], selected: 100, how: 'from the list' },
  ])(
    'exports selected memories that no longer match the filter ($how), and says how many are missing',
    async ({ keys, selected }) => {
      const { id } = await stage.memory.store({ content: 'A note that is forgotten', tags: ['odd'] });
      await goTo('?tag=odd');
      await row(1).focus();
      for (const key of keys) await page.keyboard.press(key);
      await page.locator('.live-live').waitFor({ state: 'attached' });
      const { change_id } = await stage.memory.updateMany({ tag: ['odd'] }, { remove_tags: ['odd'] });
      await stage.memory.forget(id);
      await page.getByText('No memories match').first().waitFor();
      await button(page, 'Export…').click();
      const lines = (await read(await exportAs('JSON lines'))).trimEnd().split('\n');
      expect(lines).toHaveLength(selected - 1);
      await toast(page, `Exported ${selected - 1} memories. 1 memory was forgotten meanwhile.`).waitFor();
      await stage.memory.undoChange(change_id);
      expect((await stage.memory.memories({ tag: ['odd'], limit: 1 })).total).toBe(COUNT / 2);
    },
  );

  it('shows the progress of an export, and saves nothing if it is cancelled', async () => {
    let isSaved = false;
    page.on('download', () => {
      isSaved = true;
    });
    const release = await hold(page, /\/memories\?.*cursor=/);
    await button(page, 'Export').click();
    await button(page, 'CSV').click();
    await toast(page, `Exporting 500 of ${COUNT} memories…`).waitFor();
    await button(page, 'Cancel').click();
    release();
    await page.locator('.toast').waitFor({ state: 'detached' });
    await page.evaluate(() => fetch('/health'));
    expect(isSaved).toBe(false);
  });

  it('says that an export has failed, and exports everything on request', async () => {
    await intercept(page, /\/memories\?.*cursor=/, (route) => route.abort());
    await button(page, 'Export').click();
    await button(page, 'JSON lines').click();
    await toast(page, 'Not saved').waitFor();
    await page.unroute(/\/memories\?.*cursor=/);
    const text = await read(await exportAs('Try again'));
    expect(text.trimEnd().split('\n')).toHaveLength(COUNT);
  });

  it('imports a dropped file after a preview, saves the refused lines, and undoes the import', async () => {
    const notes = toJsonLines(Array.from({ length: 8 }, (_, i) => `Gull ${i} of the harbour`));
    await drop('gulls.jsonl', `${notes}{"content": "broken\n`);
    await dialog(page).getByText('JSON lines · 8 memories').waitFor();
    expect(await dialog(page).getByRole('row').count()).toBe(6);
    expect(await count()).toBe(COUNT);
    await button(page, 'Import 8 memories').click();
    await dialog(page).getByText('8 memories imported.').waitFor();
    expect(await count()).toBe(COUNT + 8);
    await dialog(page).getByText('1 item was refused').waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      button(page, 'Save the refused items').click(),
    ]);
    const [refused] = (await read(download)).trimEnd().split('\n');
    expect(JSON.parse(refused ?? '')).toEqual({
      place: expect.stringContaining('9'),
      error: expect.objectContaining({ code: 'INVALID_REQUEST' }),
    });
    await button(page, 'Undo the import').click();
    await dialog(page).getByText('Undone: 8 memories forgotten.').waitFor();
    expect(await count()).toBe(COUNT);
    expect(visit.problems).toEqual([]);
  });

  it('maps the columns of a table, and imports for the chosen user', async () => {
    await page.goto('about:blank');
    await page.goto(`${stage.url}/ui/#/?user_id=anna`);
    await page.getByText('No memories of this user or agent').waitFor();
    await button(page, 'Import').click();
    await chooseFile(page, 'diary.csv', 'day,wrote,place\n2026-03-14,The fog came in,pier\n');
    await page.getByText('Columns of the file: day, wrote, place.').waitFor();
    await page.getByLabel('Columns, as field=column').fill('content=wrote,created_at=day');
    await page.getByLabel('Keep the other columns as metadata').check();
    await dialog(page).getByRole('cell', { name: '14 Mar 2026' }).waitFor();
    await dialog(page).getByRole('cell', { name: 'place: pier' }).waitFor();
    await button(page, 'Import 1 memory').click();
    await dialog(page).getByText('1 memory imported.').waitFor();
    const { memories } = await stage.memory.memories({ user_id: 'anna' });
    expect(memories).toEqual([expect.objectContaining({ content: 'The fog came in', metadata: { place: 'pier' } })]);
    await button(page, 'Close').click();
    await button(page, 'Import').click();
    await button(page, 'Undo diary.csv…').click();
    await button(page, 'Undo the import').click();
    await expect.poll(count).toBe(COUNT);
  });

  it('imports only what the preview shows', async () => {
    await drop('gate.csv', 'note,remark\nThe gate is open,Ana has the key\n');
    const map = page.getByLabel('Columns, as field=column');
    await map.fill('content=remark');
    expect(await button(page, 'Import 1 memory').isDisabled()).toBe(true);
    await page.keyboard.press('Enter');
    await dialog(page).getByRole('cell', { name: 'Ana has the key', exact: true }).waitFor();
    await button(page, 'Import 1 memory').click();
    await dialog(page).getByText('1 memory imported.').waitFor();
    expect((await stage.memory.memories({ limit: 1 })).memories[0]?.content).toBe('Ana has the key');
    await button(page, 'Undo the import').click();
    await dialog(page).getByText('Undone: 1 memory forgotten.').waitFor();
  });

  it('keeps the typed columns when the kind of file is chosen, if that kind has columns', async () => {
    await drop('gate.csv', 'note,remark\nThe gate is open,Ana has the key\n');
    const map = page.getByLabel('Columns, as field=column');
    await map.fill('content=remark');
    await page.getByLabel('Kind of file').selectOption('csv');
    await dialog(page).getByRole('cell', { name: 'Ana has the key', exact: true }).waitFor();
    expect(await map.inputValue()).toBe('content=remark');
    expect(await button(page, 'Import 1 memory').isDisabled()).toBe(false);
    await page.getByLabel('Kind of file').selectOption('markdown');
    await map.waitFor({ state: 'detached' });
  });

  it('stays open if the choice of a file is cancelled, and closes with Escape', async () => {
    await button(page, 'Import').click();
    // The browser sends this event when the person cancels its file picker.
    const cancelPicker = () => page.locator('input[type=file]').dispatchEvent('cancel', { bubbles: true });
    await cancelPicker();
    await chooseFile(page, 'gate.csv', 'note,remark\nThe gate is open,Ana has the key\n');
    const map = page.getByLabel('Columns, as field=column');
    await map.fill('content=remark');
    await cancelPicker();
    expect(await map.inputValue()).toBe('content=remark');
    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
  });

  it('imports an export of memoryd', async () => {
    const { id } = await stage.memory.store({ content: 'A buoy that comes back', user_id: 'bo' });
    const lines: string[] = [];
    for await (const line of stage.memory.exportMemories({ user_id: 'bo' })) lines.push(line);
    await stage.memory.forget(id);
    await drop('bo.jsonl', `${lines.join('\n')}\n`);
    await dialog(page).getByText('Export of memoryd').first().waitFor();
    await dialog(page).getByRole('cell', { name: 'A buoy that comes back' }).waitFor();
    await button(page, /^Import \d/).click();
    await dialog(page).getByText('1 memory imported.').waitFor();
    expect((await stage.memory.memory(id)).content).toBe('A buoy that comes back');
    await button(page, 'Undo the import').click();
    await dialog(page).getByText('Undone: 1 memory forgotten.').waitFor();
    expect(await count()).toBe(COUNT);
  });

  it('says that an import was stopped when its dialog is closed', async () => {
    const release = await hold(page, /\/import\?(?!.*dry_run)/);
    await drop('gulls.jsonl', toJsonLines(['A gull', 'Another gull']));
    await button(page, 'Import 2 memories').click();
    await dialog(page).getByText('Importing gulls.jsonl…').waitFor();
    await page.keyboard.press('Escape');
    await toast(page, 'The import of gulls.jsonl was stopped.').waitFor();
    release();
    expect(await count()).toBe(COUNT);
  });

  it('says why a file cannot be read, and stores nothing', async () => {
    await drop('picture.png', '\u0000\u0001 no memories');
    await dialog(page).getByRole('alert').waitFor();
    expect(
      await button(page, /^Import/)
        .and(page.locator('dialog *'))
        .count(),
    ).toBe(0);
    expect(await count()).toBe(COUNT);
    visit.allow(/400/);
    expect(visit.problems).toEqual([]);
  });

  it.each(['light', 'dark'] as const)('passes axe in the %s theme, and fits a phone', async (colorScheme) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 390, height: 844 });
    await button(page, 'Export').click();
    await page.getByText('memories as').waitFor();
    const found = await getViolations(page);
    const isWide = () => page.evaluate(() => document.documentElement.scrollWidth > 390);
    expect(await isWide()).toBe(false);
    await page.keyboard.press('Escape');
    await drop('gulls.jsonl', toJsonLines(['A gull', 'Another gull']));
    await button(page, 'Import 2 memories').waitFor();
    found.push(...(await getViolations(page)));
    const box = await dialog(page).boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
    expect(found).toEqual([]);
  });
});

describe.runIf(hasBrowser())('an import when the service dies', () => {
  const stage = useStage({ isEmpty: true });

  it('an interrupted import is reported, continues on request, stores each text once, and can be undone', async () => {
    const port = await freePort();
    const args = ['--port', String(port), '--db-path', join(createTemporaryFolder(), 'memory.db')];
    const memory = new MemoryClient({ url: `http://127.0.0.1:${port}` });
    const first = launch(args, WORDS_ONLY);
    await untilHealthy(port, first);
    await memory.store({ content: 'Here before the import' });
    const { page, close } = await stage.visit('/ui/');
    await page.goto('about:blank');
    await page.goto(`http://127.0.0.1:${port}/ui/`);
    await button(page, 'Import').click();
    await chooseFile(page, 'log.jsonl', toJsonLines(Array.from({ length: 5000 }, (_, i) => `Line ${i} of the log`)));
    const listening = new AbortController();
    const start = () => void button(page, 'Import 5,000 memories').click();
    for await (const event of memory.events({ type: ['import'] }, listening.signal, start)) {
      if (event.type !== 'import' || event.state !== 'progress') continue;
      await first.end('SIGKILL');
      break;
    }
    listening.abort();
    await dialog(page).getByRole('alert').first().waitFor();
    const second = launch(args, WORDS_ONLY);
    await untilHealthy(port, second);
    await button(page, 'Continue the import').click();
    await dialog(page).getByText('imported.').waitFor();
    const { total } = await memory.memories({ limit: 1 });
    expect(total).toBe(5001);
    await button(page, 'Undo the import').click();
    await dialog(page).getByText('Undone: 5,000 memories forgotten.').waitFor();
    expect((await memory.memories({})).memories.map(({ content }) => content)).toEqual(['Here before the import']);
    await close();
    await second.end('SIGTERM');
  });
});
