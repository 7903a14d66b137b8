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
  const textField = (page: Page) => page.getByRole('textbox', { name: 'Text', exact: true });
  const signIn = async (page: Page, key: string) => {
    await page.getByLabel('API key').fill(key);
    await page.keyboard.press('Enter');
  };
  /** Signs in with a new key and starts to edit a memory. */
  const startDraft = async (content: string, fields: object = {}) => {
    const { id } = await stage.memory.store({ content, ...fields });
    const key = await command('keys', 'add');
    const { page, close } = await stage.visit(`/ui/#/?open=${id}`);
    await signIn(page, key);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await textField(page).fill(`${content}, or so they say`);
    return { id, key, page, close };
  };

  it('survives the revocation of the API key and a new sign-in', async () => {
    const { id, key, page, close } = await startDraft('The ferry leaves at nine');
    await revoke(key);
    await asksForKey(page).waitFor();
    await signIn(page, 'a wrong one');
    await page.getByText('The service did not accept this key.').waitFor();
    await signIn(page, KEY);
    expect(await textField(page).inputValue()).toBe('The ferry leaves at nine, or so they say');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Changes saved.').waitFor();
    expect((await stage.memory.memory(id)).content).toBe('The ferry leaves at nine, or so they say');
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await textField(page).fill('The ferry leaves at ten');
    await page.getByRole('button', { name: 'Discard', exact: true }).click();
    await page.goBack();
    await page.goForward();
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    expect(await textField(page).inputValue()).toBe('The ferry leaves at nine, or so they say');
    await close();
  });

  it('survives a reload', async () => {
    const { id, page, close } = await startDraft('The bridge is closed');
    await page.reload();
    expect(await textField(page).inputValue()).toBe('The bridge is closed, or so they say');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Changes saved.').waitFor();
    expect((await stage.memory.memory(id)).content).toBe('The bridge is closed, or so they say');
    await close();
  });

  it('an unsaved draft is discarded on sign-out', async () => {
    const { id, page, close } = await startDraft('The spare key is under the pot');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await asksForKey(page).waitFor();
    await signIn(page, KEY);
    await page.goto(`${stage.url}/ui/#/?open=${id}`);
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    expect(await textField(page).inputValue()).toBe('The spare key is under the pot');
    await close();
  });

  it('stays hidden from the next person, whose key may not read the memory, also after a reload', async () => {
    const { key, page, close } = await startDraft('The will is in the desk', { user_id: 'anna' });
    const ofBen = await command('keys', 'add', '--user', 'ben');
    const expectHidden = async () => {
      await page.locator('.beside').getByRole('alert').waitFor();
      expect(await textField(page).count()).toBe(0);
      expect(await page.locator('body').textContent()).not.toContain('The will');
    };
    await revoke(key);
    await asksForKey(page).waitFor();
    await signIn(page, ofBen);
    await expectHidden();
    await page.reload();
    await expectHidden();
    await revoke(ofBen);
    await asksForKey(page).waitFor();
    await signIn(page, KEY);
    expect(await textField(page).inputValue()).toBe('The will is in the desk, or so they say');
    await close();
  });

  it('stays hidden from another key until that key has loaded the memory', async () => {
    const { key, page, close } = await startDraft('The barn is for sale');
    await revoke(key);
    await asksForKey(page).waitFor();
    const release = await hold(page, /\/memories\/\w/);
    await signIn(page, KEY);
    await page.getByText('Loading the memory').waitFor();
    expect(await textField(page).count()).toBe(0);
    release();
    expect(await textField(page).inputValue()).toBe('The barn is for sale, or so they say');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Changes saved.').waitFor();
    await close();
  });

  it('the text of a new memory survives Escape and Cancel, and ends when it is stored', async () => {
    const { page, close } = await stage.visit('/ui/');
    await signIn(page, KEY);
    const open = () => page.getByRole('button', { name: '+ Add' }).click();
    const content = page.getByLabel('Content');
    await open();
    await content.fill('The lighthouse is red');
    await page.getByLabel('Tags, separated by commas').fill('sea');
    await page.keyboard.press('Escape');
    await open();
    expect(await content.inputValue()).toBe('The lighthouse is red');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await open();
    await page.getByRole('button', { name: 'Store memory' }).click();
    await page.locator('.beside').getByText('The lighthouse is red').first().waitFor();
    const { memories } = await stage.memory.memories({ q: 'lighthouse red' });
    expect(memories).toEqual([expect.objectContaining({ content: 'The lighthouse is red', tags: ['sea'] })]);
    await open();
    expect(await content.inputValue()).toBe('');
    await close();
  });

  it('the text of a new memory is discarded on sign-out', async () => {
    const { page, close } = await stage.visit('/ui/');
    await signIn(page, KEY);
    const open = () => page.getByRole('button', { name: '+ Add' }).click();
    await open();
    await page.getByLabel('Content').fill('The code of the door');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await asksForKey(page).waitFor();
    await signIn(page, KEY);
    await open();
    expect(await page.getByLabel('Content').inputValue()).toBe('');
    await close();
  });

  it('survives a late error response to a request with a revoked API key', async () => {
    const { id, key, page, close } = await startDraft('The tram is late');
    const release = await hold(page, '**/update/*');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await revoke(key);
    await asksForKey(page).waitFor();
    await signIn(page, KEY);
    await textField(page).waitFor();
    const refused = page.waitForResponse((response) => response.url().includes('/update/'));
    release();
    expect((await refused).status()).toBe(401);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Changes saved.').waitFor();
    expect((await stage.memory.memory(id)).content).toBe('The tram is late, or so they say');
    await close();
  });

  it('keeps what is typed while a save is under way, and saves it next', async () => {
    const { id, page, close } = await startDraft('The ferry leaves at ten');
    const release = await hold(page, /\/update\//);
    await page.keyboard.press('Control+Enter');
    await page.getByRole('button', { name: 'Saving…' }).waitFor();
    await textField(page).fill('The ferry leaves at ten, from the');
    const releaseSaved = await hold(page, `**/memories/${id}`);
    const isLoading = page.waitForRequest(`**/memories/${id}`);
    release();
    await isLoading;
    await textField(page).fill('The ferry leaves at ten, from the old pier');
    releaseSaved();
    await page.getByRole('button', { name: 'Save', exact: true }).waitFor();
    expect((await stage.memory.memory(id)).content).toBe('The ferry leaves at ten, or so they say');
    expect(await textField(page).inputValue()).toBe('The ferry leaves at ten, from the old pier');
    const releaseNext = await hold(page, /\/update\//);
    await page.keyboard.press('Control+Enter');
    await textField(page).fill('The ferry leaves at noon, from the old pier');
    // This save waits for the other one.
    await page.keyboard.press('Control+Enter');
    releaseNext();
    await page.getByText('Changes saved.').waitFor();
    expect((await stage.memory.memory(id)).content).toBe('The ferry leaves at noon, from the old pier');
    await close();
  });
});
