import type { ErrorResponse, Explanation, RecallResponse, StoreRequest } from '@memoryd/contract';
import { WEIGHTS } from '@memoryd/search';
import { beforeAll, describe, expect, it } from 'vitest';
import { expectError } from './refusal.ts';
import { useServer, WORDS_ONLY } from './under-test.ts';

const memoryd = useServer({ env: WORDS_ONLY });

describe('recall on an empty database', () => {
  it('recall on an empty database returns no results', async () => {
    expect(await memoryd.recall('anything at all')).toEqual({ results: [], total: 0 });
  });
});

describe('GET /recall', () => {
  const texts = Array.from(
    { length: 12 },
    (_, n) => `lantern note ${n}: ${'lantern '.repeat(n % 4)}and oil ${'x'.repeat(n)}`,
  );
  beforeAll(async () => {
    await memoryd.storeAll(texts.map((content, n) => ({ content, tags: [`n${n}`] })));
  });

  it('returns only results and total, each result with its score, session and time', async () => {
    const id = await memoryd.store({ content: 'a solitary narwhal', tags: ['sea'], importance: 0.9, source: 'chat' });
    expect(await memoryd.recall('narwhal')).toEqual({
      results: [
        {
          id,
          content: 'a solitary narwhal',
          score: expect.any(Number),
          tags: ['sea'],
          session_id: 'default',
          created_at: (await memoryd.memory(id)).created_at,
        },
      ],
      total: 1,
    });
  });

  it('returns no results if no word matches', async () => {
    expect(await memoryd.recall('xylophonist')).toEqual({ results: [], total: 0 });
  });

  const sizes: { row: string; parameters: string; results: number }[] = [
    { row: '5 results by default', parameters: '', results: 5 },
    { row: '1 result with top_k=1', parameters: 'top_k=1', results: 1 },
    { row: '7 results with top_k=7', parameters: 'top_k=7', results: 7 },
    { row: 'all 12 results with top_k=1000', parameters: 'top_k=1000', results: 12 },
  ];
  it.each(sizes)('returns $row, and their number as total', async ({ parameters, results }) => {
    const answer = await memoryd.recall('lantern', parameters);
    expect([answer.results.length, answer.total]).toEqual([results, results]);
  });

  it('returns the best results first, with scores from 0 to 1', async () => {
    const scores = (await memoryd.recall('lantern oil', 'top_k=100')).results.map((result) => result.score);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
    expect(Math.min(...scores)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...scores)).toBeLessThanOrEqual(1);
  });

  it('returns with explain=true the evidence and weights that reproduce each score', async () => {
    const { results } = await memoryd.recall('lantern oil', 'top_k=100&explain=true');
    expect(results.length).toBeGreaterThan(5);
    for (const { score, explanation } of results) {
      const { evidence, weights, even, slope } = explanation as Explanation;
      const names = Object.keys(weights) as (keyof typeof weights)[];
      expect(Object.keys(evidence).sort()).toEqual(names.toSorted());
      const sum = names.reduce((total, name) => total + weights[name] * evidence[name], 0);
      expect(1 / (1 + Math.exp(slope * (even - sum)))).toBeCloseTo(score, 4);
    }
    const plain = (await memoryd.recall('lantern oil', 'top_k=100&explain=false')).results;
    expect(results.map(({ explanation: _, ...result }) => result)).toEqual(plain);
  });

  it('returns with explain=true the matching words as they are written in the memory', async () => {
    const { results } = await memoryd.recall('LANTERNS', 'top_k=100&explain=true');
    for (const { content, explanation } of results) {
      for (const word of explanation?.matched ?? []) expect(content).toContain(word);
    }
    expect(results[0]?.explanation?.matched).toEqual([expect.stringMatching(/^lantern/i)]);
  });

  it('ranks a synonym match above no match, and does not return synonyms as matched words', async () => {
    const [plumber, physician, doctor] = await memoryd.storeAll([
      { content: 'the plumber of the narrow harbour is away in June' },
      { content: 'the physician of the narrow harbour is away in June' },
      { content: 'the doctor of the narrow harbour is away in June' },
    ]);
    const { results } = await memoryd.recall('a doctor at the harbour', 'explain=true');
    expect(results.map(({ id }) => id)).toEqual([doctor, physician, plumber]);
    expect(results[1]?.score).toBeGreaterThan(results[2]?.score as number);
    expect(results.map(({ explanation }) => explanation?.matched)).toEqual([
      ['doctor', 'harbour'],
      ['harbour'],
      ['harbour'],
    ]);
    expect(await memoryd.recalled('a doctor, please')).toEqual([doctor]);
  });

  it('returns no memory twice', async () => {
    const ids = await memoryd.recalled('lantern', 'top_k=1000');
    expect(new Set(ids).size).toBe(ids.length);
  });

  it.each([1, 3, 5, 50])('returns the same scores with top_k=%i as with top_k=1000', async (k) => {
    const all = await memoryd.recall('lantern oil', 'top_k=1000');
    const some = await memoryd.recall('lantern oil', `top_k=${k}`);
    expect(some.results).toEqual(all.results.slice(0, k));
  });

  it('returns the same scores for a repeated query', async () => {
    expect(await memoryd.recall('lantern oil')).toEqual(await memoryd.recall('lantern oil'));
  });

  it('ranks the memory that contains more query words first', async () => {
    const [both] = await memoryd.storeInOrder([
      { content: 'the saffron is in the cupboard' },
      { content: 'the saffron harvest was poor' },
      { content: 'the cupboard door squeaks' },
    ]);
    expect((await memoryd.recalled('saffron cupboard'))[0]).toBe(both);
  });

  it('ranks the more important of two equally good matches first', async () => {
    const ids = await memoryd.storeInOrder(
      [1, 0].map((importance) => ({ content: 'the zither is tuned', importance })),
    );
    expect(await memoryd.recalled('zither')).toEqual(ids);
  });

  it('GET /recall does not rank a more important memory above a better match', async () => {
    const [better] = await memoryd.storeInOrder([
      { content: 'the theremin is in the attic', importance: 0 },
      { content: 'the theremin is broken', importance: 1 },
    ]);
    expect((await memoryd.recalled('theremin attic'))[0]).toBe(better);
  });

  const encodings: { row: string; query: string }[] = [
    { row: 'a plus sign for a space', query: 'solitary+narwhal' },
    { row: 'percent encoding', query: '%73olitary%20narwhal' },
    { row: 'surrounding whitespace', query: '%20%20narwhal%09%0A' },
  ];
  it.each(encodings)('accepts a query with $row', async ({ query }) => {
    const { results } = await memoryd.get<RecallResponse>(`/recall?query=${query}`);
    expect(results[0]?.content).toBe('a solitary narwhal');
  });

  const lengths: { row: string; query: string }[] = [
    { row: 'of 1 character', query: 'x' },
    { row: 'of 8,192 characters', query: 'lantern '.repeat(1024).slice(0, 8191).concat('s') },
    { row: 'of 8,192 characters surrounded by spaces', query: `   ${'q'.repeat(8192)}   ` },
    { row: 'of 8,192 characters in one-letter words', query: 'a b c d '.repeat(1024).slice(0, 8191).concat('e') },
    { row: 'of 1,500 different words', query: Array.from({ length: 1500 }, (_, n) => `w${n}`).join(' ') },
  ];
  it.each(lengths)('accepts a query $row', async ({ query }) => {
    await memoryd.recall(query);
  });
});

