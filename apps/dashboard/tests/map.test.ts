import { join } from 'node:path';
import { MemoryClient } from '@memoryd/client';
import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTemporaryFolder } from '../../../packages/server/conformance/folders.ts';
import { freePort, launch, untilHealthy } from '../../../packages/server/conformance/process.ts';
import { WORDS_ONLY } from '../../../packages/server/conformance/under-test.ts';
import { fitTo, type Place, toPixel } from '../src/map/view.ts';
import { getViolations, hasBrowser, hold, intercept, useStage, type Visit } from './browser.ts';

const TOPICS = [
  { tag: 'food', session_id: 'kitchen', user_id: 'ada', text: 'Hazelnuts and walnuts in the cake make Maria ill' },
  { tag: 'travel', session_id: 'trips', user_id: 'ada', text: 'The ferry to the island leaves the harbour at nine' },
  { tag: 'garden', session_id: 'plot', user_id: 'ben', text: 'Tomatoes and beans in the garden need water' },
] as const;
const PER_TOPIC = 24;
const DAY_MS = 86_400_000;
/** Pixels from the edge of the map at which an outline begins: less than the margin that the map leaves free. */
const EDGE = 12;

async function getMap(memory: Pick<MemoryClient, 'map'>) {
  let map = await memory.map({});
  await expect.poll(async () => (map = await memory.map({})).is_changing).toBe(false);
  return map;
}

