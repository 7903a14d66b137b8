import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { runServer } from '../../../packages/server/conformance/process.ts';
import { hasBrowser, hold, useStage } from './browser.ts';

const KEY = 'a-key-that-a-setting-gives-and-nobody-guesses';

describe.runIf(hasBrowser())('an unsaved draft', () => {
  const stage = useStage({ apiKey: KEY, env: { SERVICE_API_KEY: KEY } });

  const command = async (...args: string[]) => {
    const { code, stdout, stderr } = await runServer([...args, '--db-path', stage.server.dbPath]);
    expect(code, stderr).toBe(0);
    return stdout.trim();
  };
  const revoke = (key: string) => command('keys', 'revoke', key.split('_')[1] ?? '');
  const asksForKey = (page: Page) => page.getByRole('heading', { name: 'Sign in' });
  const signIn = async (page: Page, key: string) => {
    await page.getByLabel('API key').fill(key);
    await page.keyboard.press('Enter');
  };
  /** Signs in with a new key and starts to edit a memory. */
  const startDraft = async (content: string) => {
    const { id } = await stage.memory.store({ content });
    const key = await command('keys', 'add');
    const { page, close } = await stage.visit(`/ui/#/memory?id=${id}`);
    await signIn(page, key);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Content').fill(`${content}, or so they say`);
    return { id, key, page, close };
  };

  it('survives the revocation of the API key and a new sign-in', async () => {
    const { id, key, page, close } = await startDraft('The ferry leaves at nine');
    await revoke(key);
    await asksForKey(page).waitFor();
    await signIn(page, 'a wrong one');
    await page.getByText('The service did not accept this key.').waitFor();
    await signIn(page, KEY);
    expect(await page.getByLabel('Content').inputValue()).toBe('The ferry leaves at nine, or so they say');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Changes saved.').waitFor();
    expect((await stage.memory.memory(id)).content).toBe('The ferry leaves at nine, or so they say');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Content').fill('The ferry leaves at ten');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.goBack();
    await page.goForward();
    await page.getByRole('button', { name: 'Edit' }).click();
    expect(await page.getByLabel('Content').inputValue()).toBe('The ferry leaves at nine, or so they say');
    await close();
  });

  it('an unsaved draft is discarded on sign-out', async () => {
    const { page, close } = await startDraft('The spare key is under the pot');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await asksForKey(page).waitFor();
    await signIn(page, KEY);
    await page.getByRole('button', { name: 'Edit' }).click();
    expect(await page.getByLabel('Content').inputValue()).toBe('The spare key is under the pot');
    await close();
  });

  it('survives a late error response to a request with a revoked API key', async () => {
    const { id, key, page, close } = await startDraft('The tram is late');
    const release = await hold(page, '**/update/*');
    await page.getByRole('button', { name: 'Save' }).click();
    await revoke(key);
    await asksForKey(page).waitFor();
    await signIn(page, KEY);
    await page.getByLabel('Content').waitFor();
    const refused = page.waitForResponse((response) => response.url().includes('/update/'));
    release();
    expect((await refused).status()).toBe(401);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Changes saved.').waitFor();
    expect((await stage.memory.memory(id)).content).toBe('The tram is late, or so they say');
    await close();
  });
});
