import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hasBrowser, openWithEvents, useStage, type Visit } from './browser.ts';

const SESSION = 'kitchen-talk';
const SAME = { session_id: SESSION, tags: ['jelly'] };
const SAME_TEXT = 'The quince jelly stands on the top shelf';
const TEXTS = {
  anna: 'Anna keeps her quince jelly in the cellar',
  ben: 'Ben keeps his quince jelly in the attic',
};
type User = keyof typeof TEXTS;

describe.runIf(hasBrowser())('dashboard of a service with users', () => {
  const stage = useStage();
  const ids: Record<User, string[]> = { anna: [], ben: [] };
  let visit: Visit;
  let page: Page;

  beforeAll(async () => {
    for (const user_id of ['anna', 'ben'] as const) {
      for (const content of [SAME_TEXT, TEXTS[user_id]]) {
        const agent_id = user_id === 'anna' && content === SAME_TEXT ? { agent_id: 'cook' } : {};
        ids[user_id].push((await stage.memory.store({ ...SAME, user_id, ...agent_id, content })).id);
      }
    }
  });

  beforeEach(async () => {
    visit = await stage.visit('/ui/');
    page = visit.page;
    return () => visit.close();
  });

  const goTo = (address: string) => page.goto(`${stage.url}/ui/#/${address}`);
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const picker = () => page.getByRole('button', { name: /^Scope/ });
  const userInput = () => page.getByLabel('User or agent');
  const rows = () => page.locator('.list > li, .table-body > [role=row]');
  const sessionRow = (user: User) =>
    rows()
      .filter({ hasText: SESSION })
      .filter({ hasText: `User ${user}` });
  const choose = async (user: string) => {
    await picker().click();
    await userInput().fill(user);
    await userInput().press('Enter');
  };
  const showAll = async () => {
    await picker().click();
    await page.getByRole('link', { name: 'All users' }).click();
  };
  /** Fails if the view shows the name, a text or an id of a user. */
  const expectNoneFrom = async (user: User) => {
    const view = await page.locator('main').innerHTML();
    for (const one of [`User ${user}`, TEXTS[user], ...ids[user]]) expect(view).not.toContain(one);
  };

  it('shows no data of other users in any view when a user is chosen', async () => {
    await choose('anna');
    for (const link of ['Memories', 'Sessions'] as const) {
      await page.getByRole('link', { name: link, exact: true }).click();
      // Polls, because the rows of the previous view are shown until those of the next view are loaded.
      await expect.poll(() => rows().count()).toBe(link === 'Memories' ? 2 : 1);
      await expectNoneFrom('ben');
    }
    await page.getByRole('link', { name: SESSION }).click();
    await page.locator('.turn', { hasText: TEXTS.anna }).waitFor();
    expect(await page.locator('.turn').count()).toBe(2);
    await expectNoneFrom('ben');

    await page.locator('.turn-head a').first().click();
    await page.locator('.memory', { hasText: SAME_TEXT }).waitFor();
    expect(await page.locator('.details').last().textContent()).toContain('UserannaAgentcook');

    await page.getByRole('link', { name: 'Recall', exact: true }).click();
    await page.getByRole('searchbox').fill('where is the quince jelly');
    await page.locator('.result', { hasText: TEXTS.anna }).waitFor();
    expect(await page.locator('.result').count()).toBe(2);
    await expectNoneFrom('ben');
    expect(await page.locator('.sample pre').first().textContent()).toContain('user_id=anna');
    expect(visit.problems).toEqual([]);
  });

  it('shows the activity of the chosen user, or of all users if no user is chosen', async () => {
    const everybody = await stage.visit('/ui/');
    await openWithEvents(page, `${stage.url}/ui/#/activity?user_id=anna`);
    await openWithEvents(everybody.page, `${stage.url}/ui/#/activity`);
    const labelJar = (user_id: string) => stage.memory.store({ user_id, content: 'The jar has a label' });
    const bens = await labelJar('ben');
    const annas = await labelJar('anna');
    const findEvents = (of: Page, user: User, id: string) =>
      of
        .locator('.entry', { has: of.locator(`a[title="${id}"]`) })
        .filter({ has: of.getByRole('link', { name: `User ${user}` }) });
    await findEvents(page, 'anna', annas.id).waitFor();
    await expectNoneFrom('ben');
    expect(await page.locator(`a[title="${bens.id}"]`).count()).toBe(0);
    await findEvents(everybody.page, 'anna', annas.id).waitFor();
    await findEvents(everybody.page, 'ben', bens.id).waitFor();
    await everybody.close();
    await stage.memory.forget(annas.id);
    await stage.memory.forget(bens.id);
  });

  it('keeps the chosen user in the address after a reload and after Back', async () => {
    await goTo('recall?query=where+is+the+quince+jelly');
    await choose('anna');
    await page.locator('.result', { hasText: TEXTS.anna }).waitFor();
    await choose('ben');
    await page.locator('.result', { hasText: TEXTS.ben }).waitFor();
    await expectNoneFrom('anna');
    await page.reload();
    await page.locator('.result', { hasText: TEXTS.ben }).waitFor();
    expect(await picker().textContent()).toBe('ben');
    await expectNoneFrom('anna');
    await page.goBack();
    await page.locator('.result', { hasText: TEXTS.anna }).waitFor();
    expect(await picker().textContent()).toBe('anna');
    await expectNoneFrom('ben');

    const other = await stage.visit(new URL(page.url()).pathname + new URL(page.url()).hash);
    await other.page.locator('.result', { hasText: TEXTS.anna }).waitFor();
    expect(await other.page.locator('.result', { hasText: TEXTS.ben }).count()).toBe(0);
    await other.close();
  });

  it('shows the memories of all users, each with its user, when no user is chosen', async () => {
    await goTo('recall?query=quince+jelly&tag=jelly');
    expect(await picker().textContent()).toBe('All users');
    await page.locator('.result', { hasText: TEXTS.anna }).getByRole('link', { name: 'User anna' }).waitFor();
    const sameText = page.locator('.result', { hasText: SAME_TEXT });
    await sameText.getByRole('link', { name: 'User anna' }).waitFor();
    await sameText.getByRole('link', { name: 'User ben' }).waitFor();
    await sameText.getByRole('link', { name: 'Agent cook' }).waitFor();
    await page.locator('.result', { hasText: TEXTS.ben }).getByRole('link', { name: 'User ben' }).click();
    await rows().filter({ hasText: TEXTS.ben }).waitFor();
    await expectNoneFrom('anna');
    await showAll();
    await rows().filter({ hasText: TEXTS.anna }).waitFor();
    await rows().filter({ hasText: TEXTS.ben }).waitFor();
  });

  it('lists sessions of two users with the same id separately', async () => {
    await goTo('sessions?tag=jelly');
    await sessionRow('anna').waitFor();
    expect(await rows().count()).toBe(2);
    await sessionRow('ben').getByRole('link', { name: SESSION }).click();
    await page.locator('.turn', { hasText: TEXTS.ben }).waitFor();
    expect(page.url()).toContain('user_id=ben');
    expect(await page.locator('.turn').count()).toBe(2);
    await expectNoneFrom('anna');
  });

  it('reports a memory of another user as missing', async () => {
    await goTo(`?open=${ids.ben[1]}&user_id=anna`);
    await page.getByRole('alert').waitFor();
    expect(await page.getByText(TEXTS.ben).count()).toBe(0);
    expect(visit.problems.filter((problem) => !problem.includes('404'))).toEqual([]);
  });

  it('edits and forgets a memory as the chosen user', { timeout: 60_000 }, async () => {
    const { id } = await stage.memory.store({ ...SAME, user_id: 'anna', content: 'The pot is blue' });
    const writes: string[] = [];
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url());
      if (/^\/(update|forget)\//.test(pathname)) writes.push(`${request.method()} ${search}`);
    });
    await goTo(`?open=${id}&user_id=anna`);
    await button('Edit').click();
    await page.getByRole('textbox', { name: 'Text', exact: true }).fill('The pot is green');
    await button('Save').click();
    await page.getByText('Changes saved.').waitFor();
    expect(await stage.memory.memory(id)).toMatchObject({ content: 'The pot is green', user_id: 'anna' });
    await button('Forget').click();
    await page.getByText('Memory forgotten').waitFor({ timeout: 30_000 });
    expect(writes).toEqual(['PUT ?user_id=anna', 'DELETE ?user_id=anna']);
  });

  it('shows shared memories, read-only, together with the memories of the chosen user on request', async () => {
    const { id } = await stage.memory.store({ content: 'The office shelf is closed on Fridays', tags: ['jelly'] });
    await goTo('?tag=jelly');
    await choose('anna');
    await expect.poll(() => rows().count()).toBe(2);
    await picker().click();
    await page.getByLabel('Include shared').click();
    await expect.poll(() => rows().count()).toBe(3);
    await expectNoneFrom('ben');
    await rows().filter({ hasText: 'The office shelf' }).locator('.table-text').click();
    await page.getByText('To change this shared memory').waitFor();
    expect(await button('Edit').count()).toBe(0);
    await page.locator('.beside').getByRole('link', { name: 'show all' }).click();
    await button('Edit').waitFor();
    await stage.memory.forget(id);
  });

  it('shows only the memories of the chosen agent', async () => {
    await goTo('recall?query=quince+jelly&tag=jelly');
    await picker().click();
    await page.getByRole('link', { name: /^cook\s*1$/ }).click();
    await expect.poll(() => page.locator('.result').allInnerTexts()).toEqual([expect.stringContaining(SAME_TEXT)]);
    expect(await page.locator('.result').getByRole('link', { name: 'User anna' }).count()).toBe(1);
  });

  it('finds users by their first letters with the number of their memories, and accepts any other user', async () => {
    await goTo('sessions');
    await picker().click();
    await page.getByRole('link', { name: /^anna\s*2$/ }).waitFor();
    await page.getByRole('link', { name: /^ben\s*2$/ }).waitFor();
    await userInput().fill('an');
    await page.getByRole('link', { name: /^ben/ }).waitFor({ state: 'detached' });
    await userInput().press('ArrowDown');
    await page.keyboard.press('Enter');
    await expect.poll(() => picker().textContent()).toBe('anna');
    await choose('nobody');
    await page.getByText('No sessions match these filters').waitFor();
    await showAll();
    await rows().first().waitFor();
    expect(await picker().textContent()).toBe('All users');
  });

  it('includes shared memories on request', async () => {
    await goTo('sessions?user_id=anna');
    await picker().click();
    await page.getByLabel('Include shared').click();
    await expect.poll(() => page.url()).toContain('shared=true');
  });

  it('reports an invalid user in the address, and offers to show all users', async () => {
    await goTo(`sessions?user_id=${'x'.repeat(257)}`);
    await page.getByRole('alert').getByText('1 to 256 characters').waitFor();
    await showAll();
    await rows().first().waitFor();
    expect(visit.problems).toEqual([]);
  });

  it('moves the focus to the content when a user is chosen', async () => {
    await goTo('sessions');
    await choose('anna');
    await sessionRow('anna').waitFor();
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('MAIN');
  });

  it('previews distilled texts when all users are shown, but not when one user is chosen', async () => {
    // Both plans are made with the same vectors.
    await stage.untilEmbedded();
    const { plan } = await stage.memory.consolidate({ dry_run: true });
    const distilled = plan?.distil.memories[0]?.content ?? 'nothing is distilled';
    const openPlan = async (query: string) => {
      await goTo(`consolidation${query}`);
      await button('Preview consolidation').click();
      await page.getByText(/^Distill \d/).click();
      await page.locator('.change-line', { hasText: 'Create a semantic memory' }).first().waitFor();
    };
    await openPlan('');
    await page.locator('.change-line .memory-text').getByText(distilled, { exact: true }).waitFor();
    await openPlan('?user_id=anna');
    expect(await page.getByText(distilled, { exact: true }).count()).toBe(0);
  });

  it('states that consolidation runs cover all users, and hides the texts of other users', async () => {
    await stage.memory.consolidate();
    for (const [user_id, content] of Object.entries(TEXTS)) await stage.memory.store({ user_id, content });
    await goTo('consolidation?user_id=anna');
    await page.getByText('Runs cover all users and agents.').waitFor();
    await button('Preview consolidation').click();
    await page.locator('.plan-part').first().waitFor();
    for (const opened of await page.locator('details > summary').all()) await opened.click();
    await page.locator('.change-line', { hasText: TEXTS.anna }).first().waitFor();
    await page.locator('.change-line', { hasText: 'belongs to another user or agent' }).first().waitFor();
    expect(await page.getByText(TEXTS.ben).count()).toBe(0);
    await button('Run consolidation now').click();
    await page.getByRole('heading', { name: /^Run of/ }).waitFor();
    await page.getByText('all users and agents').waitFor();
    await page.locator('.change-line', { hasText: TEXTS.anna }).first().waitFor();
    await page.locator('.change-line', { hasText: 'belongs to another user or agent' }).first().waitFor();
    expect(await page.getByText(TEXTS.ben).count()).toBe(0);
    expect(visit.problems.filter((problem) => !problem.includes('404'))).toEqual([]);
  });
});
