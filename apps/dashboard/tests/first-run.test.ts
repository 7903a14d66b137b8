import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasBrowser, useStage, type Visit } from './browser.ts';

describe.runIf(hasBrowser())('dashboard of an empty store', () => {
  const stage = useStage({ isEmpty: true });
  let visit: Visit;

  beforeEach(async () => {
    visit = await stage.visit('/ui/', { permissions: ['clipboard-read', 'clipboard-write'] });
    await visit.page.getByRole('heading', { name: 'Store your first memory' }).waitFor();
  });
  afterEach(async () => {
    await visit.close();
    for (const { id } of (await stage.memory.memories({})).memories) await stage.memory.forget(id);
  });

  const copy = async (label: string) => {
    await visit.page.getByRole('button', { name: `Copy ${label}` }).click();
    await visit.page.getByText('Copied').waitFor();
    return visit.page.evaluate(() => navigator.clipboard.readText());
  };

  it('shows the table without a reload after the copied curl command stored a memory', async () => {
    const command = await copy('curl');
    expect(command).toContain(`'${stage.url}/store'`);
    const body = /-d '(.*)'/s.exec(command)?.[1] ?? '';
    const headers = { 'content-type': 'application/json' };
    expect((await fetch(`${stage.url}/store`, { method: 'POST', headers, body })).status).toBe(200);
    await visit.page.getByRole('grid').getByText('Ada is allergic to peanuts').waitFor();
    expect(visit.problems).toEqual([]);
  });

  it('offers TypeScript code and an MCP configuration to copy, both with the URL of the service', async () => {
    expect(await copy('TypeScript')).toContain(`const url = "${stage.url}";`);
    expect(JSON.parse(await copy('MCP (.mcp.json)'))).toEqual({
      mcpServers: { memoryd: { type: 'http', url: `${stage.url}/mcp` } },
    });
  });

  it('stores a memory from the form, and shows it in the table, which opens it', async () => {
    const { page } = visit;
    await page.getByLabel('Content').fill('Ada is allergic to peanuts');
    await page.getByLabel('Session (optional)').fill('kitchen');
    await page.getByLabel(/Tags/).fill('family, food');
    await page.getByRole('button', { name: 'Store memory' }).click();
    await page.getByRole('grid').getByText('Ada is allergic to peanuts').click();
    await page.locator('.memory', { hasText: 'Ada is allergic to peanuts' }).waitFor();
    const { memories } = await stage.memory.memories({});
    expect(memories).toMatchObject([
      { content: 'Ada is allergic to peanuts', session_id: 'kitchen', tags: ['family', 'food'], source: 'dashboard' },
    ]);
    expect(visit.problems).toEqual([]);
  });

  it('shows the error if a memory is not stored, and keeps the text in the form', async () => {
    const { page } = visit;
    await page.getByLabel('Content').fill('Ada is allergic to peanuts');
    await page.getByLabel(/Tags/).fill('x'.repeat(129));
    await page.getByRole('button', { name: 'Store memory' }).click();
    await page.getByRole('alert').getByText('tags').first().waitFor();
    expect(await page.getByLabel('Content').inputValue()).toBe('Ada is allergic to peanuts');
    await page.getByLabel(/Tags/).fill('food');
    await page.getByRole('button', { name: 'Store memory' }).click();
    await page.getByRole('grid').getByText('Ada is allergic to peanuts').waitFor();
  });
});
