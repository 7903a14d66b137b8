import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { runServer } from '../../../packages/server/conformance/process.ts';
import { hasBrowser, hold, useStage } from './browser.ts';

const KEY = 'a-key-that-a-setting-gives-and-nobody-guesses';

describe.runIf(hasBrowser())('what is written into a form of the dashboard', () => {
  const stage = useStage({ apiKey: KEY, env: { SERVICE_API_KEY: KEY } });

  const command = async (...args: string[]) => {
    const { code, stdout, stderr } = await runServer([...args, '--db-path', stage.server.dbPath]);
    expect(code, stderr).toBe(0);
    return stdout.trim();
  };
  const revoke = (key: string) => command('keys', 'revoke', key.split('_')[1] ?? '');
  const asksForKey = (page: Page) => page.getByRole('heading', { name: 'This service asks for a key' });
  const signIn = async (page: Page, key: string) => {
    await page.getByLabel('API key').fill(key);
    await page.keyboard.press('Enter');
  };
  /** Somebody with a key of their own, who has begun to change a memory. */
  const writing = async (content: string) => {
    const { id } = await stage.memory.store({ content });
    const key = await command('keys', 'add');
    const { page, close } = await stage.visit(`/ui/#/memory?id=${id}`);
    await signIn(page, key);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Text').fill(`${content}, or so they say`);
    return { id, key, page, close };
  };

  it('is still there when one is back, whose key was refused meanwhile', async () => {
    const { id, key, page, close } = await writing('The ferry leaves at nine');
    await revoke(key);
    await asksForKey(page).waitFor();
    await signIn(page, 'a wrong one');
    await page.getByText('That key was not accepted.').waitFor();
    await signIn(page, KEY);
    expect(await page.getByLabel('Text').inputValue()).toBe('The ferry leaves at nine, or so they say');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    expect((await stage.memory.memory(id)).content).toBe('The ferry leaves at nine, or so they say');
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByLabel('Text').fill('The ferry leaves at ten');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.goBack();
    await page.goForward();
    await page.getByRole('button', { name: 'Edit' }).click();
    expect(await page.getByLabel('Text').inputValue()).toBe('The ferry leaves at nine, or so they say');
    await close();
  });

  it('is kept from whoever comes after the key was dropped', async () => {
    const { page, close } = await writing('The spare key is under the pot');
    await page.getByRole('button', { name: 'Drop the key' }).click();
    await asksForKey(page).waitFor();
    await signIn(page, KEY);
    await page.getByRole('button', { name: 'Edit' }).click();
    expect(await page.getByLabel('Text').inputValue()).toBe('The spare key is under the pot');
    await close();
  });

  it('is not taken away again by what an earlier key is refused late', async () => {
    const { id, key, page, close } = await writing('The tram is late');
    const letGo = await hold(page, '**/update/*');
    await page.getByRole('button', { name: 'Save' }).click();
    await revoke(key);
    await asksForKey(page).waitFor();
    await signIn(page, KEY);
    await page.getByLabel('Text').waitFor();
    const refused = page.waitForResponse((response) => response.url().includes('/update/'));
    letGo();
    expect((await refused).status()).toBe(401);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    expect((await stage.memory.memory(id)).content).toBe('The tram is late, or so they say');
    await close();
  });
});