describe('recall among 300 memories that match', () => {
  beforeAll(async () => {
    const matching = Array.from({ length: 300 }, (_, n) => {
      const content = `${'bramble '.repeat(1 + (n % 5))}thicket ${n % 3 ? 'hedge' : 'copse'} ${'filler '.repeat(n % 40)}`;
      return { content, session_id: `bramble ${n % 7}`, source: n % 2 ? 'odd' : 'even' };
    });
    await memoryd.storeAll(matching);
  });

  it.each([1, 5, 49, 50, 51, 100, 299, 300])('returns the same scores with top_k=%i as with top_k=1000', async (k) => {
    const all = await memoryd.recall('bramble copse', 'top_k=1000');
    const some = await memoryd.recall('bramble copse', `top_k=${k}`);
    expect([some.total, all.total]).toEqual([k, 300]);
    const scores = new Map(all.results.map(({ id, score }) => [id, score]));
    expect(some.results.filter(({ id, score }) => scores.get(id) !== score)).toEqual([]);
  });

  it('returns the best of all 300 matches first', async () => {
    const scores = (await memoryd.recall('bramble copse', 'top_k=1000')).results.map((result) => result.score);
    expect(scores).toEqual([...scores].sort((a, b) => b - a));
  });

  it('returns all memories that match a filter', async () => {
    expect((await memoryd.recall('bramble', 'top_k=1000&source=odd')).total).toBe(150);
  });

  it.each([5, 50, 100, 1000])('ranks a superseded strong match below its weaker successor with top_k=%i', async (k) => {
    const old = await memoryd.store({ content: 'bramble bramble copse copse bramble', session_id: 'pruned' });
    const content = `${'the report goes on about other matters '.repeat(12)} and then of one bramble`;
    const successor = await memoryd.store({ content, supersedes: old, session_id: 'pruned' });
    const ids = await memoryd.recalled('bramble copse', `top_k=${k}`);
    if (ids.includes(old)) {
      expect(ids).toContain(successor);
      expect(ids.indexOf(old)).toBeGreaterThan(ids.indexOf(successor));
    }
    await memoryd.forgetMany('session_id=pruned');
  });
});