describe.runIf(hasBrowser())('map of memories', () => {
  const stage = useStage({ isEmpty: true });
  let visit: Visit;
  let page: Page;

  beforeAll(async () => {
    const all = TOPICS.flatMap(({ tag, text, ...rest }, topic) =>
      Array.from({ length: PER_TOPIC }, (_, i) => ({
        ...{ content: `${text}, note ${i} of ${tag}`, tags: [tag], ...rest },
        created_at: new Date(Date.now() - (1 + topic * 200 + i) * DAY_MS).toISOString(),
      })),
    );
    expect((await stage.memory.storeBatch(all)).failed_count).toBe(0);
    await stage.untilEmbedded();
  });

  beforeEach(async () => {
    visit = await stage.visit('/ui/', { viewport: { width: 1440, height: 900 } });
    page = visit.page;
    // The tests read what is drawn.
    visit.allow(/getImageData/);
    return () => visit.close();
  });

  const surface = (on = page) => on.locator('.map-keys');
  const scoped = (user_id: string) => stage.memory.scope({ userId: user_id });
  /** Opens the map, and waits until it is drawn and is the newest one. */
  const open = async (query = '', on = page) => {
    await on.goto('about:blank');
    await on.goto(`${stage.url}/ui/#/?view=map${query}`);
    await surface(on).waitFor();
    await expect.poll(() => on.getByText('a newer map is being computed').count()).toBe(0);
    await expect.poll(() => getInk(on)).toBeGreaterThan(0);
  };
  /** Returns the number of pixels that are drawn on the canvas with the memories. */
  const getInk = (on: Page) =>
    on.locator('.map-frame > canvas').evaluate((element) => {
      const { width, height } = element as HTMLCanvasElement;
      if (width === 0) return 0;
      const data = (element as HTMLCanvasElement).getContext('2d')?.getImageData(0, 0, width, height).data ?? [];
      let drawn = 0;
      for (let at = 3; at < data.length; at += 4) if (data[at] !== 0) drawn++;
      return drawn;
    });
  /** Returns the pixels on the map at which the memories of a whole map are. */
  const getPixels = async (points: readonly Place[], on = page) => {
    const { width, height } = await surface(on).evaluate((one) => one.getBoundingClientRect());
    const view = fitTo(points, { width, height });
    return points.map((point) => toPixel(point, view));
  };
  /** Returns the color of the canvas with the memories at pixels of the page. */
  const getColors = (pixels: readonly Place[], on = page) =>
    on.locator('.map-frame > canvas').evaluate((element, all) => {
      const context = (element as HTMLCanvasElement).getContext('2d') as CanvasRenderingContext2D;
      const at = (value: number) => Math.round(value * devicePixelRatio);
      return all.map(({ x, y }) => [...context.getImageData(at(x), at(y), 1, 1).data]);
    }, pixels);
  /** Returns the index of the place that is farthest from its nearest neighbor, so that a click is sure to mean it. */
  const getLoneliest = (places: readonly Place[]) => {
    const distances = places.map((one) =>
      Math.min(...places.map((other) => (other === one ? 1e9 : Math.hypot(one.x - other.x, one.y - other.y)))),
    );
    return distances.indexOf(Math.max(...distances));
  };
  const toPage = async ({ x, y }: Place) => {
    const box = await surface().evaluate((one) => one.getBoundingClientRect().toJSON());
    return [box.x + x, box.y + y] as const;
  };
  const moveTo = async (place: Place) => page.mouse.move(...(await toPage(place)));
  const selected = () => page.getByText(/^[0-9,]+ selected/);
  const group = (name: RegExp) => page.locator('.map-group-name', { hasText: name });
  const isOpen = async (id: string | undefined, on = page) => {
    await expect.poll(() => on.url()).toContain(`open=${id}`);
    await on.locator('.beside').waitFor();
  };

  it('shows the memories of the scope, each at its place, and no other', async () => {
    const { points } = await getMap(scoped('ben'));
    expect(points).toHaveLength(PER_TOPIC);
    const requested = page.waitForRequest((request) => new URL(request.url()).pathname === '/map');
    await open('&user_id=ben&color=session');
    expect(new URL((await requested).url()).searchParams.get('user_id')).toBe('ben');
    await page.getByText(`${PER_TOPIC} memories · computed`).waitFor();
    for (const [, , , alpha] of await getColors(await getPixels(points))) expect(alpha).toBeGreaterThan(100);
    expect(await page.locator('.map-group-name').allInnerTexts()).toEqual([`plot\n${PER_TOPIC}`]);
    expect(await page.locator('main').textContent()).not.toMatch(/ferry|hazelnut|kitchen/i);
    // Ink that belongs to no memory would be a place of another.
    const dot = (await getInk(page)) / PER_TOPIC;
    expect(dot).toBeLessThan(60);
    expect(visit.problems).toEqual([]);
  });

  it('shows the text of the memory under the pointer, and opens that memory with a click', async () => {
    const { points } = await getMap(stage.memory);
    await open();
    const pixels = await getPixels(points);
    const at = getLoneliest(pixels);
    const { content } = await stage.memory.memory(points[at]?.id ?? '');
    await moveTo(pixels[at] as Place);
    await page.locator('.map-text > div', { hasText: content }).waitFor();
    await page.mouse.click(...(await toPage(pixels[at] as Place)));
    await isOpen(points[at]?.id);
    await page.locator('.beside').getByText(content, { exact: true }).first().waitFor();
    await page.goBack();
    await expect.poll(() => page.url()).not.toContain('open=');
  });

  it('selects the memories inside an outline, and adds those of another one with Shift', async () => {
    const { points } = await getMap(stage.memory);
    await open();
    const pixels = await getPixels(points);
    const drawAround = async ([left, right]: [number, number]) => {
      const corners = [
        [left, EDGE],
        [right, EDGE],
        [right, 5000],
        [left, 5000],
      ] as const;
      const height = await surface().evaluate((one) => one.clientHeight);
      const [first, ...rest] = corners.map(([x, y]) => ({ x, y: Math.min(y, height - EDGE) }));
      await moveTo(first as Place);
      await page.mouse.down();
      for (const corner of rest) await page.mouse.move(...(await toPage(corner)), { steps: 3 });
      await page.mouse.up();
    };
    const xs = pixels.map(({ x }) => x).sort((a, b) => a - b);
    const border = ((xs[20] as number) + (xs[21] as number)) / 2;
    const end = ((xs[40] as number) + (xs[41] as number)) / 2;
    const countBetween = (from: number, to: number) => xs.filter((x) => x > from && x < to).length;
    await page.getByRole('button', { name: 'Select by drawing' }).click();
    await drawAround([EDGE, border]);
    await expect.poll(() => selected().first().textContent()).toMatch(`${countBetween(EDGE, border)} selected`);
    await page.getByRole('button', { name: 'Select by drawing' }).click();
    await page.keyboard.down('Shift');
    await drawAround([border, end]);
    await page.keyboard.up('Shift');
    await expect.poll(() => selected().first().textContent()).toMatch(`${countBetween(EDGE, end)} selected`);
    // All others are dimmed.
    const inside = await getColors(pixels.filter(({ x }) => x < border - 8));
    const outside = await getColors(pixels.filter(({ x }) => x > end + 8));
    expect(Math.min(...inside.map(([, , , alpha]) => alpha as number))).toBe(255);
    expect(Math.min(...outside.map(([, , , alpha]) => alpha as number))).toBeLessThan(100);
    await page.getByRole('button', { name: 'Clear selection' }).first().click();
    await expect.poll(() => selected().count()).toBe(0);
  });

  it('selects a group, and shows and opens its memories, with the keyboard alone', async () => {
    await open('&color=tag');
    await group(/^travel/).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => group(/^travel/).getAttribute('aria-pressed')).toBe('true');
    const [newest] = (await stage.memory.memories({ tag: ['travel'], limit: 1 })).memories;
    await page
      .locator('.map-texts li')
      .first()
      .getByRole('link', { name: newest?.content ?? '', exact: true })
      .waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect.poll(() => selected().first().textContent()).toMatch(`${PER_TOPIC} selected`);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await isOpen(newest?.id);
    await page.keyboard.press('Escape');
    await expect.poll(() => page.url()).not.toContain('open=');
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe(newest?.content);
  });

  it('moves, zooms, points, selects and opens with keys in one tab stop', async () => {
    const { points } = await getMap(stage.memory);
    await open();
    await surface().focus();
    const pixels = await getPixels(points);
    const before = await getColors(pixels);
    const pointed = page.locator('.map-text p').first();
    await page.keyboard.press('0');
    const { width, height } = await surface().evaluate((one) => one.getBoundingClientRect());
    const distances = pixels.map(({ x, y }) => Math.hypot(x - width / 2, y - height / 2));
    const id = points[distances.indexOf(Math.min(...distances))]?.id ?? '';
    const text = (await stage.memory.memory(id)).content;
    await expect.poll(() => pointed.textContent()).toBe(text);
    await page.keyboard.press('x');
    await expect.poll(() => selected().first().textContent()).toMatch('1 selected');
    await page.keyboard.press('Enter');
    await page.locator('.beside').getByText(text, { exact: true }).first().waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.beside').waitFor({ state: 'detached' });
    await surface().focus();
    await page.keyboard.press('x');
    await page.getByRole('button', { name: 'Clear selection' }).first().click();
    await surface().focus();
    await page.keyboard.press('0');
    await expect.poll(() => getColors(pixels)).toEqual(before);
    expect(await surface().locator('[tabindex]').count()).toBe(0);
  });

  it('leaves out only the memory that is selected once more while all are selected', async () => {
    const { points } = await getMap(stage.memory);
    await open();
    await surface().focus();
    await page.keyboard.press('0');
    await page.keyboard.press('x');
    await page.getByRole('button', { name: 'Select all' }).click();
    await expect.poll(() => selected().first().textContent()).toMatch(`${points.length} selected`);
    await surface().focus();
    await page.keyboard.press('0');
    await page.keyboard.press('x');
    await expect.poll(() => selected().first().textContent()).toMatch(`${points.length - 1} selected`);
  });

  it.each(['Clear', 'Forget'])('keeps the focus in the view after %s', async (name) => {
    await open();
    await surface().focus();
    await page.keyboard.press('0');
    await page.keyboard.press('x');
    await page.getByRole('button', { name, exact: true }).click();
    await expect.poll(() => selected().count()).toBe(0);
    expect(await page.evaluate(() => document.activeElement?.className)).toBe('map-keys');
    if (name === 'Forget') await page.getByRole('button', { name: 'Undo' }).click();
  });

  it('zooms around the pointer with the wheel, and moves with a drag', async () => {
    const { points } = await getMap(stage.memory);
    await open();
    const pixels = await getPixels(points);
    const at = getLoneliest(pixels);
    const { content } = await stage.memory.memory(points[at]?.id ?? '');
    await moveTo(pixels[at] as Place);
    const before = await getInk(page);
    await page.mouse.wheel(0, -900);
    await expect.poll(() => getInk(page)).not.toBe(before);
    await page.mouse.down();
    const { x, y } = pixels[at] as Place;
    await moveTo({ x: x + 30, y: y + 40 });
    await page.mouse.up();
    await moveTo({ x: x + 31, y: y + 40 });
    await page.locator('.map-text > div', { hasText: content }).waitFor();
    expect(page.url()).not.toContain('open=');
  });

  it('lights the results of a question by score, and lists them', async () => {
    await open();
    await page.getByRole('searchbox', { name: 'Question whose results light up' }).fill('when does the ferry leave');
    const results = page.getByRole('region', { name: 'Results' });
    await results.getByText('ferry').first().waitFor();
    const { results: expected } = await stage.memory.recall({
      query: 'when does the ferry leave',
      top_k: 50,
      track: false,
    });
    const rows = await results.getByRole('listitem').allInnerTexts();
    expect(rows).toHaveLength(expected.length);
    expect(rows[0]).toContain(expected[0]?.content);
    expect(rows[0]).toContain(`Score ${expected[0]?.score.toFixed(2)}`);
    const { points } = await getMap(stage.memory);
    const pixels = await getPixels(points);
    const getAlpha = async (id: string | undefined) =>
      (await getColors([pixels[points.findIndex((point) => point.id === id)] as Place]))[0]?.[3] as number;
    const ids = new Set(expected.map(({ id }) => id));
    const unlit = points.filter(({ id }) => !ids.has(id));
    expect(unlit.length).toBeGreaterThan(0);
    await expect.poll(() => getAlpha(expected[0]?.id)).toBe(255);
    const dark = await Promise.all(unlit.map(({ id }) => getAlpha(id)));
    expect(Math.min(...dark)).toBeLessThan(60);
    expect(page.url()).toContain('light=when');
    await page.reload();
    await results.getByText('ferry').first().waitFor();
  });

  it.each([
    ['Tag', ['food 24', 'garden 24', 'travel 24']],
    ['Session', ['kitchen 24', 'plot 24', 'trips 24']],
    ['User', ['ada 48', 'ben 24']],
    ['Tier', ['Working 72']],
    ['Age', ['Last 30 days 24', 'Last year 24', 'Older 24']],
  ])('colors by %s, with a legend', async (coloring, legend) => {
    await open();
    await page.getByLabel('Color').selectOption(coloring);
    await expect
      .poll(async () => (await page.locator('.map-group-name').allInnerTexts()).map((one) => one.replace('\n', ' ')))
      .toEqual(legend);
    expect(page.url()).toContain(`color=${coloring.toLowerCase()}`);
    const colors = await page
      .locator('.map-group-name i')
      .evaluateAll((all) => all.map((one) => getComputedStyle(one).backgroundColor));
    expect(new Set(colors).size).toBe(legend.length);
  });

  it('names clusters on the map by their words', async () => {
    await open();
    const { clusters } = await getMap(stage.memory);
    const names = await page.locator('.map-label').allInnerTexts();
    expect(names.length).toBeGreaterThan(0);
    const expected = clusters.map(({ words }) => words.slice(0, 2).join(' · '));
    for (const name of names) expect(expected).toContain(name);
  });

  it('offers a newer map after a change that came while the map was loading', async () => {
    const store = (content: string) => stage.memory.store({ content, user_id: 'dora' });
    await store('The kettle is red');
    await stage.untilEmbedded();
    await getMap(scoped('dora'));
    await page.goto('about:blank');
    const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await intercept(page, /\/map\?/, async (route) => {
      const response = await route.fetch();
      asked.resolve();
      await released.promise;
      await route.fulfill({ response });
    });
    const hasEvents = page.waitForResponse('**/events*');
    await page.goto(`${stage.url}/ui/#/?view=map&user_id=dora`);
    await Promise.all([asked.promise, hasEvents]);
    // The page asks for the numbers of memories after an event.
    const isNoticed = page.waitForResponse('**/stats*');
    await store('The kettle is green');
    await isNoticed;
    released.resolve();
    await page.getByRole('button', { name: /Changed since it was loaded/ }).waitFor();
  });

  it('loses a forgotten memory at once, and offers a newer map after other changes', async () => {
    const { id } = await stage.memory.store({ content: 'Carl has a canary', user_id: 'carl' });
    const kept = await stage.memory.store({ content: 'Carl has a cello', user_id: 'carl' });
    await stage.untilEmbedded();
    await getMap(scoped('carl'));
    await open('&user_id=carl');
    await page.locator('.live-live').waitFor();
    await page.getByText('2 memories · computed').waitFor();
    await stage.memory.forget(id);
    await page.locator('.map-count', { hasText: /^1 memory/ }).waitFor();
    await stage.memory.update(kept.id, { tags: ['music'] });
    await page.getByRole('button', { name: /Changed since it was loaded/ }).click();
    await expect.poll(() => page.getByText('Changed since it was loaded').count()).toBe(0);
    await stage.memory.forget(kept.id);
    await page.getByText('No memories of this user or agent').waitFor();
  });

  it('draws sharply on a dense screen, and changes its colors with the theme', async () => {
    const { page: dense, close } = await stage.visit('/ui/', { deviceScaleFactor: 2 });
    await open('&color=tag', dense);
    const { points } = await getMap(stage.memory);
    const [width, shown] = await dense
      .locator('.map-frame > canvas')
      .evaluate((one) => [(one as HTMLCanvasElement).width, one.clientWidth]);
    expect(width).toBe(2 * (shown as number));
    const pixels = await getPixels(points, dense);
    const light = await getColors(pixels, dense);
    await dense.getByRole('radio', { name: 'Dark' }).check();
    await expect.poll(() => getColors(pixels, dense)).not.toEqual(light);
    await dense.setViewportSize({ width: 1100, height: 700 });
    await expect
      .poll(() =>
        dense
          .locator('.map-frame > canvas')
          .evaluate((one) => (one as HTMLCanvasElement).width === 2 * one.clientWidth && one.clientWidth < 900),
      )
      .toBe(true);
    await close();
  });

  it.each(['light', 'dark'] as const)('passes axe in the %s theme', async (colorScheme) => {
    const { page: one, close } = await stage.visit('/ui/', { colorScheme });
    await open('&color=tag&light=ferry&group=%3Dfood', one);
    await one.locator('.map-texts a').first().waitFor();
    expect(await getViolations(one)).toEqual([]);
    await close();
  });

  it('fits a phone, where two fingers zoom and a tap opens', async () => {
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
    const { page: one, close, problems } = await stage.visit('/ui/', phone);
    await open('', one);
    expect(await one.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    const { points } = await getMap(stage.memory);
    const pixels = await getPixels(points, one);
    const at = getLoneliest(pixels);
    await surface(one).scrollIntoViewIfNeeded();
    const box = await surface(one).evaluate((element) => element.getBoundingClientRect().toJSON());
    const { x, y } = { x: box.x + (pixels[at]?.x ?? 0), y: box.y + (pixels[at]?.y ?? 0) };
    const touch = await one.context().newCDPSession(one);
    const send = (type: 'touchStart' | 'touchMove' | 'touchEnd', distance?: number) =>
      touch.send('Input.dispatchTouchEvent', {
        type,
        touchPoints: distance === undefined ? [] : [-distance, distance].map((by, id) => ({ x: x + by, y, id })),
      });
    const before = await getInk(one);
    await send('touchStart', 15);
    for (const distance of [20, 30, 40]) await send('touchMove', distance);
    await send('touchEnd');
    await expect.poll(() => getInk(one)).not.toBe(before);
    expect(one.url()).not.toContain('open=');
    await one.touchscreen.tap(x, y);
    await expect.poll(() => one.url()).toContain(`open=${points[at]?.id}`);
    expect(problems).toEqual([]);
    await close();
  });

  it('says that it loads, and loads by itself after an outage', async () => {
    const release = await hold(page, /\/map\?|\/map$/);
    await page.goto(`${stage.url}/ui/#/?view=map`);
    await page.getByText('Loading the map').waitFor();
    release();
    await surface().waitFor();
  });
});

