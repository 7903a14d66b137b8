import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, it } from 'vitest';
import { eventually } from '../../../packages/server/conformance/process.ts';
import { hasBrowser, useStage } from './browser.ts';

const IMAGES = process.env.IMAGES ?? fileURLToPath(new URL('../../../docs/images/', import.meta.url));
const VIEWPORT = { width: 1200, height: 860 };

/** Asked while the overview is looked at, for its charts to show something. */
const QUERIES = ['bicycle', 'what hurt after the marathon', 'Lisbon', 'who reviews the search index', 'blackcurrant'];

/** What is waited for before a picture is taken. */
const PLACES = [
  { name: 'overview', place: '', until: '.growth svg' },
  { name: 'recall', place: 'recall?query=what+can+Ada+not+eat%3F', until: '.result' },
  { name: 'explore', place: 'explore', until: '.list .row' },
  { name: 'session', place: 'session?id=kitchen', until: '.turn' },
  { name: 'sleep', place: 'sleep', until: '.list .row' },
] as const;

describe.runIf(hasBrowser())('the pictures of the dashboard', () => {
  const stage = useStage();
  let places: { name: string; place: string; until: string }[] = [];

  beforeAll(async () => {
    mkdirSync(IMAGES, { recursive: true });
    const { memory } = stage;
    const embedded = async () => ((await memory.stats()).pending_embeddings === 0 ? true : undefined);
    await eventually('all vectors', 60_000, embedded);
    await memory.consolidate();
    const bicycle = { content: 'Ada brings her new bicycle on Friday', session_id: 'kitchen', tags: ['family'] };
    const { id } = await memory.store(bicycle);
    await memory.update(id, { content: 'Ada brings her old bicycle on Saturday' });
    const [run] = (await memory.consolidations({})).consolidations;
    places = [
      ...PLACES,
      { name: 'run', place: `run?id=${run?.id}`, until: '.change-line' },
      { name: 'memory', place: `memory?id=${id}`, until: '.history' },
    ];
  });

  it.each(['light', 'dark'] as const)('are taken in the %s theme', async (colorScheme) => {
    const { page, close } = await stage.visit('/ui/', { viewport: VIEWPORT, colorScheme });
    // Charts show nothing before some recalls were seen.
    for (const query of QUERIES) {
      await stage.memory.recall({ query });
      await page.waitForTimeout(2500);
    }
    for (const { name, place, until } of places) {
      await page.goto(`${stage.url}/ui/#/${place}`);
      await page.waitForSelector(until);
      // Merges rather than summaries in scripts for which the machine may have no font.
      if (name === 'run') await page.getByRole('button', { name: /^merged/ }).click();
      // Texts of lines that come into sight, and fonts.
      await page.waitForTimeout(600);
      await page.screenshot({ path: join(IMAGES, `${name}-${colorScheme}.png`) });
    }
    await close();
  });
});
