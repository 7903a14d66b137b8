import { readFile } from 'node:fs/promises';
import { AdministrationClient } from '@memoryd/client/administration';
import type { Page } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { hasBrowser, hold, intercept, useStage, type Visit } from './browser.ts';

/** Stores memories of a user. */
const toMemories = (user_id: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({ content: `Fact ${i} of ${user_id}`, user_id }));

describe.runIf(hasBrowser())('Admin', () => {
  const stage = useStage({ isEmpty: true });
  let visit: Visit;
  let page: Page;

  beforeEach(async () => {
    visit = await stage.visit('/ui/');
    page = visit.page;
    return () => visit.close();
  });

  const goTo = async (address: string) => {
    await page.goto('about:blank');
    await page.goto(`${stage.url}/ui/#/${address}`);
  };
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
  const row = (name: string) => page.locator(`[data-row="${name}"]`);
  const getUsers = async () => (await stage.memory.users()).users.map(({ user_id }) => user_id);
  const administration = () => new AdministrationClient({ url: stage.url });

  it('lists the users with their usage, sorted and by prefix, and keeps both in the address', async () => {
    await stage.memory.storeBatch([...toMemories('ann', 3), ...toMemories('anton', 5), ...toMemories('bea', 4)]);
    await administration().setUserQuota('ann', { memories: 6, bytes: null });
    await goTo('admin');
    const meter = row('ann').getByRole('meter', { name: 'Memories of ann: 3 of 6' });
    expect(await meter.evaluate((element: HTMLMeterElement) => element.value / element.max)).toBe(0.5);
    await button(/^Memories/).click();
    const order = () => page.locator('[data-row]').evaluateAll((rows) => rows.map((one) => one.dataset.row));
    await expect.poll(order).toEqual(['anton', 'bea', 'ann']);
    await page.getByRole('searchbox', { name: 'User begins with' }).fill('AN');
    await expect.poll(order).toEqual(['anton', 'ann']);
    await page.getByText('2 of 3 users').waitFor();
    await page.reload();
    await row('ann').waitFor();
    expect(await order()).toEqual(['anton', 'ann']);
  });

  it('exports a user as a file that an import reads', async () => {
    await stage.memory.storeBatch(toMemories('exported', 2));
    await goTo('admin');
    const downloading = page.waitForEvent('download');
    await button('Export exported').click();
    const download = await downloading;
    expect(download.suggestedFilename()).toMatch(/^memoryd-exported-\d{4}-\d\d-\d\d\.jsonl$/);
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n');
    const contents = lines.map((line) => JSON.parse(line).content).filter((content) => content !== undefined);
    expect(contents.sort()).toEqual(['Fact 0 of exported', 'Fact 1 of exported']);
  });

  it('forgets a user only after the name is typed, and only this user, with the keyboard alone', async () => {
    await stage.memory.storeBatch([...toMemories('gone', 3), ...toMemories('goner', 2)]);
    await goTo('admin?name=gone');
    await button('Forget gone').focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await page.keyboard.type('gon');
    expect(await dialog.getByRole('button', { name: 'Forget for good' }).isDisabled()).toBe(true);
    await page.keyboard.press('Enter');
    expect(await getUsers()).toContain('gone');
    await page.keyboard.type('e');
    await page.keyboard.press('Enter');
    await page.getByText('Forgot 3 memories of gone.').waitFor();
    await expect.poll(() => row('gone').count()).toBe(0);
    expect(await getUsers()).not.toContain('gone');
    expect((await stage.memory.stats({ user_id: 'goner' })).working_count).toBe(2);
  });

  it('shows why a user was not forgotten, and the current list after the dialog is closed', async () => {
    await stage.memory.storeBatch(toMemories('kept', 1));
    await goTo('admin');
    await intercept(page, '**/memories?*', (route) =>
      route.request().method() === 'DELETE' ? route.abort() : route.continue(),
    );
    await button('Forget kept').click();
    await page.keyboard.type('kept');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('alert').waitFor({ timeout: 30_000 });
    await page.getByText('it may have done this or not').waitFor();
    await button('Cancel').click();
    await row('kept').waitFor();
    expect(await getUsers()).toContain('kept');
  });

  it('sets the quota of a user and of a namespace, and removes it', async () => {
    await stage.memory.storeBatch(toMemories('limited', 1));
    await goTo('admin?name=limited');
    await button('Quota of limited').click();
    await page.getByLabel('Memories', { exact: true }).fill('10');
    await page.getByLabel('Size of the texts in MB').fill('0.5');
    await page.keyboard.press('Enter');
    await row('limited').getByText('1 of 10').waitFor();
    const getQuota = async () => (await stage.memory.users()).users.find(({ user_id }) => user_id === 'limited')?.quota;
    expect(await getQuota()).toEqual({ memories: 10, bytes: 500_000 });
    await button('Quota of limited').click();
    await page.getByLabel('Memories', { exact: true }).fill('');
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: 'Quota of limited: default memories, at most 500 kB.' }).waitFor();
    expect(await getQuota()).toEqual({ memories: null, bytes: 500_000 });
    await goTo('admin?tab=namespaces');
    await button('Quota of default').click();
    await page.getByLabel('Memories', { exact: true }).fill('9000');
    await page.keyboard.press('Enter');
    await row('default')
      .getByText(/of 9,000 memories/)
      .waitFor();
  });

  it('deletes a namespace only after its name is typed', async () => {
    await administration().setQuota('spare', { memories: 5, bytes: null });
    await goTo('admin?tab=namespaces');
    await button('Delete spare').click();
    await page.keyboard.type('default');
    await page.keyboard.press('Enter');
    expect(await page.getByRole('dialog').getByRole('button', { name: 'Delete for good' }).isDisabled()).toBe(true);
    await page.getByRole('textbox', { name: 'Type spare to confirm' }).fill('spare');
    await page.keyboard.press('Enter');
    await page.getByText('The namespace spare is deleted, with 0 memories.').waitFor();
    const { namespaces } = await administration().listNamespaces();
    expect(namespaces.map(({ name }) => name)).not.toContain('spare');
  });

  it('shows the counts, the embedder, the next consolidation, and latency and rates after recalls', async () => {
    await stage.memory.store({ content: 'The tomatoes are ripe' });
    await stage.memory.recall({ query: 'tomatoes' });
    await goTo('admin?tab=service');
    const figure = (name: string) =>
      page.locator('.figure', { has: page.locator('dt', { hasText: name }) }).locator('.figure-value');
    const { working_count } = await stage.memory.stats();
    await expect.poll(async () => (await figure('Working').textContent()) ?? '').toBe(String(working_count));
    await figure('Embedder').getByText('Ready', { exact: true }).waitFor();
    await page.getByText(/Next (in|within)/).waitFor();
    await expect
      .poll(() => page.locator('.chart', { hasText: 'Latency' }).textContent())
      .toMatch(/p50 [\d.]+ msp99 [\d.]+ ms/);
    expect(await page.locator('.chart', { hasText: 'Rates' }).textContent()).toMatch(/Recalls [\d.,]+\/min/);
  });

  it('draws latency and rates of all periods, with a pause where there were no recalls', async () => {
    const now = Date.now();
    const periods = [9, null, 4, 5].map((ms, i) => ({
      at: new Date(now - (4 - i) * 300_000).toISOString(),
      ...{ recalls: ms === null ? 0 : 10, stores: 0, errors: 0, p50_ms: ms, p99_ms: ms },
    }));
    await intercept(page, '**/stats/history', (route) => route.fulfill({ json: { period_seconds: 300, periods } }));
    await goTo('admin?tab=service');
    const lines = page.locator('.chart', { hasText: 'Latency' }).locator('path');
    await lines.first().waitFor({ state: 'attached' });
    // Two parts: the pause interrupts the line.
    expect((await lines.first().getAttribute('d'))?.match(/M/g)).toHaveLength(2);
    expect(await page.locator('.chart', { hasText: 'Rates' }).textContent()).toContain('Recalls 2/min');
  });

  it('downloads a backup of the whole database', async () => {
    await goTo('admin?tab=service');
    const downloading = page.waitForEvent('download');
    await button('Download backup').click();
    const download = await downloading;
    await page.getByText('The backup is complete.').waitFor();
    expect((await readFile(await download.path())).subarray(0, 15).toString()).toBe('SQLite format 3');
  });

  it('saves no file if the backup is cut off, and shows the error', async () => {
    await intercept(page, '**/backup', (route) => route.abort());
    await goTo('admin?tab=service');
    await button('Download backup').click();
    await page.getByRole('alert').waitFor({ timeout: 30_000 });
    expect(await page.getByText('The backup is complete.').count()).toBe(0);
  });
});