describe.runIf(hasBrowser())('map while the service is restarted', () => {
  const stage = useStage({ isEmpty: true });

  it('keeps the map and its selection, and loads the map by itself afterwards', async () => {
    const port = await freePort();
    const args = ['--port', String(port), '--db-path', join(createTemporaryFolder(), 'map.db')];
    const first = launch(args);
    await untilHealthy(port, first);
    const memory = new MemoryClient({ url: `http://127.0.0.1:${port}` });
    await memory.storeBatch(['A lamp', 'A lantern', 'A candle'].map((content) => ({ content, tags: ['light'] })));
    await expect.poll(async () => (await memory.stats()).pending_embeddings).toBe(0);
    await getMap(memory);
    const { page, close, allow } = await stage.visit('/ui/');
    allow(/./);
    await page.goto(`http://127.0.0.1:${port}/ui/#/?view=map&color=tag`);
    await page.getByRole('button', { name: 'Select the 3 of light' }).click();
    await page.getByText(/^3 selected/).waitFor();
    await first.end('SIGKILL');
    await page.getByText('Service unreachable').first().waitFor();
    expect(await page.locator('.map-keys').count()).toBe(1);
    await page.getByText(/^3 selected/).waitFor();
    const isLoaded = page.waitForResponse(
      async (response) => response.url().includes('/map') && (await response.json()).state === 'ready',
    );
    const second = launch(args);
    await untilHealthy(port, second);
    await isLoaded;
    await memory.store({ content: 'A torch', tags: ['light'] });
    await expect.poll(async () => (await memory.stats()).pending_embeddings).toBe(0);
    // The service returns the earlier map for two seconds.
    await expect.poll(async () => (await getMap(memory)).points.length, { timeout: 30_000 }).toBe(4);
    await page.getByRole('button', { name: /Changed since it was loaded/ }).click();
    await page.getByText(/^4 memories · computed/).waitFor();
    await second.end('SIGTERM');
    await close();
  });
});

