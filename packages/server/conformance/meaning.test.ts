import { readFileSync } from 'node:fs';
import type { StoreBatchResponse } from '@memoryd/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ASKED, EVERYDAY, getWords, unrelated } from './everyday-memories.ts';
import { type Client, expectCleanEnd, startClient, useServer } from './under-test.ts';

/** Settings for the bundled model, without scheduled consolidation. */
const BUNDLED_MODEL = { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' };

/** Returns a long text of sentences unrelated to the question, followed by `lastSentence`. */
function createLongText(lastSentence: string): string {
  const pages = unrelated(100).map((sentence, n) => `On day ${n + 1} of the voyage, we noted this: ${sentence}`);
  return `${pages.join(' ')} ${lastSentence}`;
}

/** Stores texts as one batch, waits for their vectors and returns their ids. */
async function storeBatch(client: Client, texts: readonly string[], session_id: string): Promise<string[]> {
  const json = texts.map((content) => ({ content, session_id }));
  const { results } = await client.ok<StoreBatchResponse>({ method: 'POST', path: '/store/batch', json });
  await client.embedded();
  return results.map((result) => ('id' in result ? result.id : ''));
}

const memoryd = useServer({ env: BUNDLED_MODEL });
const termsOnly = useServer({ env: { ...BUNDLED_MODEL, SERVICE_EMBEDDER: 'none' } });

describe('recall by embeddings, with the bundled model', () => {
  const ids = new Map<string, string>();
  beforeAll(async () => {
    const texts = [...EVERYDAY, ...ASKED.map(({ memory }) => memory)];
    const stored = await memoryd.storeAll(texts.map((content) => ({ content })));
    for (const [n, text] of texts.entries()) ids.set(text, stored[n] ?? '');
    await memoryd.embedded();
  });

  it('the bundled model is an embedder that /health reports as ready', async () => {
    expect(await memoryd.get('/health')).toMatchObject({ status: 'healthy', embedder: 'ready' });
  });

  it.each(ASKED)(
    'finds the answer to "$question" in a memory that shares no word with the question',
    async ({ memory, question }) => {
      const words = getWords(memory);
      expect([...getWords(question)].filter((word) => words.has(word))).toEqual([]);
      expect(await memoryd.recalled(question)).toContain(ids.get(memory));
    },
  );

  it('returns scores from 0 to 1, best first, regardless of top_k', async () => {
    for (const { question } of ASKED) {
      const all = await memoryd.recall(question, 'top_k=1000');
      const scores = all.results.map((result) => result.score);
      expect(scores).toEqual([...scores].sort((a, b) => b - a));
      expect(Math.min(...scores)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...scores)).toBeLessThanOrEqual(1);
      for (const k of [1, 5, 20]) {
        expect((await memoryd.recall(question, `top_k=${k}`)).results).toEqual(all.results.slice(0, k));
      }
    }
  });

  it('returns with top_k=50 the first 50 results of top_k=100', async () => {
    await storeBatch(memoryd, unrelated(120), 'voyage');
    for (const question of ['Which consignment went by the harbour?', 'What became of the goods?']) {
      const top = (k: number) => memoryd.recalled(question, `session_id=voyage&top_k=${k}`);
      expect(await top(50)).toEqual((await top(100)).slice(0, 50));
    }
    await memoryd.forgetMany('session_id=voyage');
  });

  it('finds a long memory by the embedding of its last sentence', async () => {
    const last = 'The hidden door key lies beneath a ceramic frog beside our greenhouse.';
    const id = await memoryd.store({ content: createLongText(last) });
    await memoryd.embedded();
    expect(await memoryd.recalled('Where is the spare key to get inside the house?', 'top_k=5')).toContain(id);
    const questionWithoutTerms = 'How can I unlock it if nobody is at home?';
    expect([...getWords(questionWithoutTerms)].filter((word) => getWords(last).has(word))).toEqual([]);
    expect(await memoryd.recalled(questionWithoutTerms, 'top_k=20')).toContain(id);
    await memoryd.forget(id);
  });

  it('finds a memory by its embedding within a filter', async () => {
    const { question } = ASKED[0] ?? { question: '' };
    const id = await memoryd.store({ content: 'The veterinarian stitched up a hamster.', tags: ['only-this'] });
    await memoryd.embedded();
    expect(await memoryd.recalled(question, 'top_k=1&tag=only-this')).toEqual([id]);
    await memoryd.forget(id);
  });

  it('scores an updated memory higher for its new text than for its old text', async () => {
    const id = await memoryd.store({ content: 'The kitten purrs on a cushion.', session_id: 'updated' });
    await memoryd.update(id, { content: 'Bond yields rose after a central bank decision.' });
    await memoryd.embedded();
    const top = await memoryd.recall('What happened to interest rates?', 'session_id=updated');
    const old = await memoryd.recall('Which small animal is resting?', 'session_id=updated');
    expect(top.results[0]?.id).toBe(id);
    expect(old.results[0]?.score ?? 0).toBeLessThan(top.results[0]?.score ?? 0);
    await memoryd.forget(id);
  });

  it('ranks a superseded memory below its successor', async () => {
    const old = await memoryd.store({ content: 'Our physician has rooms in Harbour Street.' });
    const successor = await memoryd.store({ content: 'The surgery is in Mill Lane from now on.', supersedes: old });
    await memoryd.embedded();
    const { results } = await memoryd.recall('What is the address of the physician in Harbour Street?', 'top_k=1000');
    const rank = (id: string) => results.findIndex((result) => result.id === id);
    expect(rank(successor)).toBeGreaterThanOrEqual(0);
    expect(rank(old)).toBeGreaterThan(rank(successor));
    expect(results[rank(old)]?.superseded_by).toBe(successor);
    await memoryd.forget(successor);
    await memoryd.forget(old);
  });

  it('recall by embeddings does not return a forgotten memory', async () => {
    const id = await memoryd.store({ content: 'Penguins huddle together against the Antarctic cold.' });
    await memoryd.embedded();
    expect(await memoryd.recalled('How do polar birds keep warm?')).toContain(id);
    await memoryd.forget(id);
    expect(await memoryd.recalled('How do polar birds keep warm?', 'top_k=1000')).not.toContain(id);
  });

  const exact: { row: string; content: string; query: string }[] = [
    {
      row: 'code',
      content: 'const retry = withBackoff({ tries: 5 }) fixes the flaky upload',
      query: 'withBackoff({ tries: 5 })',
    },
    { row: 'a number', content: 'Ticket 7741902 was refunded', query: '7741902' },
    { row: 'a rare word', content: 'The sesquipedalian speech went on for hours', query: 'sesquipedalian' },
    {
      row: 'a file path',
      content: 'Settings live in /etc/quux/conf.d/50-main.toml',
      query: '/etc/quux/conf.d/50-main.toml',
    },
    { row: 'Japanese', content: '東京タワーは赤い色をしています', query: '東京タワー' },
    { row: 'Russian', content: 'Наша дача стоит у озера', query: 'дача у озера' },
    { row: 'Arabic', content: 'القطة تنام على السرير', query: 'القطة' },
    { row: 'an emoji', content: 'Birthday party for Lin 🎂🎈', query: '🎂' },
  ];
  it.each(exact)('finds a memory by exact terms: $row', async ({ content, query }) => {
    const id = await memoryd.store({ content });
    await memoryd.embedded();
    expect(await memoryd.recalled(query)).toContain(id);
    await memoryd.forget(id);
  });
});

