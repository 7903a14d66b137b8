import { describe, expect, it } from 'vitest';
import { runServer } from '../../../packages/server/conformance/process.ts';
import { hasBrowser, useStage } from './browser.ts';

const KEY = 'a-key-that-a-setting-gives-and-nobody-guesses';

describe.runIf(hasBrowser())('the dashboard of a service that asks for a key', () => {
  const stage = useStage({ apiKey: KEY, env: { SERVICE_API_KEY: KEY } });

  it('asks for it, refuses a wrong one, and keeps a good one in the tab alone', async () => {
    const { page, troubles, close } = await stage.visit('/ui/');
    await page.getByRole('heading', { name: 'This service asks for a key' }).waitFor();
    expect(await page.getByText('kept in this tab alone').count()).toBe(1);
    await page.getByLabel('API key').fill('a wrong one');
    await page.getByRole('button', { name: 'Use this key' }).click();
    await page.getByText('That key was not accepted.').waitFor();
    await page.getByLabel('API key').fill(KEY);
    await page.keyboard.press('Enter');
    await page.locator('.figure').first().waitFor();
    expect(await page.evaluate((key) => JSON.stringify(localStorage).includes(key), KEY)).toBe(false);
    expect(await page.evaluate((key) => JSON.stringify(sessionStorage).includes(key), KEY)).toBe(true);
    await page.reload();
    await page.locator('.figure').first().waitFor();

    await page.goto(`${stage.url}/ui/#/recall?query=tomatoes`);
    await page.getByText('This request as code').click();
    const code = await page.locator('.sample').allInnerTexts();
    expect(code.join()).toContain('MEMORYD_API_KEY');
    expect(code.join()).not.toContain(KEY);

    await page.getByRole('button', { name: 'Drop the key' }).click();
    await page.getByRole('heading', { name: 'This service asks for a key' }).waitFor();
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    expect(troubles.filter((trouble) => !trouble.includes('401'))).toEqual([]);
    await close();
  });

  it('does not say that it shows all users to a key that is bound to one', async () => {
    for (const user_id of ['anna', 'ben']) await stage.memory.store({ user_id, content: `The lamp of ${user_id}` });
    const { stdout, code, stderr } = await runServer([
      ...['keys', 'add', '--user', 'anna'],
      ...['--db-path', stage.server.dbPath],
    ]);
    expect(code, stderr).toBe(0);
    const { page, close } = await stage.visit('/ui/#/explore');
    await page.getByLabel('API key').fill(stdout.trim());
    await page.keyboard.press('Enter');
    await page.locator('.row', { hasText: 'The lamp of anna' }).waitFor();
    expect(await page.locator('.row').count()).toBe(1);
    await page.getByPlaceholder('User', { exact: true }).waitFor();
    expect(await page.getByPlaceholder('All users').count()).toBe(0);
    await close();
  });
});
