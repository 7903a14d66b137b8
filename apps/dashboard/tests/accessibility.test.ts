import { setTimeout as delay } from 'node:timers/promises';
import axe from 'axe-core';
import type { Page, Request } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasBrowser, useStage } from './browser.ts';

const KEY = 'a-key-that-a-setting-gives-and-nobody-guesses';

describe.runIf(hasBrowser())('every view of the dashboard', () => {
  const stage = useStage();
  let places: string[] = [];

  beforeAll(async () => {
    await stage.memory.consolidate();
    const [run] = (await stage.memory.consolidations({})).consolidations;
    const { id } = await stage.memory.store({ content: 'The window of the shed is open', tags: ['house'] });
    await stage.memory.update(id, { content: 'The window of the shed is shut' });
    const markup = new URLSearchParams({ query: 'what can Ada not eat', tag: 'family' });
    places = [
      '',
      'recall',
      `recall?${markup}`,
      'recall?query=x&source=nobody',
      'explore',
      'explore?by=session&tag=food',
      'session?id=kitchen',
      `memory?id=${id}`,
      'memory?id=none',
      'sleep',
      `run?id=${run?.id}`,
      'explore?tag=family&user_id=somebody-with-a-long-name@example.org&agent_id=housekeeping-assistant&shared=true',
      `memory?id=${id}&user_id=anna&shared=true`,
      `sleep?user_id=anna`,
    ];
  });

  const settled = async (page: Page, pending: ReadonlySet<Request>, place: string) => {
    // A page of its own, as a view keeps what it showed last until the next answer is there.
    await page.goto('about:blank');
    await page.goto(`${stage.url}/ui/#/${place}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    // What a view asks for is on its way soon after it is there.
    await delay(100);
    await expect.poll(() => pending.size).toBe(0);
    await expect.poll(() => page.getByText('Loading').or(page.locator('[aria-busy=true]')).count()).toBe(0);
  };

  it.each(['light', 'dark'] as const)(
    'has nothing that axe finds wrong, in the %s theme',
    { timeout: 180_000 },
    async (colorScheme) => {
      const { page, close } = await stage.visit('/ui/', { colorScheme });
      const pending = getPending(page);
      const found: string[] = [];
      for (const place of places) {
        await settled(page, pending, place);
        for (const opened of await page.locator('details > summary').all()) await opened.click();
        found.push(...(await getViolations(page)).map((one) => `#/${place}: ${one}`));
      }
      await page.goto(`${stage.url}/ui/#/sleep`);
      await page.getByRole('button', { name: 'See what sleep would do now' }).click();
      await page.locator('.plan-part, .nothing').first().waitFor();
      found.push(...(await getViolations(page)).map((one) => `a plan: ${one}`));
      await page.goto(`${stage.url}/ui/#/${places.find((place) => place.startsWith('memory'))}`);
      await page.getByRole('button', { name: 'Forget…' }).click();
      found.push(...(await getViolations(page)).map((one) => `a dialog: ${one}`));
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: 'Edit' }).click();
      found.push(...(await getViolations(page)).map((one) => `a form: ${one}`));
      const { id } = await stage.memory.store({ content: 'Dinner is at seven' });
      await page.goto(`${stage.url}/ui/#/memory?id=${id}`);
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.getByLabel('Text').fill('Dinner is at nine');
      await stage.memory.update(id, { content: 'Dinner is at eight', tags: ['home'] });
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByText('Somebody else was first.').waitFor();
      found.push(...(await getViolations(page)).map((one) => `a conflict: ${one}`));
      expect(found).toEqual([]);
      await close();
    },
  );

  it('fits a screen of 360 pixels, whatever it shows', { timeout: 180_000 }, async () => {
    const { page, close } = await stage.visit('/ui/', { viewport: { width: 360, height: 740 } });
    const pending = getPending(page);
    for (const place of places) {
      await settled(page, pending, place);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide, place).toBeLessThanOrEqual(360);
    }
    await close();
  });
});

describe.runIf(hasBrowser())('the form that asks for a key', () => {
  const stage = useStage({ apiKey: KEY, env: { SERVICE_API_KEY: KEY } });

  it.each(['light', 'dark'] as const)('has nothing that axe finds wrong, in the %s theme', async (colorScheme) => {
    const { page, close } = await stage.visit('/ui/', { colorScheme });
    await page.getByLabel('API key').waitFor();
    expect(await getViolations(page)).toEqual([]);
    await page.getByLabel('API key').fill('a wrong one');
    await page.keyboard.press('Enter');
    await page.getByText('That key was not accepted.').waitFor();
    expect(await getViolations(page)).toEqual([]);
    await close();
  });
});

/** What a page has asked for and not been answered yet, but for the events, which come for ever. */
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
