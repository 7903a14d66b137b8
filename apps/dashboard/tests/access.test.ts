import { AdministrationClient } from '@memoryd/client/administration';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { runServer } from '../../../packages/server/conformance/process.ts';
import { getRow, hasBrowser, useStage } from './browser.ts';

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

  it('shows the saved views of a key only to the person who signs in with it', async () => {
    const { stdout } = await runServer(['keys', 'add', '--user', 'anna', '--db-path', stage.server.dbPath]);
    const { page, close } = await stage.visit('/ui/');
    const signIn = async (key: string) => {
      await page.getByLabel('API key').fill(key);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Views' }).click();
    };
    const saved = page.getByRole('link', { name: 'Lamps of Anna' });
    await signIn(stdout.trim());
    await page.getByLabel('Name of the view').fill('Lamps of Anna');
    await page.keyboard.press('Enter');
    await saved.waitFor();
    expect(
      await page.evaluate((secret) => JSON.stringify(localStorage).includes(secret), stdout.trim().slice(-20)),
    ).toBe(false);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(KEY);
    await page.getByText('Save filters, order and columns under a name.').waitFor();
    expect(await saved.count()).toBe(0);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(stdout.trim());
    await saved.waitFor();
    await close();
  });

  const addKey = async (user: string) => {
    const { stdout } = await runServer(['keys', 'add', '--user', user, '--db-path', stage.server.dbPath]);
    return stdout.trim();
  };
  const signIn = async (page: Page, key: string) => {
    await page.getByLabel('API key').fill(key);
    await page.keyboard.press('Enter');
    await page.locator('.live-live').waitFor();
  };

  it.each([
    ['a search with filters and an open memory', '?q=lamp&tag=hidden&user_id=anna&open='],
    ['a question', 'recall?query=where+is+the+lamp&user_id=anna&open='],
    ['a session', 'session?user_id=anna&id=lamps&open='],
  ])('leaves nothing of %s in the address after the sign-out', async (_, address) => {
    const fields = { user_id: 'anna', session_id: 'lamps', tags: ['hidden'] };
    const { id } = await stage.memory.store({ content: 'The lamp is behind the curtain', ...fields });
    const { page, close } = await stage.visit(`/ui/#/${address}${id}`);
    await signIn(page, KEY);
    await page.locator('.beside .memory').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).press('Enter');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(new URL(page.url()).hash).toBe('#/');
    await signIn(page, await addKey('ben'));
    expect(await page.getByRole('searchbox').inputValue()).toBe('');
    expect(await page.locator('.chip, .beside').count()).toBe(0);
    await close();
  });

  it('shows the chosen columns of a key only to the person who signs in with it', async () => {
    await stage.memory.store({ content: 'The lamp was examined', user_id: 'anna', metadata: { diagnosis: 'broken' } });
    const ofAnna = await addKey('anna');
    const { page, close } = await stage.visit('/ui/');
    const header = page.getByRole('columnheader', { name: 'diagnosis' });
    await signIn(page, ofAnna);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByLabel('Metadata field').fill('diagnosis');
    await page.keyboard.press('Enter');
    await header.waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, KEY);
    await page.getByRole('columnheader', { name: 'Text' }).waitFor();
    expect(await header.count()).toBe(0);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, ofAnna);
    await header.waitFor();
    await close();
  });

  it('shows the messages about changed and forgotten memories, and their Undo, to no other key', async () => {
    const fields = { user_id: 'anna', tags: ['secret-lamp'] };
    const { id } = await stage.memory.store({ content: 'The lamp of the treasury', ...fields });
    const ofAnna = await addKey('anna');
    const ofBen = await addKey('ben');
    const { page, close } = await stage.visit(`/ui/#/?tag=secret-lamp&open=${id}`);
    const toasts = page.locator('.toasts');
    await signIn(page, ofAnna);
    await getRow(page, 1).focus();
    await page.keyboard.press('x');
    await page.keyboard.press('t');
    await page.getByRole('combobox', { name: 'Tag 1 memory' }).fill('old');
    await page.keyboard.press('Enter');
    await toasts.getByText('Tagged 1 memory.').waitFor();
    await page.locator('.beside').getByRole('button', { name: 'Forget', exact: true }).click();
    await toasts.getByText('Forgetting “The lamp of the treasury”').waitFor();
    await new AdministrationClient({ url: stage.url, apiKey: KEY }).revokeKey(ofAnna.split('_')[1] ?? '');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signIn(page, ofBen);
    expect(await toasts.textContent()).not.toMatch(/lamp|Tagged/);
    expect(await toasts.getByRole('button', { name: 'Undo' }).count()).toBe(0);
    expect(await stage.memory.memory(id)).toMatchObject({ tags: ['secret-lamp', 'old'] });
    await close();
  });
});
