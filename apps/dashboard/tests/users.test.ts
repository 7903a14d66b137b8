import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hasBrowser, useStage, type Visit } from './browser.ts';

const SESSION = 'kitchen-talk';
const SAME = { session_id: SESSION, tags: ['jelly'] };
const SAME_TEXT = 'The quince jelly stands on the top shelf';
const TEXTS = {
  anna: 'Anna keeps her quince jelly in the cellar',
  ben: 'Ben keeps his quince jelly in the attic',
};
type User = keyof typeof TEXTS;

describe.runIf(hasBrowser())('the dashboard of a service with users', () => {
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

  const goTo = (place: string) => page.goto(`${stage.url}/ui/#/${place}`);
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const userInput = () => page.getByLabel('User', { exact: true });
  const rows = () => page.locator('.list > li');
  const sessionRow = (user: User) =>
    rows()
      .filter({ hasText: SESSION })
      .filter({ hasText: `user ${user}` });
  const choose = async (user: string) => {
    await userInput().fill(user);
    await button('Show').click();
  };
  /** Fails where the view names a user, or shows a text or an id of theirs. */
  const expectNoneFrom = async (user: User) => {
    const view = await page.locator('main').innerHTML();
    for (const one of [`user ${user}`, TEXTS[user], ...ids[user]]) expect(view).not.toContain(one);
  };

  it('shows nothing of another user on any page when one is chosen', async () => {
    await choose('anna');
    await page.locator('.figure', { hasText: 'working' }).getByText('2', { exact: true }).waitFor();
    for (const link of ['Explore', 'Sessions'] as const) {
      await page.getByRole('link', { name: link, exact: true }).click();
      await rows().first().waitFor();
      expect(await rows().count()).toBe(link === 'Explore' ? 2 : 1);
      await expectNoneFrom('ben');
    }
    await page.getByRole('link', { name: SESSION }).click();
    await page.locator('.turn', { hasText: TEXTS.anna }).waitFor();
    expect(await page.locator('.turn').count()).toBe(2);
    await expectNoneFrom('ben');

    await page.locator('.turn-head a').first().click();
    await page.locator('.memory', { hasText: SAME_TEXT }).waitFor();
    expect(await page.locator('.facts').textContent()).toContain('userannaagentcook');

    await page.getByRole('link', { name: 'Recall', exact: true }).click();
    await page.getByRole('searchbox').fill('where is the quince jelly');
    await page.locator('.result', { hasText: TEXTS.anna }).waitFor();
    expect(await page.locator('.result').count()).toBe(2);
    await expectNoneFrom('ben');
    expect(await page.locator('.sample pre').first().textContent()).toContain('user_id=anna');
    expect(visit.troubles).toEqual([]);
  });

  it('shows the activity of the chosen user alone, and that of all users when none is chosen', async () => {
    const everybody = await stage.visit('/ui/');
    const openPage = async (of: Page, query: string) => {
      const isOpen = of.waitForResponse((response) => new URL(response.url()).pathname === '/events');
      await of.goto('about:blank');
      await of.goto(`${stage.url}/ui/#/${query}`);
      await isOpen;
    };
    await openPage(page, '?user_id=anna');
    await openPage(everybody.page, '');
    const labelJar = (user_id: string) => stage.memory.store({ user_id, content: 'The jar has a label' });
    const bens = await labelJar('ben');
    const annas = await labelJar('anna');
    const findEvents = (of: Page, user: User, id: string) =>
      of
        .locator('.happening li', { has: of.locator(`a[title="${id}"]`) })
        .filter({ has: of.getByRole('link', { name: `user ${user}` }) });
    await findEvents(page, 'anna', annas.id).waitFor();
    await expectNoneFrom('ben');
    expect(await page.locator(`a[title="${bens.id}"]`).count()).toBe(0);
    await findEvents(everybody.page, 'anna', annas.id).waitFor();
    await findEvents(everybody.page, 'ben', bens.id).waitFor();
    await everybody.close();
    await stage.memory.forget(annas.id);
    await stage.memory.forget(bens.id);
  });

  it('keeps the chosen user in the address, over a reload and Back', async () => {
    await goTo('recall?query=where+is+the+quince+jelly');
    await choose('anna');
    await page.locator('.result', { hasText: TEXTS.anna }).waitFor();
    await choose('ben');
    await page.locator('.result', { hasText: TEXTS.ben }).waitFor();
    await expectNoneFrom('anna');
    await page.reload();
    await page.locator('.result', { hasText: TEXTS.ben }).waitFor();
    expect(await userInput().inputValue()).toBe('ben');
    await expectNoneFrom('anna');
    await page.goBack();
    await page.locator('.result', { hasText: TEXTS.anna }).waitFor();
    expect(await userInput().inputValue()).toBe('anna');
    await expectNoneFrom('ben');

    const other = await stage.visit(new URL(page.url()).pathname + new URL(page.url()).hash);
    await other.page.locator('.result', { hasText: TEXTS.anna }).waitFor();
    expect(await other.page.locator('.result', { hasText: TEXTS.ben }).count()).toBe(0);
    await other.close();
  });

  it('shows the memories of all users, each with its user, when none is chosen', async () => {
    await goTo('recall?query=quince+jelly&tag=jelly');
    expect(await userInput().getAttribute('placeholder')).toBe('All users');
    expect(await userInput().inputValue()).toBe('');
    await page.locator('.result', { hasText: TEXTS.anna }).getByRole('link', { name: 'user anna' }).waitFor();
    const sameText = page.locator('.result', { hasText: SAME_TEXT });
    await sameText.getByRole('link', { name: 'user anna' }).waitFor();
    await sameText.getByRole('link', { name: 'user ben' }).waitFor();
    await sameText.getByRole('link', { name: 'agent cook' }).waitFor();
    await page.locator('.result', { hasText: TEXTS.ben }).getByRole('link', { name: 'user ben' }).click();
    await rows().filter({ hasText: TEXTS.ben }).waitFor();
    await expectNoneFrom('anna');
    await button('Show all').click();
    await rows().filter({ hasText: TEXTS.anna }).waitFor();
    await rows().filter({ hasText: TEXTS.ben }).waitFor();
  });

  it('lists one session id of two users as two sessions', async () => {
    await goTo('explore?by=session&tag=jelly');
    await sessionRow('anna').waitFor();
    expect(await rows().count()).toBe(2);
    await sessionRow('ben').getByRole('link', { name: SESSION }).click();
    await page.locator('.turn', { hasText: TEXTS.ben }).waitFor();
    expect(page.url()).toContain('user_id=ben');
    expect(await page.locator('.turn').count()).toBe(2);
    await expectNoneFrom('anna');
  });

  it('says that a memory of another user does not exist', async () => {
    await goTo(`memory?id=${ids.ben[1]}&user_id=anna`);
    await page.getByRole('alert').waitFor();
    expect(await page.getByText(TEXTS.ben).count()).toBe(0);
    expect(visit.troubles.filter((trouble) => !trouble.includes('404'))).toEqual([]);
  });

  it('changes and forgets a memory as the chosen user', async () => {
    const { id } = await stage.memory.store({ ...SAME, user_id: 'anna', content: 'The pot is blue' });
    const writes: string[] = [];
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url());
      if (/^\/(update|forget)\//.test(pathname)) writes.push(`${request.method()} ${search}`);
    });
    await goTo(`memory?id=${id}&user_id=anna`);
    await button('Edit').click();
    await page.getByLabel('Text').fill('The pot is green');
    await button('Save').click();
    await page.getByText('Saved.').waitFor();
    expect(await stage.memory.memory(id)).toMatchObject({ content: 'The pot is green', user_id: 'anna' });
    await button('Forget…').click();
    await button('Forget it').click();
    await page.getByText('Forgotten for good').waitFor();
    expect(writes).toEqual(['PUT ?user_id=anna', 'DELETE ?user_id=anna']);
  });

  it('shows shared memories beside those of a user when told to, and changes none of them there', async () => {
    const { id } = await stage.memory.store({ content: 'The office shelf is closed on Fridays', tags: ['jelly'] });
    await goTo('explore?tag=jelly');
    await userInput().fill('anna');
    await page.getByLabel('and shared').check();
    await button('Show').click();
    await expect.poll(() => rows().count()).toBe(3);
    await expectNoneFrom('ben');
    await page.locator(`a[title="${id}"]`).click();
    await page.getByText('This memory is shared.').waitFor();
    expect(await button('Edit').count()).toBe(0);
    await page.locator('main').getByRole('link', { name: 'Show all' }).click();
    await button('Edit').waitFor();
    await stage.memory.forget(id);
  });

  it('shows the memories of one agent', async () => {
    await goTo('explore?tag=jelly');
    await page.getByLabel('Agent', { exact: true }).fill('cook');
    await button('Show').click();
    await expect.poll(() => rows().allInnerTexts()).toEqual([expect.stringContaining(SAME_TEXT)]);
    expect(await page.locator('.row').getByRole('link', { name: 'user anna' }).count()).toBe(1);
  });

  it('suggests the users, takes any other, and says that it has no memories of that one', async () => {
    const suggested = () =>
      page.locator('#users option').evaluateAll((all) => all.map((one) => one.getAttribute('value')));
    await expect.poll(suggested).toEqual(['anna', 'ben']);
    await goTo('explore');
    await choose('nobody');
    await page.getByText('No memory of this user or agent').waitFor();
    await page.locator('main').getByRole('link', { name: 'show all' }).click();
    await rows().first().waitFor();
    expect(await userInput().inputValue()).toBe('');
  });

  it('refuses an address with a user that no service can have, and leads back', async () => {
    await goTo(`explore?user_id=${'x'.repeat(257)}`);
    await page.getByRole('alert').getByText('1 to 256 characters').waitFor();
    await button('Show all').click();
    await rows().first().waitFor();
    expect(visit.troubles).toEqual([]);
  });

  it('brings a reader to what is shown for the chosen user', async () => {
    await choose('anna');
    await page.locator('.figure').first().waitFor();
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('MAIN');
  });

  it('shows what would be distilled when all users are shown, and not within the scope of one', async () => {
    const { plan } = await stage.memory.consolidate({ dry_run: true });
    const distilled = plan?.distil.memories[0]?.content ?? 'nothing is distilled';
    const openPlan = async (query: string) => {
      await goTo(`sleep${query}`);
      await button('See what sleep would do now').click();
      await page.getByText(/^Distil/).click();
      await page.locator('.change-line', { hasText: 'a new semantic memory' }).first().waitFor();
    };
    await openPlan('');
    await page.locator('.change-line .memory-text').getByText(distilled, { exact: true }).waitFor();
    await openPlan('?user_id=anna');
    expect(await page.getByText(distilled, { exact: true }).count()).toBe(0);
  });

  it('says that consolidation is about all users, and shows no text of the others', async () => {
    await stage.memory.consolidate();
    for (const [user_id, content] of Object.entries(TEXTS)) await stage.memory.store({ user_id, content });
    await goTo('sleep?user_id=anna');
    await page.getByText('Runs are about all users and agents.').waitFor();
    await button('See what sleep would do now').click();
    await page.locator('.plan-part').first().waitFor();
    for (const opened of await page.locator('details > summary').all()) await opened.click();
    await page.locator('.change-line', { hasText: TEXTS.anna }).first().waitFor();
    await page.locator('.change-line', { hasText: 'of another user or agent' }).first().waitFor();
    expect(await page.getByText(TEXTS.ben).count()).toBe(0);
    await button('Sleep now').click();
    await page.getByText('of all users and agents').waitFor();
    await page.locator('.change-line', { hasText: TEXTS.anna }).first().waitFor();
    await page.locator('.change-line', { hasText: 'of another user or agent' }).first().waitFor();
    expect(await page.getByText(TEXTS.ben).count()).toBe(0);
    expect(visit.troubles.filter((trouble) => !trouble.includes('404'))).toEqual([]);
  });
});
