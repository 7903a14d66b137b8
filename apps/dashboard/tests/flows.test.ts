import type { MemoryError } from '@memoryd/client';
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../packages/server/conformance/process.ts';
import { FIXTURE_SIZE } from '../fixtures/memories.ts';
import { hasBrowser, hold, useStage, type Visit } from './browser.ts';

describe.runIf(hasBrowser())('the dashboard', () => {
  const stage = useStage();
  let visit: Visit;
  let page: Page;

  beforeEach(async () => {
    visit = await stage.visit('/ui/');
    page = visit.page;
  });
  afterEach(async () => {
    expect(visit.troubles).toEqual([]);
    await visit.close();
  });

  const goTo = (place: string) => page.goto(`${stage.url}/ui/#/${place}`);
  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const text = async (selector: string) => (await page.locator(selector).first().textContent()) ?? '';

  describe('on its overview', () => {
    const figure = (name: string) =>
      page
        .locator('.figure', { has: page.locator('dt', { hasText: name }) })
        .locator('.figure-value')
        .textContent();

    it('tells what there is, and when sleep comes next', async () => {
      await page.waitForSelector('.figure');
      const { working_count, episodic_count, semantic_count } = await stage.memory.stats();
      const shown = [await figure('working'), await figure('episodic'), await figure('semantic')].map(Number);
      expect(shown).toEqual([working_count, episodic_count, semantic_count]);
      await page.getByText('ready', { exact: true }).waitFor();
      await page.getByText(/next (in|within)/).waitFor();
    });

    it('shows what happens while it is open, without being asked to', async () => {
      await page.waitForSelector('.figure');
      const before = Number(await figure('working'));
      const { id } = await stage.memory.store({ content: 'Tomasz found the spare key under the third pot' });
      await stage.memory.recall({ query: 'spare key' });
      await page.getByText(/recalled \d+ memor/).waitFor();
      await page.locator(`.happening a[title="${id}"]`).first().waitFor();
      await eventually('the count', 20_000, async () => Number(await figure('working')) === before + 1 || undefined);
      await page.getByText('+1 since you came').waitFor();
    });

    it('draws how the tiers grew, and tells it as a table too', async () => {
      await page.getByRole('radio', { name: 'year' }).check();
      const rows = page.locator('.growth tbody tr');
      await eventually('the year', 20_000, async () => (await rows.count()) === 12 || undefined);
      const counts = (await rows.last().locator('td').allInnerTexts()).map((count) => Number(count.replace(',', '')));
      const { working_count, episodic_count, semantic_count } = await stage.memory.stats();
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(working_count + episodic_count + semantic_count);
    });

    it('loads the growth of the tiers in one request', async () => {
      const isDrawn = () => page.locator('.growth rect').first().waitFor({ state: 'attached' });
      // The first load asks as well, and must not be counted with the second.
      await isDrawn();
      const lists: string[] = [];
      page.on('request', (request) => {
        if (new URL(request.url()).pathname === '/memories') lists.push(request.url());
      });
      await page.reload();
      await isDrawn();
      expect(lists).toHaveLength(1);
    });

    it('draws latency and rate once recalls were made', { timeout: 60_000 }, async () => {
      await stage.memory.recall({ query: 'tomatoes' });
      await page
        .locator('.chart', { hasText: 'Latency' })
        .locator('path')
        .first()
        .waitFor({ state: 'attached', timeout: 30_000 });
      expect(await text('.chart:has-text("Latency")')).toMatch(/p50 [\d.]+ msp99 [\d.]+ ms/);
      await page
        .locator('.chart', { hasText: 'Rate' })
        .locator('path')
        .first()
        .waitFor({ state: 'attached', timeout: 30_000 });
    });
  });

  describe('recalling', () => {
    beforeEach(async () => {
      await goTo('recall');
      await page.getByRole('searchbox').waitFor();
    });

    it('shows results as one types, with matched words marked and what speaks for each', async () => {
      await page.getByRole('searchbox').pressSequentially('allergic peanuts');
      const result = page.locator('.result', { hasText: 'She is allergic to peanuts' }).first();
      // What was found while the words were being typed is shown first.
      await expect.poll(() => result.locator('mark').allInnerTexts()).toEqual(['allergic', 'peanuts']);
      expect(await result.locator('.bar i').count()).toBeGreaterThan(1);
      const whole = await stage.memory.recall({ query: 'allergic peanuts', top_k: 10, explain: true });
      const words = whole.results[0]?.explanation?.evidence.words ?? 0;
      expect(await text('.why summary')).toContain(`words +${words.toFixed(2)}`);
      expect(await page.getByRole('status').allInnerTexts()).toContain('10 results');
    });

    it('adds up each score to what the service said', async () => {
      await page.getByRole('searchbox').fill('night train to Lisbon');
      await page.locator('.why summary').first().click();
      const [slope = 0, even = 0] = (await text('.sum sup')).match(/[\d.]+/g)?.map(Number) ?? [];
      const adds = await page.locator('.sum').first().locator('tbody td:last-child').allInnerTexts();
      const sum = adds.reduce((total, one) => total + Number(one.replace('−', '-')), 0);
      expect(1 / (1 + Math.exp(slope * (even - sum)))).toBeCloseTo(Number((await text('.score')).slice(-4)), 1);
    });

    it('gives up what was asked before for what is asked now', async () => {
      const letGo = await hold(page, /recall\?query=blackcurrant&/);
      const aborted = page.waitForEvent('requestfailed');
      const asked = page.waitForRequest(/recall\?query=blackcurrant&/);
      await page.getByRole('searchbox').fill('blackcurrant');
      await asked;
      await page.getByRole('searchbox').fill('piano');
      expect((await aborted).url()).toContain('query=blackcurrant');
      await page.locator('.result', { hasText: 'piano' }).first().waitFor();
      letGo();
    });

    it('narrows by filters, as chips that can be taken away', async () => {
      await page.getByRole('searchbox').fill('what did we say');
      await page.getByLabel('Filter by').selectOption('tag');
      await page.getByLabel('Tag', { exact: true }).fill('travel');
      await button('Add filter').click();
      await page.getByLabel('Filter by').selectOption('tier');
      await page.getByLabel('Tier', { exact: true }).selectOption('working');
      await button('Add filter').click();
      await page.locator('.result').first().waitFor();
      await eventually('travel alone', 20_000, async () => {
        const tags = await page.locator('.result .tags').allInnerTexts();
        return tags.every((one) => one.includes('travel')) || undefined;
      });
      await page.reload();
      expect(await page.locator('.chip').allInnerTexts()).toHaveLength(2);
      await button(/Remove filter Tier/).click();
      await button(/Remove filter Tag travel/).click();
      expect(await page.locator('.chip').count()).toBe(0);
    });

    it('gives the request as curl and as code that answer the same', async () => {
      await page.getByRole('searchbox').fill('Ada’s "peanuts" & more');
      await page.locator('.result').first().waitFor();
      await page.getByText('This request as code').click();
      const [curl = '', client = ''] = await page.locator('.sample pre').allInnerTexts();
      const answer = await fetch(/curl -s '([^']+)'/.exec(curl)?.[1] ?? '');
      const { results } = (await answer.json()) as { results: { content: string }[] };
      expect(await page.locator('.result .memory-text').allInnerTexts()).toEqual(results.map(({ content }) => content));
      const [, request = ''] = /recall\(([\s\S]*)\);\nfor/.exec(client) ?? [];
      expect(JSON.parse(request)).toEqual({ query: 'Ada’s "peanuts" & more', top_k: 10, explain: true });
      expect(client).toContain(`url: "${stage.url}"`);
    });

    it('hides results that are unlikely to answer when “Only likely answers” is checked', async () => {
      await page.getByRole('searchbox').fill('Who tuned the harpsichord of the duke?');
      await page.locator('.result').first().waitFor();
      await page.getByLabel('Only likely answers').check();
      await page.getByText('No memory is likely to answer this.').waitFor();
      await page.reload();
      await page.getByText('No memory is likely to answer this.').waitFor();
      await page.getByLabel('Only likely answers').uncheck();
      await page.locator('.result').first().waitFor();
    });

    it('says so where nothing is found', async () => {
      await goTo('recall?query=anything&source=nobody');
      await page.getByText('Nothing comes to mind').waitFor();
    });
  });

  describe('exploring', () => {
    it('lists every memory with only what is in sight in the page, and more as one scrolls', async () => {
      await goTo('explore');
      await page.locator('.row').first().waitFor();
      const { total } = await stage.memory.memories({ limit: 1 });
      expect(total).toBeGreaterThanOrEqual(FIXTURE_SIZE);
      expect(await page.locator('.list > li').first().getAttribute('aria-setsize')).toBe(String(total));
      expect(await page.locator('.list > li').count()).toBeLessThan(40);
      await eventually('the last memory', 20_000, async () => {
        await page.keyboard.press('End');
        const places = await page.locator('.list > li').last().getAttribute('aria-posinset');
        return places === String(total) || undefined;
      });
      expect(await page.locator('.list > li').count()).toBeLessThan(40);
    });

    it('is where it was after Back, though memories came meanwhile, and after a reload', {
      timeout: 180_000,
    }, async () => {
      await goTo('explore');
      await page.locator('.row').first().waitFor();
      const { memories } = await stage.memory.memories({ limit: 320 });
      const id = memories[319]?.id ?? '';
      const sameRow = page.locator('.list > li', { has: page.locator(`.meta a[title="${id}"]`) });
      const top = () => sameRow.evaluate((element) => Math.round(element.getBoundingClientRect().top));
      await eventually('the row of the second page', 20_000, async () => {
        await page.evaluate(() => scrollBy(0, 1000));
        return (await sameRow.count()) > 0 || undefined;
      });
      // Rows above are measured as they are shown, which moves the row.
      const scrollToRow = async () => {
        await sameRow.evaluate((element) => scrollBy(0, element.getBoundingClientRect().top - 150));
        return top();
      };
      await expect.poll(scrollToRow).toBe(150);
      await sameRow.locator(`a[title="${id}"]`).click();
      await page.locator('.memory').first().waitFor();
      await stage.memory.store({ content: 'Ingrid saw a heron while nobody looked at the list' });
      await page.goBack();
      await expect.poll(top).toBe(150);
      expect(await sameRow.getAttribute('aria-posinset')).toBe('321');
      await page.reload();
      await expect.poll(top).toBe(150);
      // A link to the same list begins at its top.
      await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Overview' }).click();
      await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Explore' }).click();
      await page.locator('.list > li[aria-posinset="1"]').waitFor();
      expect(await page.evaluate(() => scrollY)).toBe(0);
    });

    it('narrows by tag, source, tier and time, and shows a session as it went', async () => {
      await goTo('explore?tag=release&source=chat&tier=working');
      await page.getByText('8 memories, newest first').waitFor();
      await goTo(`explore?tag=release&until=${new Date(0).toISOString()}`);
      await page.getByText('Nothing passes these filters').waitFor();
      await goTo('explore?since=once+upon+a+time');
      await page.getByRole('alert').getByText('since must be').waitFor();
      await button('Remove filter Since once upon a time').click();
      await page.locator('.row').first().waitFor();
      // The browser itself writes an answer of 400 to the console.
      visit.troubles = visit.troubles.filter((trouble) => !trouble.includes('400'));
      await goTo('explore?by=session');
      await page.getByRole('link', { name: 'atelier-vélo' }).click();
      await page.locator('.turn').first().waitFor();
      const turns = await page.locator('.turn .memory-text').allInnerTexts();
      expect(turns).toHaveLength(4);
      expect(turns[0]).toContain('Le frein arrière');
      expect(await page.locator('.turn-head').allInnerTexts()).toEqual(
        ['user', 'assistant', 'user', 'assistant'].map((role) => expect.stringContaining(role)),
      );
    });

    it('shows stored markup as the text that it is', async () => {
      const markup = '<img src=x onerror="document.title=\'run\'"><script>document.title="run"</script><b>bold</b>';
      const { id } = await stage.memory.store({ content: markup, tags: [markup.slice(0, 60)], session_id: markup });
      for (const place of [`memory?id=${id}`, 'explore', `session?${new URLSearchParams({ id: markup })}`]) {
        await goTo(place);
        await page.locator('.memory-text', { hasText: markup }).first().waitFor();
      }
      await goTo(`recall?${new URLSearchParams({ query: 'bold script img' })}`);
      await page.locator('.result mark', { hasText: 'bold' }).first().waitFor();
      expect(await page.locator('.memory-text :is(img, script, b)').count()).toBe(0);
      expect(await page.title()).toBe('Recall · memoryd');
      await stage.memory.forget(id);
    });

    it('changes a memory, and shows what it was before', async () => {
      const { id } = await stage.memory.store({ content: 'The spare key hangs in the shed' });
      await goTo(`memory?id=${id}`);
      await button('Edit').click();
      await page.getByLabel('Text').fill('The spare key hangs in the cellar');
      await page.getByLabel(/Tags/).fill('house, keys');
      await button('Save').click();
      await page.getByText('Saved.').waitFor();
      expect(await stage.memory.memory(id)).toMatchObject({
        content: 'The spare key hangs in the cellar',
        tags: ['house', 'keys'],
      });
      await page.locator('.history del', { hasText: 'shed' }).waitFor();
      await page.locator('.history ins', { hasText: 'cellar' }).waitFor();
    });

    it('shows a change that came in between, keeps what was written, and saves it when told to', async () => {
      const { id } = await stage.memory.store({ content: 'Dinner is at seven' });
      await goTo(`memory?id=${id}`);
      await button('Edit').click();
      await page.getByLabel('Text').fill('Dinner is at nine');
      await stage.memory.update(id, { content: 'Dinner is at eight' });
      await button('Save').click();
      await page.getByText('Somebody else was first.').waitFor();
      expect((await stage.memory.memory(id)).content).toBe('Dinner is at eight');
      await page.locator('.notice ins', { hasText: 'nine' }).waitFor();
      await button('Go on with mine').click();
      expect(await page.getByLabel('Text').inputValue()).toBe('Dinner is at nine');
      await button('Save').click();
      await page.getByText('Saved.').waitFor();
      expect((await stage.memory.memory(id)).content).toBe('Dinner is at nine');
      // The browser itself writes an answer of 412 to the console.
      visit.troubles = visit.troubles.filter((trouble) => !trouble.includes('412'));
    });

    it('shows whatever came in between, and changes only what was written here', async () => {
      const { id } = await stage.memory.store({ content: 'Dinner is at seven', tags: ['a', 'x, y'] });
      await goTo(`memory?id=${id}`);
      await button('Edit').click();
      await page.getByLabel('Text').fill('Dinner is at nine');
      await stage.memory.update(id, { tags: ['x, y', 'theirs'], importance: 0.9 });
      await button('Save').click();
      await page.getByText('Somebody else was first.').waitFor();
      expect(await page.locator('.notice del').allInnerTexts()).toEqual(['a, "x, y"', '0.5', 'seven']);
      expect(await page.locator('.notice ins').allInnerTexts()).toEqual(['"x, y", theirs', '0.9', 'nine']);
      await button('Go on with mine').click();
      await button('Save').click();
      await page.getByText('Saved.').waitFor();
      expect(await stage.memory.memory(id)).toMatchObject({
        content: 'Dinner is at nine',
        tags: ['x, y', 'theirs'],
        importance: 0.9,
      });
      visit.troubles = visit.troubles.filter((trouble) => !trouble.includes('412'));
    });

    it('leaves line ends as they are, and sends no text that was not changed', async () => {
      const { id } = await stage.memory.store({ content: 'one\r\ntwo\r\nthree' });
      await goTo(`memory?id=${id}`);
      await button('Edit').click();
      await page.getByLabel('Text').press('End');
      await page.keyboard.type('x');
      await page.keyboard.press('Backspace');
      await page.getByLabel(/Importance/).fill('0.9');
      await button('Save').click();
      await page.getByText('Saved.').waitFor();
      expect(await stage.memory.memory(id)).toMatchObject({ content: 'one\r\ntwo\r\nthree', importance: 0.9 });
      expect((await stage.memory.history(id)).total).toBe(1);
      await button('Edit').click();
      await page.getByLabel('Text').fill('one\nor two\nthree');
      await button('Save').click();
      await page.locator('.history ins').waitFor();
      expect((await stage.memory.memory(id)).content).toBe('one\r\nor two\r\nthree');
    });

    it('leaves with a memory what was said of it, and what was begun with it', async () => {
      const [one, other] = await Promise.all(
        ['The red boat leaks', 'The green boat is sound'].map((content) => stage.memory.store({ content })),
      );
      await goTo(`memory?id=${one?.id}`);
      await button('Edit').click();
      await page.getByLabel('Text').fill('The red boat is mended');
      await button('Save').click();
      await page.getByText('Saved.').waitFor();
      await button('Edit').click();
      await goTo(`memory?id=${other?.id}`);
      await page.locator('.memory .memory-text', { hasText: 'The green boat is sound' }).waitFor();
      expect(await page.getByText('Saved.').count()).toBe(0);
    });

    it('forgets nothing that changed since it was shown, and shows what it is now', async () => {
      const { id } = await stage.memory.store({ content: 'The gate sticks' });
      await goTo(`memory?id=${id}`);
      await button('Forget…').click();
      await stage.memory.update(id, { content: 'The gate sticks, and the key is lost' });
      await button('Forget it').click();
      await page.getByRole('alert').waitFor();
      await button('Keep it').click();
      await page.locator('.memory .memory-text', { hasText: 'the key is lost' }).waitFor();
      await button('Forget…').click();
      await button('Forget it').click();
      await page.getByText('Forgotten for good').waitFor();
      visit.troubles = visit.troubles.filter((trouble) => !/404|412/.test(trouble));
    });

    it('forgets only after it was asked whether it should', async () => {
      const { id } = await stage.memory.store({ content: 'A note to be rid of' });
      await goTo(`memory?id=${id}`);
      await button('Forget…').click();
      await page.keyboard.press('Escape');
      expect((await stage.memory.memory(id)).id).toBe(id);
      await button('Forget…').click();
      await button('Forget it').click();
      await page.getByText('Forgotten for good').waitFor();
      const gone = await stage.memory.memory(id).catch((error: MemoryError) => error);
      expect(gone).toMatchObject({ code: 'NOT_FOUND' });
      visit.troubles = visit.troubles.filter((trouble) => !trouble.includes('404'));
    });
  });

  describe('on sleep', () => {
    it('shows what a run would do before it is made, makes it, tells what it changed, and takes it back', async () => {
      // So that the plan and the run are about the duplicates alone, and not about five hundred memories.
      await stage.memory.consolidate();
      const duplicates = await stage.memory.storeBatch(
        [1, 2].map(() => ({ content: 'The piano is tuned in spring', session_id: 'mudanza' })),
      );
      expect(duplicates.stored_count).toBe(2);
      const before = await stage.memory.stats();
      await goTo('sleep');
      await button('See what sleep would do now').click();
      await page.getByText(/^Merge/).click();
      await page.locator('.change-line', { hasText: 'The piano is tuned in spring' }).first().waitFor();
      expect(await stage.memory.stats()).toMatchObject({ working_count: before.working_count });
      await button('Sleep now').click();
      await button(/^merged \d+$/).click();
      const duplicate = page.locator('.change-removed', { hasText: 'The piano is tuned in spring' });
      await eventually('the duplicate', 20_000, async () => {
        await page.keyboard.press('End');
        return (await duplicate.count()) > 0 || undefined;
      });
      expect(await stage.memory.stats()).toMatchObject({ working_count: 0 });
      await button('Take it back…').click();
      await button('Take it back').last().click();
      await page.getByText('This run was taken back').waitFor();
      expect((await stage.memory.stats()).working_count).toBe(before.working_count);
      await goTo('sleep');
      await page.locator('.row', { hasText: 'undone' }).first().waitFor();
    });
  });

  it('keeps the theme that was chosen', async () => {
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    await page.getByRole('radio', { name: 'light' }).check();
    const light = await ground();
    await page.getByRole('radio', { name: 'dark' }).check();
    expect(await ground()).not.toBe(light);
    await page.reload();
    expect(await page.getByRole('radio', { name: 'dark' }).isChecked()).toBe(true);
  });

  it('can be used by keyboard alone', async () => {
    await page.waitForSelector('.figure');
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('MAIN');
    await page.getByRole('link', { name: 'Recall', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('searchbox').waitFor();
    await page.getByRole('searchbox').focus();
    await page.keyboard.type('tram 28');
    await page.locator('.result').first().waitFor();
    const link = page.locator('.result a.id').first();
    await link.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Memory', exact: true }).waitFor();
  });

  it('shows no answer to an earlier question beside what went wrong with this one', async () => {
    await goTo('recall?query=piano');
    await page.locator('.result').first().waitFor();
    await page.getByRole('searchbox').fill('x'.repeat(8193));
    await page.getByRole('alert').waitFor();
    expect(await page.locator('.result').count()).toBe(0);
    await page.getByRole('searchbox').fill('piano');
    await page.locator('.result').first().waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.route('**/recall?*', (route) => route.abort());
    await page.getByLabel('up to').selectOption('5');
    await page.getByRole('alert').waitFor({ timeout: 20_000 });
    expect(await page.locator('.result').count()).toBe(0);
    visit.troubles = visit.troubles.filter((trouble) => !/400|ERR_FAILED/.test(trouble));
  });

  it('leaves the focus where it was when a form or a dialog is closed, and brings it to a memory that a link leads to', async () => {
    const older = await stage.memory.store({ content: 'The lamp is in the hall' });
    const newer = await stage.memory.store({ content: 'The lamp is in the porch', supersedes: older.id });
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '');
    const press = async (name: string) => {
      await button(name).focus();
      await page.keyboard.press('Enter');
    };
    await goTo(`memory?id=${newer.id}`);
    for (const leave of [() => page.keyboard.press('Escape'), () => press('Keep it')]) {
      await press('Forget…');
      await page.getByRole('dialog').waitFor();
      await leave();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      expect(await focused()).toBe('Forget…');
    }
    for (const leave of ['Cancel', 'Save']) {
      await press('Edit');
      await page.keyboard.press('ControlOrMeta+End');
      await page.keyboard.type('!');
      await press(leave);
      await page.getByLabel('Text').waitFor({ state: 'detached' });
      expect(await focused()).toBe('Edit');
    }
    expect((await stage.memory.memory(newer.id)).content).toBe('The lamp is in the porch!');
    await page.locator('.facts a.id').first().focus();
    await page.keyboard.press('Enter');
    await page.locator('.memory .memory-text', { hasText: 'in the hall' }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('MAIN');
  });

  it('says when the service is away, and goes on when it is asked to', async () => {
    await page.route('**/memories?*', (route) => route.abort());
    await goTo('explore');
    await page.getByRole('alert').waitFor({ timeout: 20_000 });
    await page.unroute('**/memories?*');
    await button('Try again').click();
    await page.locator('.row').first().waitFor();
    visit.troubles = visit.troubles.filter((trouble) => !trouble.includes('ERR_FAILED'));
  });

  it('says when a view has failed, and leaves the others as they are', async () => {
    await page.route('**/memories?*', (route) => route.fulfill({ json: { memories: [{ id: 'odd' }], total: 1 } }));
    await goTo('explore');
    await page.getByRole('heading', { name: 'This view has failed' }).waitFor();
    await page.getByRole('link', { name: 'Recall', exact: true }).click();
    await page.getByRole('searchbox').waitFor();
    expect(visit.troubles.length).toBeGreaterThan(0);
    visit.troubles = [];
  });

  it.each(['/docs/', '/redoc'])(
    'stands beside %s, which asks nobody else and reports no error either',
    async (path) => {
      const other = await stage.visit(path);
      await other.page.getByText('/store/batch').first().waitFor({ state: 'attached', timeout: 30_000 });
      await other.page.waitForLoadState('networkidle');
      expect(other.troubles).toEqual([]);
      await other.close();
    },
  );
});
