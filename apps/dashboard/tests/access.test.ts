import { describe, expect, it } from 'vitest';
import { runServer } from '../../../packages/server/conformance/process.ts';
import { hasBrowser, useStage } from './browser.ts';

const KEY = 'a-key-that-a-setting-gives-and-nobody-guesses';

describe.runIf(hasBrowser())('dashboard of a service with API keys', () => {
  const stage = useStage({ apiKey: KEY, env: { SERVICE_API_KEY: KEY } });

  it('asks for an API key, rejects an invalid key, and stores a valid key only for the current tab', async () => {
    const { page, problems, close } = await stage.visit('/ui/');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.getByText('until you close this tab').count()).toBe(1);
    await page.getByLabel('API key').fill('a wrong one');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('The service did not accept this key.').waitFor();
    await page.getByLabel('API key').fill(KEY);
    await page.keyboard.press('Enter');
    await page.locator('.live-live').waitFor();
    expect(await page.evaluate((key) => JSON.stringify(localStorage).includes(key), KEY)).toBe(false);
    expect(await page.evaluate((key) => JSON.stringify(sessionStorage).includes(key), KEY)).toBe(true);
    await page.reload();
    await page.locator('.live-live').waitFor();

    await page.goto(`${stage.url}/ui/#/recall?query=tomatoes`);
    await page.getByText('This request as code').click();
    const code = await page.locator('.sample').allInnerTexts();
    expect(code.join()).toContain('MEMORYD_API_KEY');
    expect(code.join()).not.toContain(KEY);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    expect(problems.filter((problem) => !problem.includes('401'))).toEqual([]);
    await close();
  });

  it('hides the choice of a scope from a key that is bound to one user', async () => {
    for (const user_id of ['anna', 'ben']) {
      await stage.memory.store({ user_id, session_id: `lamp-of-${user_id}`, content: `The lamp of ${user_id}` });
    }
    const { stdout, code, stderr } = await runServer([
      ...['keys', 'add', '--user', 'anna'],
      ...['--db-path', stage.server.dbPath],
    ]);
    expect(code, stderr).toBe(0);
    const { page, problems, close } = await stage.visit('/ui/#/sessions');
    await page.getByLabel('API key').fill(stdout.trim());
    const checked = page.waitForResponse((response) => new URL(response.url()).pathname === '/users');
    await page.keyboard.press('Enter');
    await page.locator('.row', { hasText: 'lamp-of-anna' }).waitFor();
    expect(await page.locator('.row').count()).toBe(1);
    expect((await checked).status()).toBe(403);
    expect(await page.locator('.scope').count()).toBe(0);
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(problems.filter((problem) => !/401|403/.test(problem))).toEqual([]);
    await close();
  });
});
