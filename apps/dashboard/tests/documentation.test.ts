import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { hasBrowser, useStage } from './browser.ts';

describe.runIf(hasBrowser())('documentation pages', () => {
  const stage = useStage();

  const background = (page: Page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

  it('documentation pages link to each other and to the dashboard, and the dashboard links to them', async () => {
    const { page, problems, close } = await stage.visit('/ui/');
    await page.getByRole('link', { name: 'API reference' }).click();
    await page.locator('#swagger-ui .info').waitFor();
    await page.getByRole('link', { name: 'Redoc' }).click();
    await page.locator('#redoc h1').first().waitFor();
    await page.getByRole('link', { name: 'Swagger UI' }).click();
    await page.locator('#swagger-ui .info').waitFor();
    await page.getByRole('link', { name: 'Dashboard' }).click();
    await page.getByRole('grid').waitFor();
    expect(new URL(page.url()).pathname).toBe('/ui/');
    expect(problems).toEqual([]);
    await close();
  });

  it.each(['/docs', '/docs/'])('documentation pages show the memoryd logo at %s', async (path) => {
    const { page, problems, close } = await stage.visit(path);
    const logo = page.locator('#swagger-ui .topbar img');
    await logo.waitFor();
    const [, base64 = ''] = (await logo.getAttribute('src'))?.split('base64,') ?? [];
    expect(Buffer.from(base64, 'base64').toString()).toContain('<title>memoryd</title>');
    expect(problems).toEqual([]);
    await close();
  });

  it('follow the preferred color scheme at /redoc, with enough contrast', {
    timeout: 120_000,
  }, async () => {
    const { page, problems, close } = await stage.visit('/redoc', { colorScheme: 'dark' });
    await page.locator('#redoc h1').first().waitFor();
    expect(await background(page)).toBe('rgb(23, 24, 21)');
    expect(await getContrastViolations(page)).toEqual([]);
    const loadedAgain = page.waitForEvent('load');
    await page.emulateMedia({ colorScheme: 'light' });
    await loadedAgain;
    await page.locator('#redoc h1').first().waitFor();
    expect(await background(page)).toBe('rgb(255, 255, 255)');
    expect(await getContrastViolations(page)).toEqual([]);
    expect(problems).toEqual([]);
    await close();
  });
});

async function getContrastViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run({ runOnly: ['color-contrast'] }),
  );
  return violations.flatMap(({ nodes }) => nodes.map(({ any, target }) => `${target} ${any[0]?.message ?? ''}`));
}
