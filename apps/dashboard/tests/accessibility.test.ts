import { setTimeout as delay } from 'node:timers/promises';
import axe from 'axe-core';
import type { Page, Request } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, useStage } from './browser.ts';

const KEY = 'a-key-that-a-setting-gives-and-nobody-guesses';

describe.runIf(hasBrowser())('every view', () => {
  const stage = useStage();
  let addresses: string[] = [];

  beforeAll(async () => {
    await stage.memory.consolidate();
    const [run] = (await stage.memory.consolidations({})).consolidations;
    const { id } = await stage.memory.store({ content: 'The window of the shed is open', tags: ['house'] });
    await stage.memory.update(id, { content: 'The window of the shed is shut' });
    const markup = new URLSearchParams({ query: 'what can Ada not eat', tag: 'family' });
    addresses = [
      '',
      'recall',
      `recall?${markup}`,
      'recall?query=x&source=nobody',
      'explore',
      'explore?by=session&tag=food',
      'session?id=kitchen',
      `memory?id=${id}`,
      'memory?id=none',
      'consolidation',
      `run?id=${run?.id}`,
      'explore?tag=family&user_id=somebody-with-a-long-name@example.org&agent_id=housekeeping-assistant&shared=true',
      `memory?id=${id}&user_id=anna&shared=true`,
      `consolidation?user_id=anna`,
    ];
  });

  const settled = async (page: Page, pending: ReadonlySet<Request>, address: string) => {
    // A view shows its last data until new data arrives; an empty page has none.
    await page.goto('about:blank');
    await page.goto(`${stage.url}/ui/#/${address}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    // A view sends its requests soon after it is rendered.
    await delay(100);
    await expect.poll(() => pending.size).toBe(0);
    await expect.poll(() => page.getByText('Loading').or(page.locator('[aria-busy=true]')).count()).toBe(0);
  };

  it.each(['light', 'dark'] as const)('passes axe in the %s theme', { timeout: 180_000 }, async (colorScheme) => {
    const { page, close } = await stage.visit('/ui/', { colorScheme });
    const pending = getPending(page);
    const found: string[] = [];
    for (const address of addresses) {
      await settled(page, pending, address);
      for (const opened of await page.locator('details > summary').all()) await opened.click();
      found.push(...(await getViolations(page)).map((one) => `#/${address}: ${one}`));
    }
    await page.goto(`${stage.url}/ui/#/consolidation`);
    await page.getByRole('button', { name: 'Preview consolidation' }).click();
    await page.locator('.plan-part, .nothing').first().waitFor();
    found.push(...(await getViolations(page)).map((one) => `a plan: ${one}`));
    await page.goto(`${stage.url}/ui/#/${addresses.find((address) => address.startsWith('memory'))}`);
    await page.getByRole('button', { name: 'Forget…' }).click();
    found.push(...(await getViolations(page)).map((one) => `a dialog: ${one}`));
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Edit' }).click();
    found.push(...(await getViolations(page)).map((one) => `a form: ${one}`));
    const { id } = await stage.memory.store({ content: 'Dinner is at seven' });
    await page.goto(`${stage.url}/ui/#/memory?id=${id}`);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Content').fill('Dinner is at nine');
    await stage.memory.update(id, { content: 'Dinner is at eight', tags: ['home'] });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Someone else changed this memory.').waitFor();
    found.push(...(await getViolations(page)).map((one) => `a conflict: ${one}`));
    expect(found).toEqual([]);
    await close();
  });

  it('fits a screen 360 pixels wide', { timeout: 180_000 }, async () => {
    const { page, close } = await stage.visit('/ui/', { viewport: { width: 360, height: 740 } });
    const pending = getPending(page);
    for (const address of addresses) {
      await settled(page, pending, address);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(width, address).toBeLessThanOrEqual(360);
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

async function getViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: typeof axe }).axe.run());
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, any }) => `${id} ${html.slice(0, 200)} ${any[0]?.message ?? ''}`),
  );
}