interface Note {
  id: string;
  text: string;
}

/** Two hundred everyday notes, some of which answer the questions. */
const EVERYDAY_NOTES: Note[] = readFileSync(
  new URL('../../../bench/sets/everyday/corpus.jsonl', import.meta.url),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));

describe('common words of a question', () => {
  const notes = useServer({ env: BUNDLED_MODEL });

  const few = [
    {
      question: 'which doctor should I call',
      answer: 'Her GP is Dr. van Rijn at the Oosterkade practice.',
      others: ['I prefer two-space indentation in TypeScript.'],
    },
    {
      question: 'What does the user do for a living?',
      answer: 'Mira works as a backend engineer at a logistics startup called Palletly.',
      others: ["The user's name is Mira Hollander.", 'Her sister Femke lives in Lisbon.'],
    },
    {
      question: 'in which city does she live',
      answer: 'Her sister Femke lives in Lisbon.',
      others: ['The new carrier matching is live for 10 percent of carriers since Tuesday.'],
    },
  ];

  it.each(few)(
    'common words of a question do not decide the ranking of few notes: $question',
    async ({ question, answer, others }) => {
      await storeBatch(notes, [answer, ...others], 'default');
      const { results } = await notes.recall(question);
      await notes.forgetMany('session_id=default');
      expect(results[0]?.content).toBe(answer);
    },
  );

  it.each([
    ['which doctor should I call', 'Her GP is Dr. van Rijn at the Oosterkade practice.'],
    ['What does the user do for a living?', 'Mira works as a backend engineer at a logistics startup called Palletly.'],
    ['in which city does she live', 'Her sister Femke lives in Lisbon.'],
    ['in which city does her sister live', 'Her sister Femke lives in Lisbon.'],
    ['which food is dangerous for Ada', 'Ada is allergic to peanuts'],
  ])('common words of a question do not decide the ranking of two hundred notes: %s', async (question, answer) => {
    await notes.forgetMany('session_id=default');
    const texts = EVERYDAY_NOTES.map(({ text }) => text);
    await storeBatch(notes, texts, 'default');
    const { results } = await notes.recall(question, 'top_k=1');
    expect(results[0]?.content).toBe(answer);
  });
});

