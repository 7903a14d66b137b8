import { setTimeout as delay } from 'node:timers/promises';
import type { Page, Request } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { hasBrowser, hold, useStage, type Visit } from './browser.ts';

describe.runIf(hasBrowser())('Activity', () => {
  const stage = useStage({ isEmpty: true });
  let visit: Visit;
  let page: Page;

  beforeEach(async () => {
    visit = await stage.visit('/ui/#/activity');
    page = visit.page;
    await page.getByRole('heading', { name: 'Activity', level: 1 }).waitFor();
    return () => visit.close();
  });

  const goTo = async (address: string) => {
    await page.goto('about:blank');
    await page.goto(`${stage.url}/ui/#/${address}`);
  };
  const entry = (text: string | RegExp) => page.locator('.entry', { hasText: text });

  it('shows memories that are stored, with their texts, and what happened before the page was opened', async () => {
    const { id } = await stage.memory.store({ content: 'Tomasz found the spare key under the third pot' });
    await page.locator(`.entry-stored a[title="${id}"]`, { hasText: 'under the third pot' }).waitFor();
    await goTo('activity');
    await page.locator(`.entry-stored a[title="${id}"]`, { hasText: 'under the third pot' }).waitFor();
    expect(await page.getByText('Some events were missed').count()).toBe(0);
  });

  it('shows questions with the memories that they returned, once', async () => {
    await stage.memory.store({ content: 'The quince jelly stands in the cellar' });
    await stage.memory.recall({ query: 'where is the quince jelly' });
    const question = entry('“where is the quince jelly” returned');
    await question.getByText('The quince jelly stands in the cellar').waitFor();
    await question
      .getByText(/^0\.\d\d$|^1\.00$/)
      .first()
      .waitFor();
    expect(await question.count()).toBe(1);
    expect(await page.getByText(/^Recalled/).count()).toBe(0);
  });

  it('shows which agent program stored a memory, and which was given one', async () => {
    const metadata = { project: 'github.com/ada/garden' };
    const memory = { content: 'The peas in the garden need a trellis', user_id: 'gardener', metadata };
    await stage.memory.store({ ...memory, source: 'codex', session_id: 'codex:ab12cd34-5678' });
    const filter = { 'metadata.project': metadata.project };
    await stage.memory.context({ user_id: 'gardener', session_id: 'cursor:ef56ab78-9012', filter });
    await page.getByText('Codex · garden · session ab12… stored 1 memory').waitFor();
    const given = entry('Cursor · garden · session ef56… was given 1 memory');
    await given.getByRole('link', { name: 'User gardener' }).waitFor();
    expect(await given.getByRole('link', { name: 'Show session' }).getAttribute('href')).toContain('cursor');
    await given.getByText('The peas in the garden need a trellis').waitFor();
  });

  it('filters by kind, program and user, and keeps the filters in the address', async () => {
    await stage.memory.store({ content: 'The hedge is cut in June', user_id: 'hedge', source: 'codex' });
    await stage.memory.store({ content: 'The lawn is cut in May', user_id: 'lawn' });
    await stage.memory.recall({ query: 'when is the hedge cut', user_id: 'hedge' });
    await entry('“when is the hedge cut”').waitFor();
    await page.getByRole('button', { name: 'Stored' }).click();
    await expect.poll(() => entry('“when is the hedge cut”').count()).toBe(0);
    await page.getByRole('combobox', { name: 'Program' }).selectOption('Codex');
    await expect.poll(() => entry('The lawn is cut in May').count()).toBe(0);
    await entry('The hedge is cut in June').waitFor();
    await page.reload();
    await entry('The hedge is cut in June').waitFor();
    expect(await entry('The lawn is cut in May').count()).toBe(0);
    await goTo('activity');
    await entry('The lawn is cut in May').waitFor();
    await page.getByRole('combobox', { name: 'User' }).selectOption('lawn');
    await entry('The lawn is cut in May').waitFor();
    await expect.poll(() => page.url()).toContain('user_id=lawn');
    expect(await page.getByText('hedge').count()).toBe(0);
  });

  it('holds new entries while somebody reads, counts them, and shows them on request', async () => {
    await stage.memory.store({ content: 'The first swallow' });
    const first = entry('The first swallow');
    await first.waitFor();
    await first.hover();
    await stage.memory.store({ content: 'The second swallow' });
    await stage.memory.store({ content: 'The third swallow' });
    const news = page.getByRole('button', { name: '2 new · show' });
    await news.waitFor();
    expect(await entry('The third swallow').count()).toBe(0);
    await news.click();
    await entry('The third swallow').waitFor();
    await expect.poll(() => news.count()).toBe(0);
  });

  it('never shows the text of a forgotten memory', async () => {
    const { id } = await stage.memory.store({ content: 'A secret about the lodger' });
    await entry('A secret about the lodger').waitFor();
    const many = await stage.memory.store({ content: 'Another secret about the lodger', session_id: 'lodger' });
    await entry('Another secret about the lodger').waitFor();
    await stage.memory.forget(id);
    await expect.poll(() => page.getByText('A secret about the lodger').count()).toBe(0);
    await stage.memory.forgetMany({ session_id: 'lodger' });
    await expect.poll(() => page.getByText('Another secret about the lodger').count()).toBe(0);
    expect(await page.locator(`a[title="${many.id}"]`).count()).toBe(0);
  });

  it('loads at most four texts at once', async () => {
    await stage.memory.storeBatch(Array.from({ length: 3 }, (_, i) => ({ content: `Plank ${i}`, user_id: 'a' })));
    for (let i = 0; i < 6; i++) await stage.memory.store({ content: `Nail ${i}` });
    await goTo('recall');
    const pending = new Set<Request>();
    const release = await hold(page, '**/memories/*');
    page.on('request', (request) => {
      if (/\/memories\/[^/]+$/.test(new URL(request.url()).pathname)) pending.add(request);
    });
    page.on('requestfinished', (request) => void pending.delete(request));
    page.on('requestfailed', (request) => void pending.delete(request));
    await goTo('activity');
    await expect.poll(() => pending.size).toBe(4);
    // Time in which a fifth request would be sent.
    await delay(500);
    expect(pending.size).toBe(4);
    release();
    await entry('Nail 0').waitFor();
  });

  it('shows an update with the current text, and markup as text', async () => {
    const { id } = await stage.memory.store({ content: 'The gate is open' });
    await entry('The gate is open').waitFor();
    await stage.memory.update(id, { content: 'The gate is <b>shut</b>' });
    await page.locator('.entry-updated', { hasText: 'The gate is <b>shut</b>' }).waitFor();
    expect(await page.getByText('The gate is open').count()).toBe(0);
  });
});

describe.runIf(hasBrowser())('Activity of a service that does not log questions', () => {
  const stage = useStage({ isEmpty: true, env: { SERVICE_LOG_QUERIES: 'false' } });

  it('shows recalls without their questions, and says why', async () => {
    const { page, close } = await stage.visit('/ui/#/activity');
    await stage.memory.store({ content: 'The well is deep' });
    await stage.memory.recall({ query: 'a private question' });
    await page.getByText('Questions are not shown, because the service does not log them').waitFor();
    await page.locator('.entry', { hasText: /Recalled 1 memory/ }).waitFor();
    expect(await page.getByText('a private question').count()).toBe(0);
    await close();
  });
});
