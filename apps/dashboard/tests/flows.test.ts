import type { MemoryError } from '@memoryd/client';
import { getScoreWord } from '@memoryd/contract/score-words';
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../packages/server/conformance/process.ts';
import { FIXTURE_SIZE } from '../fixtures/memories.ts';
import { hasBrowser, hold, openWithEvents, useStage, type Visit } from './browser.ts';

describe.runIf(hasBrowser())('dashboard', () => {
  const stage = useStage();
  let visit: Visit;
  let page: Page;

  beforeEach(async () => {
    visit = await stage.visit('/ui/');
    page = visit.page;
  });
  afterEach(async () => {
    expect(visit.problems).toEqual([]);
    await visit.close();
  });

  const goTo = (address: string) => page.goto(`${stage.url}/ui/#/${address}`);
  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const text = async (selector: string) => (await page.locator(selector).first().textContent()) ?? '';

  describe('overview', () => {
    const figure = (name: string) =>
      page
        .locator('.figure', { has: page.locator('dt', { hasText: name }) })
        .locator('.figure-value')
        .textContent();

    it('shows the memory counts, the status "Ready" and the time of the next consolidation', async () => {
      await page.waitForSelector('.figure');
      const { working_count, episodic_count, semantic_count } = await stage.memory.stats();
      const shown = [await figure('Working'), await figure('Episodic'), await figure('Semantic')].map(Number);
      expect(shown).toEqual([working_count, episodic_count, semantic_count]);
      await page.getByText('Ready', { exact: true }).waitFor();
      await page.getByText(/Next (in|within)/).waitFor();
    });

    it('shows new activity and updated counts without a reload', async () => {
      await openWithEvents(page, `${stage.url}/ui/`);
      await page.waitForSelector('.figure');
      const before = Number(await figure('Working'));
      const { id } = await stage.memory.store({ content: 'Tomasz found the spare key under the third pot' });
      await stage.memory.recall({ query: 'spare key' });
      await page.getByText(/Recalled \d+ memor/).waitFor();
      await page.locator(`.activity a[title="${id}"]`).first().waitFor();
      await eventually('the count', 20_000, async () => Number(await figure('Working')) === before + 1 || undefined);
      await page.getByText('+1 this visit').waitFor();
    });

    it('shows which agent program stored a memory, and which was given one', async () => {
      await openWithEvents(page, `${stage.url}/ui/`);
      const metadata = { project: 'github.com/ada/garden' };
      const memory = { content: 'The peas in the garden need a trellis', user_id: 'gardener', metadata };
      await stage.memory.store({ ...memory, source: 'codex', session_id: 'codex:ab12cd34-5678' });
      const filter = { 'metadata.project': metadata.project };
      await stage.memory.context({ user_id: 'gardener', session_id: 'cursor:ef56ab78-9012', filter });
      await page.getByText('Codex · garden · session ab12… stored 1 memory').waitFor();
      const given = page.locator('.activity li', { hasText: 'Cursor · garden · session ef56… was given 1 memory' });
      await given.getByRole('link', { name: 'User gardener' }).waitFor();
      expect(await given.getByRole('link', { name: 'Show session' }).getAttribute('href')).toContain('cursor');
    });

    it('shows the growth of the tiers as a chart and as a table', async () => {
      await page.getByRole('radio', { name: 'Year' }).check();
      const rows = page.locator('.growth tbody tr');
      await eventually('the year', 20_000, async () => (await rows.count()) === 12 || undefined);
      const counts = (await rows.last().locator('td').allInnerTexts()).map((count) => Number(count.replace(',', '')));
      const { working_count, episodic_count, semantic_count } = await stage.memory.stats();
      expect(counts.reduce((sum, count) => sum + count, 0)).toBe(working_count + episodic_count + semantic_count);
    });

    it('loads the growth of the tiers in one request', async () => {
      const isDrawn = () => page.locator('.growth rect').first().waitFor({ state: 'attached' });
      // The page has already loaded once; only requests of the reload count.
      await isDrawn();
      const lists: string[] = [];
      page.on('request', (request) => {
        if (new URL(request.url()).pathname === '/memories') lists.push(request.url());
      });
      await page.reload();
      await isDrawn();
      expect(lists).toHaveLength(1);
    });

    it('draws the latency and rate charts after recalls', { timeout: 60_000 }, async () => {
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

  describe('recall', () => {
    beforeEach(async () => {
      await goTo('recall');
      await page.getByRole('searchbox').waitFor();
    });

    it('shows results while the user types, marks the matching words and explains the scores', async () => {
      await page.getByRole('searchbox').pressSequentially('allergic peanuts');
      const result = page.locator('.result', { hasText: 'She is allergic to peanuts' }).first();
      // Results of the unfinished query appear first.
      await expect.poll(() => result.locator('mark').allInnerTexts()).toEqual(['allergic', 'peanuts']);
      expect(await result.locator('.bar i').count()).toBeGreaterThan(1);
      const whole = await stage.memory.recall({ query: 'allergic peanuts', top_k: 10, explain: true });
      const words = whole.results[0]?.explanation?.evidence.words ?? 0;
      expect(await text('.why summary')).toContain(`Words +${words.toFixed(2)}`);
      expect(await page.getByRole('status').allInnerTexts()).toContain('10 results');
    });

    it('shows the time, session, user and id of a result, and opens the memory when its text is clicked', async () => {
      const created_at = '2026-03-01T09:30:00.000Z';
      const { id } = await stage.memory.store({
        ...{ content: 'Noor collects zeppelin stamps', session_id: 'hobbies', user_id: 'noor', created_at },
      });
      await page.getByRole('searchbox').fill('who collects zeppelin stamps');
      const result = page.locator('.result', { hasText: 'zeppelin' });
      await result.getByText('1 Mar 2026, 09:30').waitFor();
      const meta = await result.locator('.meta > *').allInnerTexts();
      expect(meta).toEqual(['1 Mar 2026, 09:30', 'Session hobbies', 'User noor', `${id.slice(0, 6)}…${id.slice(-6)}`]);
      const [score = '', word] = ((await result.locator('.score').textContent()) ?? '')
        .replace('Score', '')
        .trim()
        .split(/\s+/);
      expect(word).toBe(getScoreWord(Number(score)));
      await result.locator('.memory-text').getByText('zeppelin').click();
      await page.locator('.memory', { hasText: 'Noor collects zeppelin stamps' }).waitFor();
      await page.locator('.title code', { hasText: id }).waitFor();
      await button('Copy memory id').click();
      await page.getByText(/Copied|Text selected/).waitFor();
      await stage.memory.forget(id);
    });

    it('shows a calculation that results in the displayed score', async () => {
      await page.getByRole('searchbox').fill('night train to Lisbon');
      await page.locator('.why summary').first().click();
      const [slope = 0, even = 0] = (await text('.sum sup')).match(/[\d.]+/g)?.map(Number) ?? [];
      const contributions = await page.locator('.sum').first().locator('tbody td:last-child').allInnerTexts();
      const sum = contributions.reduce((total, one) => total + Number(one.replace('−', '-')), 0);
      expect(1 / (1 + Math.exp(slope * (even - sum)))).toBeCloseTo(Number(/[\d.]+/.exec(await text('.score'))?.[0]), 1);
    });

    it('aborts the previous request when the query changes', async () => {
      const release = await hold(page, /recall\?query=blackcurrant&/);
      const aborted = page.waitForEvent('requestfailed');
      const requested = page.waitForRequest(/recall\?query=blackcurrant&/);
      await page.getByRole('searchbox').fill('blackcurrant');
      await requested;
      await page.getByRole('searchbox').fill('piano');
      expect((await aborted).url()).toContain('query=blackcurrant');
      await page.locator('.result', { hasText: 'piano' }).first().waitFor();
      release();
    });

    it('filters results, keeps the filters after a reload, and removes filters on request', async () => {
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

    it('shows the request as a curl command and TypeScript code that return the same results', async () => {
      await stage.untilEmbedded();
      await page.getByRole('searchbox').fill('Ada’s "peanuts" & more');
      await page.locator('.result').first().waitFor();
      await page.getByText('This request as code').click();
      const [curl = '', client = ''] = await page.locator('.sample pre').allInnerTexts();
      const response = await fetch(/curl -s '([^']+)'/.exec(curl)?.[1] ?? '');
      const { results } = (await response.json()) as { results: { content: string }[] };
      expect(await page.locator('.result .memory-text').allInnerTexts()).toEqual(results.map(({ content }) => content));
      const [, request = ''] = /recall\(([\s\S]*)\);\nconsole/.exec(client) ?? [];
      expect(JSON.parse(request)).toEqual({ query: 'Ada’s "peanuts" & more', top_k: 10, explain: true });
      expect(client).toContain(`const url = "${stage.url}";`);
    });

    it('hides weak results when “Hide weak results” is checked', async () => {
      await page.getByRole('searchbox').fill('Who tuned the harpsichord of the duke?');
      await page.locator('.result').first().waitFor();
      await page.getByLabel('Hide weak results').check();
      await page.getByText('All results are weak.').waitFor();
      await page.reload();
      await page.getByText('All results are weak.').waitFor();
      await page.getByLabel('Hide weak results').uncheck();
      await page.locator('.result').first().waitFor();
    });

    it('shows a message if there are no results', async () => {
      await goTo('recall?query=anything&source=nobody');
      await page.getByText('No results', { exact: true }).waitFor();
    });
  });

  describe('explore', () => {
    it('lists all memories, renders only visible rows and loads more while scrolling', async () => {
      await goTo('explore');
      await page.locator('.row').first().waitFor();
      const { total } = await stage.memory.memories({ limit: 1 });
      expect(total).toBeGreaterThanOrEqual(FIXTURE_SIZE);
      expect(await page.locator('.list > li').first().getAttribute('aria-setsize')).toBe(String(total));
      expect(await page.locator('.list > li').count()).toBeLessThan(40);
      await eventually('the last memory', 20_000, async () => {
        await page.keyboard.press('End');
        const position = await page.locator('.list > li').last().getAttribute('aria-posinset');
        return position === String(total) || undefined;
      });
      expect(await page.locator('.list > li').count()).toBeLessThan(40);
    });

    it('restores the scroll position after a reload, and after Back even if the list has new memories', {
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
      // Rows above move the row when they are rendered and measured.
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
      // A link opens the list at its top.
      await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Overview' }).click();
      await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Explore' }).click();
      await page.locator('.list > li[aria-posinset="1"]').waitFor();
      expect(await page.evaluate(() => scrollY)).toBe(0);
    });

    it('filters by tag, source, tier and time, and shows a session as a transcript', async () => {
      await goTo('explore?tag=release&source=chat&tier=working');
      await page.getByText('8 memories, newest first').waitFor();
      await goTo(`explore?tag=release&until=${new Date(0).toISOString()}`);
      await page.getByText('No memories match these filters').waitFor();
      await goTo('explore?since=once+upon+a+time');
      await page.getByRole('alert').getByText('since must be').waitFor();
      await button('Remove filter Since once upon a time').click();
      await page.locator('.row').first().waitFor();
      // The browser logs responses with status 400.
      visit.allow(/400/);
      await goTo('explore?by=session');
      await page.getByRole('link', { name: 'atelier-vélo' }).click();
      await page.locator('.turn').first().waitFor();
      const turns = await page.locator('.turn .memory-text').allInnerTexts();
      expect(turns).toHaveLength(4);
      expect(turns[0]).toContain('Le frein arrière');
      expect(await page.locator('.turn-head').allInnerTexts()).toEqual(
        ['User', 'Assistant', 'User', 'Assistant'].map((role) => expect.stringContaining(role)),
      );
    });
  });

  it('shows stored HTML as text', async () => {
    const markup = '<img src=x onerror="document.title=\'run\'"><script>document.title="run"</script><b>bold</b>';
    const { id } = await stage.memory.store({ content: markup, tags: [markup.slice(0, 60)], session_id: markup });
    for (const address of [`memory?id=${id}`, 'explore', `session?${new URLSearchParams({ id: markup })}`]) {
      await goTo(address);
      await page.locator('.memory-text', { hasText: markup }).first().waitFor();
    }
    await goTo(`recall?${new URLSearchParams({ query: 'bold script img' })}`);
    await page.locator('.result mark', { hasText: 'bold' }).first().waitFor();
    expect(await page.locator('.memory-text :is(img, script, b)').count()).toBe(0);
    expect(await page.title()).toBe('Recall · memoryd');
    await stage.memory.forget(id);
  });

  describe('memory', () => {
    it('edits a memory and shows its history', async () => {
      const { id } = await stage.memory.store({ content: 'The spare key hangs in the shed' });
      await goTo(`memory?id=${id}`);
      await button('Edit').click();
      await page.getByLabel('Content').fill('The spare key hangs in the cellar');
      await page.getByLabel(/Tags/).fill('house, keys');
      await button('Save').click();
      await page.getByText('Changes saved.').waitFor();
      expect(await stage.memory.memory(id)).toMatchObject({
        content: 'The spare key hangs in the cellar',
        tags: ['house', 'keys'],
      });
      await page.locator('.history del', { hasText: 'shed' }).waitFor();
      await page.locator('.history ins', { hasText: 'cellar' }).waitFor();
    });

    it('shows a concurrent change, keeps the draft, and saves the draft on request', async () => {
      const { id } = await stage.memory.store({ content: 'Dinner is at seven' });
      await goTo(`memory?id=${id}`);
      await button('Edit').click();
      await page.getByLabel('Content').fill('Dinner is at nine');
      await stage.memory.update(id, { content: 'Dinner is at eight' });
      await button('Save').click();
      await page.getByText('Someone else changed this memory.').waitFor();
      expect((await stage.memory.memory(id)).content).toBe('Dinner is at eight');
      await page.locator('.notice ins', { hasText: 'nine' }).waitFor();
      await button('Keep my changes').click();
      expect(await page.getByLabel('Content').inputValue()).toBe('Dinner is at nine');
      await button('Save').click();
      await page.getByText('Changes saved.').waitFor();
      expect((await stage.memory.memory(id)).content).toBe('Dinner is at nine');
      // The browser logs responses with status 412.
      visit.allow(/412/);
    });

    it('shows concurrent changes to all fields, and saves only the edited field', async () => {
      const { id } = await stage.memory.store({ content: 'Dinner is at seven', tags: ['a', 'x, y'] });
      await goTo(`memory?id=${id}`);
      await button('Edit').click();
      await page.getByLabel('Content').fill('Dinner is at nine');
      await stage.memory.update(id, { tags: ['x, y', 'theirs'], importance: 0.9 });
      await button('Save').click();
      await page.getByText('Someone else changed this memory.').waitFor();
      expect(await page.locator('.notice del').allInnerTexts()).toEqual(['a, "x, y"', '0.5', 'seven']);
      expect(await page.locator('.notice ins').allInnerTexts()).toEqual(['"x, y", theirs', '0.9', 'nine']);
      await button('Keep my changes').click();
      await button('Save').click();
      await page.getByText('Changes saved.').waitFor();
      expect(await stage.memory.memory(id)).toMatchObject({
        content: 'Dinner is at nine',
        tags: ['x, y', 'theirs'],
        importance: 0.9,
      });
      visit.allow(/412/);
    });

    it('keeps the line ends of a text, and does not send an unchanged text', async () => {
      const { id } = await stage.memory.store({ content: 'one\r\ntwo\r\nthree' });
      await goTo(`memory?id=${id}`);
      await button('Edit').click();
      await page.getByLabel('Content').press('End');
      await page.keyboard.type('x');
      await page.keyboard.press('Backspace');
      await page.getByLabel(/Importance/).fill('0.9');
      await button('Save').click();
      await page.getByText('Changes saved.').waitFor();
      expect(await stage.memory.memory(id)).toMatchObject({ content: 'one\r\ntwo\r\nthree', importance: 0.9 });
      expect((await stage.memory.history(id)).total).toBe(1);
      await button('Edit').click();
      await page.getByLabel('Content').fill('one\nor two\nthree');
      await button('Save').click();
      await page.locator('.history ins').waitFor();
      expect((await stage.memory.memory(id)).content).toBe('one\r\nor two\r\nthree');
    });

    it('closes the notice and the form of a memory when another memory is opened', async () => {
      const [one, other] = await Promise.all(
        ['The red boat leaks', 'The green boat is sound'].map((content) => stage.memory.store({ content })),
      );
      await goTo(`memory?id=${one?.id}`);
      await button('Edit').click();
      await page.getByLabel('Content').fill('The red boat is mended');
      await button('Save').click();
      await page.getByText('Changes saved.').waitFor();
      await button('Edit').click();
      await goTo(`memory?id=${other?.id}`);
      await page.locator('.memory .memory-text', { hasText: 'The green boat is sound' }).waitFor();
      expect(await page.getByText('Changes saved.').count()).toBe(0);
    });

    it('shows the change instead of forgetting a memory that changed after it was loaded', async () => {
      const { id } = await stage.memory.store({ content: 'The gate sticks' });
      await goTo(`memory?id=${id}`);
      await button('Forget…').click();
      await stage.memory.update(id, { content: 'The gate sticks, and the key is lost' });
      await button('Forget memory').click();
      await page.getByRole('alert').waitFor();
      await button('Cancel').click();
      await page.locator('.memory .memory-text', { hasText: 'the key is lost' }).waitFor();
      await button('Forget…').click();
      await button('Forget memory').click();
      await page.getByText('Memory forgotten').waitFor();
      visit.allow(/404|412/);
    });

    it('forgets a memory only after confirmation', async () => {
      const { id } = await stage.memory.store({ content: 'A note to be rid of' });
      await goTo(`memory?id=${id}`);
      await button('Forget…').click();
      await page.keyboard.press('Escape');
      expect((await stage.memory.memory(id)).id).toBe(id);
      await button('Forget…').click();
      await button('Forget memory').click();
      await page.getByText('Memory forgotten').waitFor();
      const gone = await stage.memory.memory(id).catch((error: MemoryError) => error);
      expect(gone).toMatchObject({ code: 'NOT_FOUND' });
      visit.allow(/404/);
    });
  });

  describe('consolidation', () => {
    it('previews, starts and undoes a consolidation run, and lists its changes', async () => {
      // Consolidates the fixture, so that only the duplicates are left.
      await stage.memory.consolidate();
      const duplicates = await stage.memory.storeBatch(
        [1, 2].map(() => ({ content: 'The piano is tuned in spring', session_id: 'mudanza' })),
      );
      expect(duplicates.stored_count).toBe(2);
      const before = await stage.memory.stats();
      await goTo('consolidation');
      await button('Preview consolidation').click();
      await page.getByText(/^Merge \d/).click();
      await page.locator('.change-line', { hasText: 'The piano is tuned in spring' }).first().waitFor();
      expect(await stage.memory.stats()).toMatchObject({ working_count: before.working_count });
      await button('Run consolidation now').click();
      await button(/^Merged \d+$/).click();
      const duplicate = page.locator('.change-removed', { hasText: 'The piano is tuned in spring' });
      await eventually('the duplicate', 20_000, async () => {
        await page.keyboard.press('End');
        return (await duplicate.count()) > 0 || undefined;
      });
      expect(await stage.memory.stats()).toMatchObject({ working_count: 0 });
      await button('Undo…').click();
      await button('Undo run').click();
      await page.getByText('This run was undone').waitFor();
      expect((await stage.memory.stats()).working_count).toBe(before.working_count);
      await goTo('consolidation');
      await page.locator('.row', { hasText: 'Undone' }).first().waitFor();
    });

    it('lists the later runs before it undoes an older run together with them', async () => {
      await stage.memory.consolidate();
      const ids: string[] = [];
      for (const content of ['The cello is in the attic', 'The oboe is in the cellar', 'The drum is in the garage']) {
        await stage.memory.store({ content });
        ids.push((await stage.memory.consolidate()).id ?? '');
      }
      const [first = '', , newest = ''] = ids;
      const dialog = page.getByRole('dialog');
      const text = async (id: string) => {
        await goTo(`run?id=${id}`);
        await button('Undo…').click();
        await dialog.getByRole('button', { name: /^Undo (run|3 runs)$/, disabled: false }).waitFor();
        return (await dialog.textContent()) ?? '';
      };
      expect(await text(newest)).not.toContain('later');
      await page.keyboard.press('Escape');
      expect(await text(first)).toContain('This also undoes the 2 later runs, newest first:');
      expect(await dialog.getByRole('listitem').count()).toBe(2);
      await button('Undo 3 runs').click();
      await page.getByText('This run was undone').waitFor();
      for (const id of ids) expect((await stage.memory.consolidation({ id })).status).toBe('undone');
      expect((await stage.memory.stats()).working_count).toBe(3);
    });
  });

  it('lists suggested corrections with both texts, accepts one, and undoes the acceptance', async () => {
    const user_id = 'corrections';
    const earlier = await stage.memory.store({ content: 'The weekly fair of Otterby is on Monday.', user_id });
    await stage.memory.store({ content: 'The weekly fair of Otterby has moved to Friday.', user_id });
    await stage.untilEmbedded();
    await stage.memory.consolidate();
    await goTo(`consolidation?user_id=${user_id}`);
    const pair = page.getByRole('listitem').filter({ hasText: 'The weekly fair of Otterby is on Monday.' });
    await pair.getByText('The weekly fair of Otterby has moved to Friday.').waitFor();
    const isSuperseded = async () => (await stage.memory.memory(earlier.id)).superseded_by !== null;
    expect(await isSuperseded()).toBe(false);
    await pair.getByRole('button', { name: 'Accept' }).click();
    await pair.getByText('Accepted').waitFor();
    expect(await isSuperseded()).toBe(true);
    await pair.getByRole('button', { name: 'Undo' }).click();
    await pair.getByText('Declined').waitFor();
    expect(await isSuperseded()).toBe(false);
  });

  it('keeps the chosen theme after a reload', async () => {
    const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    await page.getByRole('radio', { name: 'Light' }).check();
    const light = await ground();
    await page.getByRole('radio', { name: 'Dark' }).check();
    expect(await ground()).not.toBe(light);
    await page.reload();
    expect(await page.getByRole('radio', { name: 'Dark' }).isChecked()).toBe(true);
  });

  it('the dashboard can be used with the keyboard only', async () => {
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

  it('hides the results of an earlier query when a query fails', async () => {
    await goTo('recall?query=piano');
    await page.locator('.result').first().waitFor();
    await page.getByRole('searchbox').fill('x'.repeat(8193));
    await page.getByRole('alert').waitFor();
    expect(await page.locator('.result').count()).toBe(0);
    await page.getByRole('searchbox').fill('piano');
    await page.locator('.result').first().waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.route('**/recall?*', (route) => route.abort());
    await page.getByRole('combobox', { name: /^Results/ }).selectOption('5');
    await page.getByRole('alert').waitFor({ timeout: 20_000 });
    expect(await page.locator('.result').count()).toBe(0);
    visit.allow(/400|ERR_FAILED/);
  });

  it('returns the focus when a form or dialog closes, and moves the focus to a memory opened by a link', async () => {
    const older = await stage.memory.store({ content: 'The lamp is in the hall' });
    const newer = await stage.memory.store({ content: 'The lamp is in the porch', supersedes: older.id });
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '');
    const press = async (name: string) => {
      await button(name).focus();
      await page.keyboard.press('Enter');
    };
    await goTo(`memory?id=${newer.id}`);
    for (const leave of [() => page.keyboard.press('Escape'), () => press('Cancel')]) {
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
      await page.getByLabel('Content').waitFor({ state: 'detached' });
      expect(await focused()).toBe('Edit');
    }
    expect((await stage.memory.memory(newer.id)).content).toBe('The lamp is in the porch!');
    await page.locator('.details a.id').first().focus();
    await page.keyboard.press('Enter');
    await page.locator('.memory .memory-text', { hasText: 'in the hall' }).waitFor();
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('MAIN');
  });

  it('shows an error for a failed request, and retries on request', async () => {
    await page.route('**/memories?*', (route) => route.abort());
    await goTo('explore');
    await page.getByRole('alert').waitFor({ timeout: 20_000 });
    await page.unroute('**/memories?*');
    await button('Try again').click();
    await page.locator('.row').first().waitFor();
    visit.allow(/ERR_FAILED/);
  });

  it('shows an error in a view that throws, while the other views keep working', async () => {
    await page.route('**/memories?*', (route) => route.fulfill({ json: { memories: [{ id: 'odd' }], total: 1 } }));
    await goTo('explore');
    await page.getByRole('heading', { name: 'This view could not be shown' }).waitFor();
    await page.getByRole('link', { name: 'Recall', exact: true }).click();
    await page.getByRole('searchbox').waitFor();
    expect(visit.problems.length).toBeGreaterThan(0);
    visit.allow(/^/);
  });

  describe('documentation page', () => {
    it.each(['/docs/', '/redoc'])('%s loads without errors and without resources from other hosts', async (path) => {
      const other = await stage.visit(path);
      await other.page.getByText('/store/batch').first().waitFor({ state: 'attached', timeout: 30_000 });
      await other.page.waitForLoadState('networkidle');
      expect(other.problems).toEqual([]);
      await other.close();
    });
  });
});