describe('recall filters before it limits the results to top_k', () => {
  const inside = '2020-06-01T12:00:00.000Z';
  const late = '2024-01-01T00:00:00.000Z';

  interface FilterRow {
    row: string;
    filter: string;
    /** Fields of the memory that matches the filter. */
    target: Partial<StoreRequest>;
    /** Fields of the better text matches that the filter must exclude. */
    decoy: Partial<StoreRequest>;
  }
  const rows: FilterRow[] = [
    { row: 'by tag', filter: 'tag=rare', target: { tags: ['x', 'rare'] }, decoy: { tags: ['rarely'] } },
    { row: 'by tag, case-sensitively', filter: 'tag=Rare', target: { tags: ['Rare'] }, decoy: { tags: ['rare'] } },
    {
      row: 'by two tags, which must both match',
      filter: 'tag=a&tag=b',
      target: { tags: ['b', 'c', 'a'] },
      decoy: { tags: ['a'] },
    },
    {
      row: 'by a tag with special characters',
      filter: 'tag=a%25_%22%2C',
      target: { tags: ['a%_",'] },
      decoy: { tags: ['ab_",'] },
    },
    { row: 'by session_id', filter: 'session_id=s%2F1', target: { session_id: 's/1' }, decoy: { session_id: 's/10' } },
    { row: 'by source', filter: 'source=mail', target: { source: 'mail' }, decoy: { source: 'Mail' } },
    {
      row: 'by since',
      filter: 'since=2023-01-01T00:00:00Z',
      target: { created_at: late },
      decoy: { created_at: inside },
    },
    {
      row: 'by since, inclusive',
      filter: `since=${late}`,
      target: { created_at: late },
      decoy: { created_at: inside },
    },
    {
      row: 'by since, excluding a millisecond earlier',
      filter: 'since=2020-06-01T12:00:00.001Z',
      target: { created_at: '2020-06-01T12:00:00.001Z' },
      decoy: { created_at: inside },
    },
    {
      row: 'by since with an offset',
      filter: `since=${encodeURIComponent('2020-06-01T14:00:00+02:00')}`,
      target: { created_at: inside },
      decoy: { created_at: '2020-06-01T11:59:59Z' },
    },
    {
      row: 'by until',
      filter: 'until=2023-01-01T00:00:00Z',
      target: { created_at: inside },
      decoy: { created_at: late },
    },
    {
      row: 'by until, inclusive',
      filter: `until=${inside}`,
      target: { created_at: inside },
      decoy: { created_at: late },
    },
    {
      row: 'by since with an offset whose + is not percent-encoded',
      filter: 'since=2020-06-01T14:00:00+02:00',
      target: { created_at: inside },
      decoy: { created_at: '2020-06-01T11:59:59Z' },
    },
    {
      row: 'by until with a date, including the whole day',
      filter: 'until=2020-06-01',
      target: { created_at: '2020-06-01T23:59:59.999Z' },
      decoy: { created_at: '2020-06-02T00:00:00.000Z' },
    },
    {
      row: 'by since and until',
      filter: 'since=2020-01-01T00:00:00Z&until=2021-01-01T00:00:00Z',
      target: { created_at: inside },
      decoy: { created_at: late },
    },
    {
      row: 'by metadata with a string',
      filter: 'metadata.kind=report',
      target: { metadata: { kind: 'report' } },
      decoy: { metadata: { kind: 'reports' } },
    },
    {
      row: 'by metadata with a number',
      filter: 'metadata.n=7',
      target: { metadata: { n: 7 } },
      decoy: { metadata: { n: 70 } },
    },
    {
      row: 'by metadata with a boolean',
      filter: 'metadata.done=true',
      target: { metadata: { done: true } },
      decoy: { metadata: { done: false } },
    },
    {
      row: 'by metadata with a dot in its name',
      filter: 'metadata.a.b=1',
      target: { metadata: { 'a.b': 1 } },
      decoy: { metadata: { a: { b: 1 } } },
    },
    {
      row: 'by metadata with quotes in its name',
      filter: 'metadata.%22q%27=v',
      target: { metadata: { '"q\'': 'v' } },
      decoy: { metadata: { q: 'v' } },
    },
    {
      row: 'by metadata with brackets in its name',
      filter: 'metadata.a%5B0%5D=v',
      target: { metadata: { 'a[0]': 'v' } },
      decoy: { metadata: { a: ['v'] } },
    },
    {
      row: 'by metadata with line breaks in its name',
      filter: 'metadata.k%0Al%0D%E2%80%A8=nl',
      target: { metadata: { 'k\nl\r\u2028': 'nl' } },
      decoy: { metadata: { k: 'nl' } },
    },
    {
      row: 'by two metadata fields',
      filter: 'metadata.a=1&metadata.b=2',
      target: { metadata: { a: '1', b: '2' } },
      decoy: { metadata: { a: '1', b: '3' } },
    },
    {
      row: 'by all filters at once',
      filter: `tag=t&session_id=all&source=m&since=${inside}&until=${inside}&metadata.k=v&tier=working`,
      target: { tags: ['t'], session_id: 'all', source: 'm', created_at: inside, metadata: { k: 'v' } },
      decoy: { tags: ['t'], session_id: 'all', source: 'm', created_at: inside, metadata: { k: 'w' } },
    },
  ];

  // Each row has a unique word of letters only, so that no word is part of another.
  const toWord = (n: number) => `flume${'abcdefghijklmnopqrstuvwxyz'.charAt(n).repeat(3)}`;
  it.each(rows.map((row, n) => ({ ...row, word: toWord(n) })))(
    'recall filters before it limits the results to top_k $row',
    async ({ word, filter, target, decoy }) => {
      const strong = Array.from({ length: 12 }, () => ({ ...decoy, content: `${word} ${word}` }));
      const [id] = await memoryd.storeAll([
        { ...target, content: `a long and rambling note in which ${word} occurs but once, among many other things` },
        ...strong,
      ]);
      expect(await memoryd.recalled(word, `top_k=1&${filter}`)).toEqual([id]);
      expect(await memoryd.recalled(word, `top_k=100&${filter}`)).toEqual([id]);
    },
  );

  it('recall filters before it limits the results to top_k by tier', async () => {
    const [promoted, working] = [await memoryd.store({ content: 'a promoted gargoyle' }), 'a gargoyle gargoyle'];
    await memoryd.consolidate();
    const fresh = await memoryd.store({ content: working });
    expect(await memoryd.recalled('gargoyle', 'top_k=1&tier=episodic')).toEqual([promoted]);
    expect(await memoryd.recalled('gargoyle', 'top_k=9&tier=working')).toEqual([fresh]);
    expect(await memoryd.recalled('gargoyle', 'top_k=9&tier=semantic')).toEqual([]);
  });

  it('recall filters before it limits the results to top_k by min_score', async () => {
    await memoryd.storeAll(
      ['quince jam', 'quince', 'a quince tree in the corner of a large and otherwise empty garden'].map((content) => ({
        content,
      })),
    );
    const { results: all } = await memoryd.recall('quince jam', 'top_k=100');
    const minScore = ((all[0]?.score ?? 0) + (all[1]?.score ?? 0)) / 2;
    const { results: above } = await memoryd.recall('quince jam', `top_k=100&min_score=${minScore}`);
    expect(above).toEqual(all.filter((result) => result.score >= minScore));
    expect(above.length).toBeLessThan(all.length);
    for (const none of ['0', '1e-9', '0.0E0']) {
      expect((await memoryd.recall('quince jam', `top_k=100&min_score=${none}`)).results).toEqual(all);
    }
    for (const { id, score } of all) {
      expect(await memoryd.recalled('quince jam', `top_k=100&min_score=${score}`)).toContain(id);
    }
  });

  it('recall filters before it limits the results to top_k by a tag that no memory has, with no results', async () => {
    expect(await memoryd.recall('quince', 'tag=never-given')).toEqual({ results: [], total: 0 });
  });
});

