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

  it('requests the users only when the choice of the scope is opened', async () => {
    await stage.memory.store({ content: 'The quince jelly has a red label', user_id: 'anna' });
    const requests: string[] = [];
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url());
      if (pathname === '/facets' || pathname === '/users') requests.push(`${pathname}${search}`);
    });
    const navigation = page.getByRole('navigation', { name: 'Views' });
    for (const name of ['Recall', 'Sessions', 'Consolidation', 'Recall']) {
      await navigation.getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { name, exact: true }).waitFor();
    }
    expect(requests.filter((one) => /user/.test(one))).toEqual([]);
    await page.getByRole('button', { name: /^Scope/ }).click();
    await expect.poll(() => requests.some((one) => one.includes('field=user_id'))).toBe(true);
  });

  it('explains the format of a metadata filter if its value is missing', async () => {
    await page.goto(`${stage.url}/ui/#/sessions`);
    await page.getByRole('button', { name: '+ Filter' }).click();
    await page.getByLabel('Filter by').selectOption('metadata');
    await page.getByLabel('Metadata', { exact: true }).fill('room');
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByRole('alert').getByText('such as room=kitchen').waitFor();
  });
});
