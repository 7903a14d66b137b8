import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { hasBrowser, useStage } from './browser.ts';

describe.runIf(hasBrowser())('dashboard', () => {
  const stage = useStage();
  let page: Page;

  beforeEach(async () => {
    const visit = await stage.visit('/ui/');
    page = visit.page;
    return () => visit.close();
  });

  it('recalls once per typed query without increasing the access count of the results', async () => {
    const { id } = await stage.memory.store({ content: 'The quince jelly stands in the cellar' });
    await page.goto(`${stage.url}/ui/#/recall`);
    const requests: URL[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/recall?')) requests.push(new URL(request.url()));
    });
    // The clock runs only in runFor, so that a slow machine types at the same pace.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    for (const key of 'where is the quince jelly') {
      await page.getByRole('searchbox').press(key === ' ' ? 'Space' : key);
      await page.clock.runFor(300);
    }
    await page.clock.runFor(200);
    await page.locator('.result', { hasText: 'quince' }).first().waitFor();
    expect(requests.map(({ searchParams }) => [searchParams.get('query'), searchParams.get('track')])).toEqual([
      ['where is the quince jelly', 'false'],
    ]);
    await stage.memory.consolidate();
    expect((await stage.memory.memory(id)).access_count).toBe(0);
  });

  it('requests the list of users once, when the user field is used', async () => {
    await stage.memory.store({ content: 'The quince jelly has a red label' });
    const requests: string[] = [];
    page.on('request', (request) => requests.push(new URL(request.url()).pathname));
    const countUsers = () => requests.filter((path) => path === '/users').length;
    for (const name of ['Explore', 'Recall', 'Consolidation', 'Overview']) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { name, exact: true }).waitFor();
    }
    await expect.poll(() => requests.filter((path) => path === '/memories').length).toBeGreaterThan(0);
    expect(countUsers()).toBe(0);
    for (let i = 0; i < 3; i++) {
      await page.getByLabel('User', { exact: true }).focus();
      await page.getByLabel('Agent', { exact: true }).focus();
    }
    await expect.poll(countUsers).toBe(1);
  });

  it('explains the format of a metadata filter if its value is missing', async () => {
    await page.goto(`${stage.url}/ui/#/explore`);
    await page.getByLabel('Filter by').selectOption('metadata');
    await page.getByLabel('Metadata', { exact: true }).fill('room');
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByRole('alert').getByText('such as room=kitchen').waitFor();
  });

  it('shows “No recalls” in the latency chart only until the first recall', async () => {
    await page.locator('.chart', { hasText: 'Latency' }).getByText('No recalls in the last 5 minutes').waitFor();
    await stage.memory.recall({ query: 'quince' });
    await page.locator('.chart', { hasText: 'Latency' }).getByText(/\d ms/).first().waitFor();
    expect(await page.getByText('No recalls in the last 5 minutes').count()).toBe(0);
  });
});