describe('GET /recall with only_relevant', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  const answered = 'Does the spare key to the house hang behind the cellar door?';
  const unanswered = 'Which office did the architect of the old cathedral design after the great flood?';
  let keyId: string;
  beforeAll(async () => {
    keyId = await memoryd.store({ content: 'The spare key to the house hangs behind the cellar door.' });
    await memoryd.storeAll([
      { content: 'Ada takes the train to her office on Mondays.' },
      { content: 'The house was painted in the spring before last, and the garden shed along with it.' },
    ]);
  });

  it('returns the memory that answers the query, and no result below the threshold', async () => {
    const { results: all } = await memoryd.recall(answered);
    const { results } = await memoryd.recall(answered, 'only_relevant=true');
    expect(results.map(({ id }) => id)).toEqual([keyId]);
    expect(results).toEqual(all.filter(({ score }) => score >= WEIGHTS.relevantScore));
    expect(all.length).toBeGreaterThan(results.length);
  });

  it('returns nothing for a query that no memory answers', async () => {
    expect((await memoryd.recall(unanswered)).total).toBeGreaterThan(0);
    expect(await memoryd.recall(unanswered, 'only_relevant=true')).toEqual({ results: [], total: 0 });
  });

  it('returns the same results with false as without the parameter', async () => {
    expect(await memoryd.recall(unanswered, 'only_relevant=false')).toEqual(await memoryd.recall(unanswered));
  });

  it('GET /recall with only_relevant does not lower a min_score that is higher than the threshold', async () => {
    expect(await memoryd.recalled(answered, 'only_relevant=true&min_score=1')).toEqual([]);
    expect(await memoryd.recalled(answered, 'only_relevant=true&min_score=0.00001')).toEqual([keyId]);
  });

  it('returns 400 with the field and its valid values for a value other than true and false', async () => {
    const response = await memoryd.send<ErrorResponse>({ path: '/recall?query=key&only_relevant=maybe' });
    expectError(response, { field: 'only_relevant' });
    expect(response.body.error.message).toBe('only_relevant must be true or false');
  });
});