describe.runIf(hasBrowser())('a download in Admin', () => {
  const KEY = 'a-key-that-a-setting-gives-and-nobody-guesses';
  const stage = useStage({ isEmpty: true, apiKey: KEY, env: { SERVICE_API_KEY: KEY } });

  /** Starts a download in a new page, which the service does not answer. */
  const start = async (tab: string, name: string, path: RegExp) => {
    await stage.memory.storeBatch(toMemories('ann', 2));
    const { page, close } = await stage.visit(`/ui/#/admin?tab=${tab}`);
    await page.getByLabel('API key').fill(KEY);
    await page.keyboard.press('Enter');
    let isSaved = false;
    page.on('download', () => {
      isSaved = true;
    });
    const release = await hold(page, path);
    const asked = page.waitForRequest(path);
    await page.getByRole('button', { name, exact: true }).click();
    await asked;
    const ended = page.waitForEvent('requestfailed', (request) => path.test(request.url()));
    /** Waits until the request has ended without a file. */
    const untilEnded = async () => {
      await ended;
      release();
      await page.evaluate(() => fetch('/health'));
      expect(isSaved).toBe(false);
      expect(await page.locator('.toast').count()).toBe(0);
      await close();
    };
    return { page, untilEnded };
  };

  const DOWNLOADS = [
    { what: 'backup', tab: 'service', name: 'Download backup', path: /\/backup$/ },
    { what: 'export of a user', tab: 'users', name: 'Export ann', path: /\/export\?/ },
  ];

  it.each(DOWNLOADS)('ends when the person signs out: $what', async ({ tab, name, path }) => {
    const { page, untilEnded } = await start(tab, name, path);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await untilEnded();
  });

  it.each(DOWNLOADS)('goes on in every view, where it can be cancelled: $what', async ({ tab, name, path }) => {
    const { page, untilEnded } = await start(tab, name, path);
    await page.getByRole('link', { name: 'Sessions' }).click();
    await page.locator('.toast').getByRole('button', { name: 'Cancel' }).click();
    await untilEnded();
  });
});