describe('recall', () => {
  it('ranks equally relevant memories by created_at, newest first, regardless of the order of storing', async () => {
    for (const [colour, year] of Object.entries({ red: 2025, blue: 2024, green: 2026 })) {
      const created_at = `${year}-05-01T00:00:00Z`;
      await memoryd.store({ content: `favourite colour is ${colour}`, created_at, session_id: 'colours' });
    }
    await memoryd.embedded();
    const { results } = await memoryd.recall('favourite colour', 'session_id=colours');
    const colours = ['green', 'red', 'blue'];
    expect(results.map(({ content }) => content)).toEqual(colours.map((colour) => `favourite colour is ${colour}`));
    await memoryd.forgetMany('session_id=colours');
  });

  it('finds the answer at the end of 100,000 characters, and ranks it above an unrelated short memory', async () => {
    const pages = 'The harbour office files its reports on Monday, and the clerk reads them. '.repeat(1350);
    const long = `${pages}The password of the old lighthouse is quindarvel.`;
    await storeBatch(memoryd, [long, 'The cat sleeps on the windowsill all day.'], 'long');
    for (const question of ['quindarvel', 'what does quindarvel open?', 'the password of the lighthouse']) {
      const { results } = await memoryd.recall(question, 'session_id=long');
      expect(results[0]?.content.length, question).toBe(long.length);
    }
    await memoryd.forgetMany('session_id=long');
  });

  it('scores the best result lower if no memory contains the number in the query', async () => {
    await storeBatch(memoryd, ['Error PLT-4093 means that the label printer has no paper.', ...EVERYDAY], 'errors');
    const score = async (query: string) => (await memoryd.recall(query, 'session_id=errors')).results[0]?.score;
    expect(await score('error PLT-5120')).toBeLessThan(((await score('error PLT-4093')) as number) - 0.3);
    await memoryd.forgetMany('session_id=errors');
  });
});

describe('recall returns 200, or 400 for a blank query, for the query', () => {
  beforeAll(async () => {
    await storeBatch(termsOnly, EVERYDAY, 'default');
  });
  afterAll(() => termsOnly.forgetMany('session_id=default'));

  const SIGNS = String.raw`" "" """ "unbalanced ' '' * ** coff* ^coffee -coffee +coffee () ( ) ; : -- /* \ \" % _ %_% ? ??
    $1 :name @x # & | ~ ${'`'} <b> [a] {} = ! , . … – / // [MASK] ##ing`;
  const SYNTAX = `NEAR(
    NEAR(a b, 5)
    AND
    OR
    NOT
    AND OR NOT
    coffee AND
    NOT coffee
    a OR
    col:x
    content:coffee
    rowid:1
    {content tags}:x
    a - b
    a : b
    '; DROP TABLE memories; --
    SELECT * FROM x
    for (let i=0; i<10; i++) { a[i] += b?.c ?? "d"; }
    [CLS] [SEP] [PAD]
    of the and`;
  const WORDS = `the null undefined NaN true __proto__ constructor toString 3.14159 -1 1e308 0x7f 2024-01-01T00:00:00Z
    127.0.0.1 a@b.c é 🦊 👩🏽‍🚀 🏴󠁧󠁢󠁳󠁣󠁴󠁿 东京 记忆 기억 ความทรงจำ ذاكرة זיכרון स्मृति память μνήμη İstanbul ẞ ﬃ ǅ 𝔘𝔫𝔦𝔠𝔬𝔡𝔢
    Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘`;
  const INVISIBLE = 'e\u0301 \u0301 \u200b \u200d \ufeffx \u202e \uffff \u{10ffff} \u0001 \u0002 \u007f \u0130\u0307';
  const LONG = [
    ['x', 8000],
    ['a ', 500],
    ['"', 1000],
    ['🦊', 500],
    ['東', 8000],
    ['(', 8192],
  ] as const;
  const queries = [
    ...`${SIGNS} ${WORDS} ${INVISIBLE}`.split(/[ \n]+/),
    ...SYNTAX.split('\n').map((line) => line.trim()),
    ...LONG.map(([text, times]) => text.repeat(times)),
    '\u2028',
  ];
  const title = (query: string) => (query.length > 40 ? `${query.slice(0, 12)}… (${query.length} characters)` : query);

  it.each(queries.map((query) => ({ row: JSON.stringify(title(query)), query })))(
    'recall returns 200, or 400 for a blank query, for the query $row',
    async ({ query }) => {
      for (const client of [memoryd, termsOnly]) {
        const answer = await client.send<{ total: number; results: { score: number }[] }>({
          path: `/recall?query=${encodeURIComponent(query)}&top_k=50`,
        });
        // Queries of whitespace only, such as a line separator, are invalid.
        if (query.trim() === '') {
          expect(answer.status).toBe(400);
          continue;
        }
        expect(answer.status, answer.text).toBe(200);
        expect(answer.body.total).toBe(answer.body.results.length);
        for (const { score } of answer.body.results) {
          expect(score).toBeGreaterThanOrEqual(0);
          expect(score).toBeLessThanOrEqual(1);
        }
      }
    },
  );
});