describe('highlight', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  const log = `${'Nothing to report from the night watch. '.repeat(2500)}The password of the boathouse is zanzibar.`;
  beforeAll(async () => {
    await memoryd.storeAll([{ content: log }, { content: 'A password is never written on paper.' }]);
  });
  const getHighlights = async (query: string, parameters = 'highlight=true') =>
    new Map((await memoryd.recall(query, parameters)).results.map(({ content, highlight }) => [content, highlight]));

  it('highlight is the part of the content around a rare word, even at the end of 100,000 characters', async () => {
    expect(log.length).toBeGreaterThan(100_000);
    const highlight = (await getHighlights('zanzibar')).get(log) as string;
    expect(log.endsWith(highlight)).toBe(true);
    expect(highlight).toContain('The password of the boathouse is zanzibar.');
    expect(highlight.length).toBeLessThanOrEqual(300);
  });

  it('highlight is the whole content if the content is short', async () => {
    const highlights = await getHighlights('password');
    expect(highlights.size).toBe(2);
    expect(highlights.get('A password is never written on paper.')).toBe('A password is never written on paper.');
  });

  it('highlight is absent by default and with highlight=false', async () => {
    const results = [...(await memoryd.recall('password')).results];
    expect(results.length).toBeGreaterThan(0);
    for (const result of results) expect(result).not.toHaveProperty('highlight');
    const { results: same } = await memoryd.recall('password', 'highlight=false');
    expect(same).toEqual(results);
  });

  it('highlight as a query parameter must be true or false', async () => {
    const response = await memoryd.send<ErrorResponse>({ path: '/recall?query=key&highlight=maybe' });
    expectError(response, { field: 'highlight' });
    expect(response.body.error.message).toBe('highlight must be true or false');
  });
});

