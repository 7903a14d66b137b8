import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, it } from 'vitest';
import { hasBrowser, useStage } from './browser.ts';

const IMAGES = process.env.IMAGES ?? fileURLToPath(new URL('../../../docs/images/', import.meta.url));
const VIEWPORT = { width: 1200, height: 860 };

/** Recalled before the pictures are taken, so that the charts have data. */
const QUERIES = ['bicycle', 'what hurt after the marathon', 'Lisbon', 'who reviews the search index', 'blackcurrant'];

/** Views with an element that shows that they are loaded. */
const VIEWS = [
  { name: 'overview', address: '', until: '.growth svg' },
  { name: 'recall', address: 'recall?query=Can+Ada+eat+peanut+butter%3F', until: '.result' },
  { name: 'explore', address: 'explore', until: '.list .row' },
  { name: 'session', address: 'session?id=kitchen', until: '.turn' },
  { name: 'consolidation', address: 'consolidation', until: '.list .row' },
] as const;

describe.runIf(hasBrowser())('pictures of the dashboard', () => {
  const stage = useStage();
  let views: { name: string; address: string; until: string }[] = [];

  beforeAll(async () => {
    mkdirSync(IMAGES, { recursive: true });
    const { memory } = stage;
    await stage.untilEmbedded();
    await memory.consolidate();
    const bicycle = { content: 'Ada brings her new bicycle on Friday', session_id: 'kitchen', tags: ['family'] };
    const { id } = await memory.store(bicycle);
    await memory.update(id, { content: 'Ada brings her old bicycle on Saturday' });
    const [run] = (await memory.consolidations({})).consolidations;
    views = [
      ...VIEWS,
      { name: 'run', address: `run?id=${run?.id}`, until: '.change-line' },
      { name: 'memory', address: `memory?id=${id}`, until: '.history' },
    ];
  });

  it.each(['light', 'dark'] as const)('pictures of the dashboard are taken in the %s theme', async (colorScheme) => {
    const { page, close } = await stage.visit('/ui/', { viewport: VIEWPORT, colorScheme });
    // The charts need several polls.
    for (const query of QUERIES) {
      await stage.memory.recall({ query });
      await page.waitForTimeout(2500);
    }
    for (const { name, address, until } of views) {
      await page.goto(`${stage.url}/ui/#/${address}`);
      await page.waitForSelector(until);
      // Summaries may be in scripts for which the machine has no font.
      if (name === 'run') await page.getByRole('button', { name: /^Merged/ }).click();
      // Texts and fonts load after the rows.
      await page.waitForTimeout(600);
      await page.screenshot({ path: join(IMAGES, `${name}-${colorScheme}.png`) });
    }
    await close();
  });
});
