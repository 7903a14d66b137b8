import { getScoreWord } from '@memoryd/contract/score-words';
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../../../packages/server/conformance/process.ts';
import { fail, hasBrowser, hold, intercept, useStage, type Visit } from './browser.ts';

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
      expect(page.url()).toContain(`open=${id}`);
      await page.locator('.memory', { hasText: 'Noor collects zeppelin stamps' }).waitFor();
      await page.locator('.beside .details code', { hasText: id }).waitFor();
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
      const aborted = page.waitForEvent('requestfailed', (request) => request.url().includes('/recall'));
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
      await button('+ Filter').click();
      await page.getByLabel('Filter by').selectOption('tag');
      await page.getByLabel('Tag', { exact: true }).fill('travel');
      await button('Add filter').click();
      await button('+ Filter').click();
      await page.getByLabel('Filter by').selectOption('tier');
      await page.getByLabel('Tier', { exact: true }).selectOption('working');
      await button('Add filter').click();
      await page.locator('.result').first().waitFor();
      await eventually('travel alone', 20_000, async () => {
        const tags = await page.locator('.result .tags').allInnerTexts();
        return tags.every((one) => one.includes('travel')) || undefined;
      });
      await page.reload();
      await expect.poll(() => page.locator('.chip').count()).toBe(2);
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

  it('filters by tag, source, tier and time, and shows a session as a transcript', async () => {
    await goTo('?tag=release&source=chat&tier=working');
    await page.getByText('8 memories, newest first').waitFor();
    await goTo(`?tag=release&until=${new Date(0).toISOString()}`);
    await page.getByText('No memories match these filters').waitFor();
    await goTo('?since=once+upon+a+time');
    await page.getByRole('alert').getByText('since must be').waitFor();
    await button('Remove filter Since once upon a time').click();
    await page.locator('.table-text').first().waitFor();
    // The browser logs responses with status 400.
    visit.allow(/400/);
    await goTo('sessions');
    await page.getByRole('link', { name: 'atelier-vélo' }).click();
    await page.locator('.turn').first().waitFor();
    const turns = await page.locator('.turn .memory-text').allInnerTexts();
    expect(turns).toHaveLength(4);
    expect(turns[0]).toContain('Le frein arrière');
    expect(await page.locator('.turn-head').allInnerTexts()).toEqual(
      ['User', 'Assistant', 'User', 'Assistant'].map((role) => expect.stringContaining(role)),
    );
  });

  it('shows stored HTML as text', async () => {
    const markup = '<img src=x onerror="document.title=\'run\'"><script>document.title="run"</script><b>bold</b>';
    const { id } = await stage.memory.store({ content: markup, tags: [markup.slice(0, 60)], session_id: markup });
    for (const address of [`?open=${id}`, '', `session?${new URLSearchParams({ id: markup })}`]) {
      // A table that is open shows new memories only on request.
      await page.goto('about:blank');
      await goTo(address);
      await page.locator('.memory-text', { hasText: markup }).first().waitFor();
    }
    await goTo(`recall?${new URLSearchParams({ query: 'bold script img' })}`);
    await page.locator('.result mark', { hasText: 'bold' }).first().waitFor();
    expect(await page.locator('.memory-text :is(img, script, b)').count()).toBe(0);
    expect(await page.title()).toBe('Recall · memoryd');
    await stage.memory.forget(id);
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
    await page.locator('.live-live').waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('MAIN');
    await page.getByRole('link', { name: 'Recall', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('searchbox').waitFor();
    await page.getByRole('searchbox').focus();
    await page.keyboard.type('tram 28');
    // The results of the whole question.
    await page.locator('.result mark', { hasText: '28' }).first().waitFor();
    await page.locator('main').focus();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('complementary', { name: 'Open memory' }).locator('.memory').waitFor();
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
    await intercept(page, '**/recall?*', (route) => route.abort());
    await page.getByRole('combobox', { name: /^Results/ }).selectOption('5');
    await page.getByRole('alert').waitFor({ timeout: 20_000 });
    expect(await page.locator('.result').count()).toBe(0);
    visit.allow(/400|ERR_FAILED/);
  });

  it('shows an error for a failed request, and retries on request', async () => {
    await intercept(page, '**/memories?*', fail);
    await goTo('?dir=asc');
    await page.getByRole('alert').waitFor({ timeout: 20_000 });
    await page.unroute('**/memories?*');
    await button('Try again').click();
    await page.locator('.table-text').first().waitFor();
    visit.allow(/500/);
  });

  it('shows an error in a view that throws, while the other views keep working', async () => {
    await intercept(page, '**/memories?*', (route) => route.fulfill({ json: { memories: [{ id: 'odd' }], total: 1 } }));
    await goTo('?dir=asc');
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