describe.runIf(hasBrowser())('the keys in Admin', () => {
  const stage = useStage({ isEmpty: true });

  it('says before the first key that access without a key ends, shows the key once, and signs in with it', async () => {
    const { page, allow, problems, close } = await stage.visit('/ui/#/admin?tab=keys');
    // Requests without the key that are under way.
    allow(/401/);
    await page.getByText('No keys yet').waitFor();
    await page.getByRole('button', { name: 'Add key…' }).click();
    await page.getByText('From then on, every program on this machine needs a key too').waitFor();
    await page.getByLabel('Scope', { exact: true }).selectOption('write');
    await page.getByText('Without the scope operate, this page then cannot manage keys.').waitFor();
    await page.getByLabel('Scope', { exact: true }).selectOption('operate');
    expect((await new AdministrationClient({ url: stage.url }).listKeys()).keys).toEqual([]);
    await page.getByLabel('Name', { exact: true }).fill('the operator');
    await page.keyboard.press('Enter');
    const secret = (await page.locator('.secret').textContent()) ?? '';
    const operator = new AdministrationClient({ url: stage.url, apiKey: secret });
    await expect(stage.memory.stats()).rejects.toMatchObject({ code: 'UNAUTHORIZED' });
    const [key] = (await operator.listKeys()).keys;
    expect(key).toMatchObject({ name: 'the operator', scope: 'operate', namespace: 'default' });
    await page.locator(`[data-row="${key?.id}"]`).getByText('this page').waitFor();
    await page.getByRole('button', { name: 'I have copied the key' }).click();
    expect(await page.getByText(secret).count()).toBe(0);
    expect(problems).toEqual([]);

    // A key of one user: its view says what it may not see.
    await page.getByRole('button', { name: 'Add key…' }).click();
    expect(await page.getByText('This is the first key.').count()).toBe(0);
    await page.getByLabel('Name', { exact: true }).fill('Anna');
    await page.getByLabel('Scope', { exact: true }).selectOption('write');
    await page.getByLabel('Only this user').fill('anna');
    await page.getByRole('button', { name: 'Add key', exact: true }).click();
    const ofAnna = (await page.locator('.new-key', { hasText: 'Anna' }).locator('.secret').textContent()) ?? '';
    await page.getByRole('button', { name: 'Revoke Anna' }).waitFor();
    const anna = await stage.visit('/ui/#/admin?tab=keys');
    await anna.page.getByLabel('API key').fill(ofAnna);
    await anna.page.keyboard.press('Enter');
    await anna.page.getByText('This API key does not have the scope operate.').waitFor();
    await anna.page.getByText('A key for one user or agent may not see the other users.').waitFor();
    expect(await anna.page.getByRole('alert').count()).toBe(0);
    expect(await anna.page.getByRole('link', { name: 'Keys' }).count()).toBe(0);
    await anna.close();

    // A combination that the service refuses.
    await page.getByRole('button', { name: 'Add key…' }).click();
    await page.getByLabel('Scope', { exact: true }).selectOption('operate');
    await page.getByLabel('Only this user').fill('anna');
    await page.getByRole('button', { name: 'Add key', exact: true }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    expect((await operator.listKeys()).keys).toHaveLength(2);
    allow(/400|403/);

    await page.getByRole('button', { name: 'Revoke Anna' }).click();
    await page.getByRole('button', { name: 'Revoke key' }).click();
    await page.getByText('Anna is revoked.').waitFor();
    expect((await operator.listKeys()).keys.find(({ name }) => name === 'Anna')?.revoked_at).not.toBeNull();
    await expect.poll(() => page.getByRole('button', { name: 'Revoke Anna' }).count()).toBe(0);
    await page.getByRole('checkbox', { name: 'Show 1 revoked key' }).check();
    await page
      .locator('[data-row]', { hasText: 'Anna' })
      .getByText(/^Revoked/)
      .waitFor();
    await page.getByRole('button', { name: 'Revoke the operator' }).click();
    await page.getByText('This page uses this key.').waitFor();
    await page.keyboard.press('Escape');

    // The next person at the browser does not see the key that was added last.
    expect(await page.locator('.secret').textContent()).toBe(ofAnna);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').fill(secret);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Admin' }).click();
    await page.getByRole('link', { name: 'Keys' }).click();
    await page.getByRole('button', { name: 'Add key…' }).waitFor();
    expect(await page.locator('.secret').count()).toBe(0);
    await close();
  });
});