describe('scores when unrelated memories make the database ten times larger', () => {
  const withModel = useServer({ env: BUNDLED_MODEL });

  const queries = [
    ...ASKED.map(({ question }) => question),
    ...[
      'golden retriever',
      'peanuts',
      'wedding anniversary',
      'cello quartet',
      'plum cake with cinnamon',
      'boiler filter',
    ],
  ];

  /** Returns scores by query and memory id. */
  async function getScores(client: Client, parameters: string, selected = queries): Promise<Map<string, number>> {
    const scores = new Map<string, number>();
    for (const query of selected) {
      for (const { id, score } of (await client.recall(query, parameters)).results) scores.set(`${query}|${id}`, score);
    }
    return scores;
  }

  const rows = [3, 12].flatMap((size) => [
    { row: `${size} memories at first, by embeddings and terms`, client: withModel, size },
    { row: `${size} memories at first, by terms only`, client: termsOnly, size },
  ]);
  it.each(rows)(
    'scores when unrelated memories make the database ten times larger change by less than 0.05 with $row, and do not depend on top_k',
    async ({ client, size }) => {
      const texts = [...ASKED.map(({ memory }) => memory), ...EVERYDAY].slice(0, size);
      await storeBatch(client, texts, 'first');
      const before = await getScores(client, '');
      await storeBatch(client, unrelated(size * 9), 'trade');
      const after = await getScores(client, 'top_k=1000');
      for (const k of [1, 49, 50, 51]) {
        const some = await getScores(client, `top_k=${k}`, queries.slice(0, 4));
        const differing = [...some].filter(([key, score]) => after.get(key) !== score);
        expect(differing, `top_k=${k}`).toEqual([]);
      }
      const moves = [...before].map(([key, score]) => ({ key, score, now: after.get(key) ?? 0 }));
      expect(moves.filter(({ score, now }) => Math.abs(score - now) >= 0.05)).toEqual([]);
      expect(before.size).toBeGreaterThan(1);
      await client.forgetMany('session_id=first');
      await client.forgetMany('session_id=trade');
    },
  );
});

describe('vectors of stored memories', () => {
  it('vectors of stored memories exist when the store request returns', async () => {
    for (let n = 0; n < 5; n += 1) {
      const id = await memoryd.store({
        content: `Penguins number ${n} slid over frozen water.`,
        session_id: `ice ${n}`,
      });
      const found = await memoryd.recalled('polar birds', `session_id=ice%20${n}`);
      expect(found).toContain(id);
    }
  });

  it('vectors of stored memories are created for 100 memories stored at once, while /stats returns the number of pending memories', async () => {
    const texts = unrelated(100).map((content) => ({ content }));
    const ids = await memoryd.storeAll(texts);
    const { pending_embeddings } = await memoryd.stats();
    expect(Number.isInteger(pending_embeddings)).toBe(true);
    expect(await memoryd.recalled('Consignment 1099')).toContain(ids[99]);
    await memoryd.embedded();
  });

  it('vectors of stored memories survive a restart', async () => {
    const first = await startClient({ env: BUNDLED_MODEL });
    await storeBatch(first, EVERYDAY, 'everyday');
    const before = await first.recall('something warm to drink', 'top_k=20');
    await expectCleanEnd(first.server);
    const second = await startClient({ env: BUNDLED_MODEL, database: first.server.database });
    expect((await second.stats()).pending_embeddings).toBe(0);
    expect(await second.recall('something warm to drink', 'top_k=20')).toEqual(before);
    expect(before.total).toBeGreaterThan(0);
    await expectCleanEnd(second.server);
  });
});