describe('a superseded memory', () => {
  it('a superseded memory is ranked below its successor and returned with superseded_by', async () => {
    const old = await memoryd.store({ content: 'wifi password wifi password bluewhale' });
    const successor = await memoryd.store({
      content: 'since the move, the office wifi has a new password',
      supersedes: old,
    });
    const { results } = await memoryd.recall('wifi password bluewhale');
    expect(results.map((result) => result.id)).toEqual([successor, old]);
    expect(results[1]?.superseded_by).toBe(successor);
    expect(results[0]).not.toHaveProperty('superseded_by');
    expect(results[0]?.score).toBeGreaterThanOrEqual(results[1]?.score ?? 1);
  });

  it('a superseded memory is ranked below all later memories in a chain of successors', async () => {
    const first = await memoryd.store({ content: 'the gryphon gryphon gryphon is asleep' });
    const second = await memoryd.store({ content: 'the gryphon gryphon is awake', supersedes: first });
    const third = await memoryd.store({ content: 'well, the gryphon has left for good, they say', supersedes: second });
    expect(await memoryd.recalled('gryphon')).toEqual([third, second, first]);
  });

  it('remains in its session', async () => {
    const old = await memoryd.store({ content: 'before', session_id: 'corrected' });
    const successor = await memoryd.store({ content: 'after', session_id: 'corrected', supersedes: old });
    const { memories } = await memoryd.session('corrected');
    expect(memories.map((memory) => memory.id)).toEqual([old, successor]);
  });

  it('a superseded memory has no superseded_by after its successor is forgotten', async () => {
    const old = await memoryd.store({ content: 'the heliotrope blooms in May' });
    const successor = await memoryd.store({ content: 'the heliotrope blooms in June', supersedes: old });
    await memoryd.forget(successor);
    const { results } = await memoryd.recall('heliotrope');
    expect(results).toHaveLength(1);
    expect(results[0]).not.toHaveProperty('superseded_by');
  });
});

describe('a recall response limited by SERVICE_MAX_ANSWER_BYTES', () => {
  const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_MAX_ANSWER_BYTES: '20000' } });

  it('contains only the best results, truncated: true, and the number of returned results as total', async () => {
    await memoryd.storeAll(Array.from({ length: 10 }, (_, n) => ({ content: `monsoon ${n} `.repeat(400) })));
    const answer = await memoryd.recall('monsoon', 'top_k=10');
    expect(answer.truncated).toBe(true);
    expect(answer.total).toBe(answer.results.length);
    expect(answer.results.length).toBeGreaterThanOrEqual(1);
    expect(answer.results.length).toBeLessThan(10);
    expect(JSON.stringify(answer).length).toBeLessThanOrEqual(22_000);
    expect(answer.results[0]).toEqual((await memoryd.recall('monsoon', 'top_k=1')).results[0]);
  });

  it('a recall response limited by SERVICE_MAX_ANSWER_BYTES has no truncated field if all results fit', async () => {
    await memoryd.store({ content: 'a short sirocco' });
    expect(await memoryd.recall('sirocco')).not.toHaveProperty('truncated');
  });
});