describe.runIf(hasBrowser())('map of an empty store', () => {
  const stage = useStage({ isEmpty: true });

  it('shows how to store a memory, and then maps of one and of two memories', async () => {
    const { page, close, problems } = await stage.visit('/ui/#/?view=map');
    await page.getByRole('heading', { name: 'Store your first memory' }).waitFor();
    for (const [count, content] of ['The only memory', 'Another memory'].entries()) {
      await stage.memory.store({ content });
      await stage.untilEmbedded();
      await expect.poll(async () => (await stage.memory.map({})).points.length).toBe(count + 1);
      const { points } = await getMap(stage.memory);
      await page.reload();
      await page.getByText(count === 0 ? '1 memory · computed' : '2 memories · computed').waitFor();
      const box = await page.locator('.map-keys').evaluate((one) => one.getBoundingClientRect().toJSON());
      const [place] = points.map((point) => toPixel(point, fitTo(points, box)));
      await page.mouse.click(box.x + (place?.x ?? 0), box.y + (place?.y ?? 0));
      await expect.poll(() => page.url()).toContain(`open=${points[0]?.id}`);
      await page.locator('.beside').waitFor();
      await page.keyboard.press('Escape');
    }
    expect(problems).toEqual([]);
    await close();
  });
});

describe.runIf(hasBrowser())('map without an embedding model', () => {
  const stage = useStage({ isEmpty: true, env: WORDS_ONLY });

  it('says that there are no vectors', async () => {
    await stage.memory.store({ content: 'A memory without a vector' });
    const { page, close } = await stage.visit('/ui/#/?view=map');
    await page.getByText('No map without vectors').waitFor();
    expect(await getViolations(page)).toEqual([]);
    await close();
  });
});
