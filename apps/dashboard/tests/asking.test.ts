import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { hasBrowser, useStage } from './browser.ts';

describe.runIf(hasBrowser())('the dashboard', () => {
  const stage = useStage();
  let page: Page;

  beforeEach(async () => {
    const visit = await stage.visit('/ui/');
    page = visit.page;
    return () => visit.close();
  });

  it('recalls once for a question that is typed, which is no use of what it finds', async () => {
    const { id } = await stage.memory.store({ content: 'The quince jelly stands in the cellar' });
    await page.goto(`${stage.url}/ui/#/recall`);
    const asked: URL[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/recall?')) asked.push(new URL(request.url()));
    });
    // The clock stands still except in runFor, however slowly this machine types.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    for (const key of 'where is the quince jelly') {
      await page.getByRole('searchbox').press(key === ' ' ? 'Space' : key);
      await page.clock.runFor(300);
    }
    await page.clock.runFor(200);
    await page.locator('.result', { hasText: 'quince' }).first().waitFor();
    expect(asked.map(({ searchParams }) => [searchParams.get('query'), searchParams.get('track')])).toEqual([
      ['where is the quince jelly', 'false'],
    ]);
    await stage.memory.consolidate();
    expect((await stage.memory.memory(id)).access_count).toBe(0);
  });

  it('says what is wrong with a metadata filter that has no value', async () => {
    await page.goto(`${stage.url}/ui/#/explore`);
    await page.getByLabel('Filter by').selectOption('metadata');
    await page.getByLabel('Metadata', { exact: true }).fill('room');
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByRole('alert').getByText('such as room=kitchen').waitFor();
  });

  it('does not say that nothing was recalled above a latency', async () => {
    await page.locator('.chart', { hasText: 'Latency' }).getByText('Nothing was recalled').waitFor();
    await stage.memory.recall({ query: 'quince' });
    await page.locator('.chart', { hasText: 'Latency' }).getByText(/\d ms/).first().waitFor();
    expect(await page.getByText('Nothing was recalled').count()).toBe(0);
  });
});
