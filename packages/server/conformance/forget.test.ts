import type { ForgetManyResponse, StoreRequest } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { uniqueWord } from './database-files.ts';
import { databaseHolds } from './databases.ts';
import { eventually } from './process.ts';
import { expectRefused } from './refusal.ts';
import { type Client, expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

const PURGE_TIMEOUT_MS = 5_000;

const memoryd = useServer({ env: WORDS_ONLY });

describe('DELETE /forget/{memory_id}', () => {
  it('returns 200 with the status "forgotten" and the id', async () => {
    const id = await memoryd.store({ content: 'short-lived' });
    const { purge, ...answer } = await memoryd.forget(id);
    expect(answer).toEqual({ status: 'forgotten', id });
    expect([undefined, 'pending']).toContain(purge);
  });

  it('removes the memory from recall, from its session and from lists', async () => {
    const id = await memoryd.store({ content: 'the bandicoot burrow', session_id: 'gone', tags: ['gone'] });
    await memoryd.forget(id);
    expect(await memoryd.getStatus(id)).toBe(404);
    expect(await memoryd.recalled('bandicoot')).toEqual([]);
    expect((await memoryd.session('gone')).total).toBe(0);
    expect((await memoryd.memories('tag=gone')).total).toBe(0);
  });

  it('removes the memory from the counts', async () => {
    const before = await memoryd.stats();
    const ids = await memoryd.storeAll([{ content: 'counted' }, { content: 'counted too' }]);
    for (const id of ids) await memoryd.forget(id);
    expect(await memoryd.stats()).toMatchObject({
      working_count: before.working_count,
      episodic_count: before.episodic_count,
    });
  });

  it('returns 404 for a forgotten memory', async () => {
    const id = await memoryd.store({ content: 'once only' });
    await memoryd.forget(id);
    await expectRefused(memoryd, { method: 'DELETE', path: `/forget/${id}` }, { code: 'NOT_FOUND' });
  });

  it('returns 404 for an unknown id and forgets nothing', async () => {
    const before = (await memoryd.memories()).total;
    await expectRefused(memoryd, { method: 'DELETE', path: '/forget/unknown' }, { code: 'NOT_FOUND' });
    expect((await memoryd.memories()).total).toBe(before);
  });

  it('succeeds for exactly one of five concurrent callers', async () => {
    const id = await memoryd.store({ content: 'fought over' });
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => memoryd.send({ method: 'DELETE', path: `/forget/${id}` })),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 404, 404, 404, 404]);
  });

  it('accepts a JSON content type without a body', async () => {
    const id = await memoryd.store({ content: 'with a content type' });
    const headers = { 'content-type': 'application/json' };
    expect((await memoryd.send({ method: 'DELETE', path: `/forget/${id}`, headers })).status).toBe(200);
  });

  it('DELETE /forget/{memory_id} also forgets the hidden duplicates of a visible memory, and returns their ids', async () => {
    const ids = await memoryd.storeAll(
      Array.from({ length: 3 }, () => ({ content: 'thrice told', session_id: 'duplicates' })),
    );
    await memoryd.consolidate();
    const memories = await Promise.all(ids.map((id) => memoryd.memory(id)));
    const survivor = memories.find((memory) => memory.merged_into === null)?.id ?? '';
    const duplicates = ids.filter((id) => id !== survivor).sort();
    expect((await memoryd.forget(survivor)).also_forgotten?.sort()).toEqual(duplicates);
    for (const id of ids) expect(await memoryd.getStatus(id)).toBe(404);
    expect((await memoryd.session('duplicates')).total).toBe(0);
  });

  it('forgets only the hidden duplicate with this id, and returns the ids of memories with the same text', async () => {
    const [visible = '', hidden = ''] = await memoryd.storeInOrder(
      [0, 1].map(() => ({ content: 'the double okapi', session_id: 'hidden named' })),
    );
    await memoryd.consolidate();
    expect(await memoryd.forget(hidden)).toMatchObject({ remaining_duplicates: [visible] });
    expect(await memoryd.getStatus(hidden)).toBe(404);
    expect((await memoryd.session('hidden named')).memories.map((memory) => memory.id)).toEqual([visible]);
  });
});

describe('DELETE /memories', () => {
  const early = '2020-01-01T00:00:00.000Z';
  const late = '2024-01-01T00:00:00.000Z';

  interface ManyRow {
    row: string;
    parameters: string;
    goes: Partial<StoreRequest>;
    stays: Partial<StoreRequest>;
  }
  const rows: ManyRow[] = [
    { row: 'session_id', parameters: 'session_id=s1', goes: { session_id: 's1' }, stays: { session_id: 's10' } },
    {
      row: 'a session_id that needs encoding',
      parameters: 'session_id=s%2F1%25',
      goes: { session_id: 's/1%' },
      stays: { session_id: 's/1' },
    },
    { row: 'tag', parameters: 'tag=t1', goes: { tags: ['x', 't1'] }, stays: { tags: ['t10'] } },
    { row: 'source', parameters: 'source=src1', goes: { source: 'src1' }, stays: { source: 'src10' } },
    {
      row: 'before',
      parameters: 'before=2021-01-01T00:00:00Z',
      goes: { created_at: early },
      stays: { created_at: late },
    },
    {
      row: 'before, with a + that was not percent-encoded',
      parameters: 'before=2021-01-01T02:00+02',
      goes: { created_at: early },
      stays: { created_at: late },
    },
    {
      row: 'metadata',
      parameters: 'metadata.chat=c%201',
      goes: { metadata: { chat: 'c 1', n: 1 } },
      stays: { metadata: { chat: 'c 10' } },
    },
    {
      row: 'metadata in brackets',
      parameters: 'metadata%5Broom%5D=1',
      goes: { metadata: { room: 1 } },
      stays: { metadata: { room: 10, '[room]': 1 } },
    },
    {
      row: 'metadata and tag together',
      parameters: 'metadata.chat=7&metadata.kind=note&tag=m',
      goes: { metadata: { chat: 7, kind: 'note' }, tags: ['m'] },
      stays: { metadata: { chat: 7, kind: 'note' }, tags: ['n'] },
    },
    {
      row: 'session_id and tag together',
      parameters: 'session_id=both&tag=both',
      goes: { session_id: 'both', tags: ['both'] },
      stays: { session_id: 'both', tags: ['one'] },
    },
    {
      row: 'source and before together',
      parameters: `source=both&before=2021-01-01T00:00:00Z`,
      goes: { source: 'both', created_at: early },
      stays: { source: 'both', created_at: late },
    },
  ];
  it.each(rows)(
    'forgets only the memories selected by $row, and returns their number',
    async ({ parameters, goes, stays }) => {
      const gone = await memoryd.storeAll([0, 1, 2].map((n) => ({ content: `goes ${n}`, ...goes })));
      const kept = await memoryd.storeAll([0, 1].map((n) => ({ content: `stays ${n}`, ...stays })));
      const { purge, ...answer } = await memoryd.forgetMany(parameters);
      expect(answer).toEqual({ status: 'forgotten', forgotten_count: 3 });
      expect([undefined, 'pending']).toContain(purge);
      for (const id of gone) expect(await memoryd.getStatus(id)).toBe(404);
      for (const id of kept) expect(await memoryd.getStatus(id)).toBe(200);
    },
  );

  it('returns 0 if no memory is selected', async () => {
    expect(await memoryd.forgetMany('session_id=nobody')).toMatchObject({ status: 'forgotten', forgotten_count: 0 });
  });

  it('rejects a request without filter parameters', async () => {
    const before = (await memoryd.memories()).total;
    await expectRefused(memoryd, { method: 'DELETE', path: '/memories' });
    await expectRefused(memoryd, { method: 'DELETE', path: '/memories?' });
    expect((await memoryd.memories()).total).toBe(before);
  });

  it.each([1, 8, 40])('forgets nothing if all of its %i parameters are unknown', async (count) => {
    const id = await memoryd.store({ content: 'stays' });
    const parameters = Array.from({ length: count }, (_, n) => `unknown${n}=1`).join('&');
    const answer = await memoryd.send({ method: 'DELETE', path: `/memories?${parameters}` });
    expect(answer.status).toBe(400);
    expect(await memoryd.getStatus(id)).toBe(200);
  });

  it('rejects an unknown filter parameter, and forgets nothing', async () => {
    const id = await memoryd.store({ content: 'safe', session_id: 'safe' });
    await expectRefused(
      memoryd,
      { method: 'DELETE', path: '/memories?session_id=safe&colour=red' },
      { field: 'colour' },
    );
    expect(await memoryd.getStatus(id)).toBe(200);
  });

  it('forgets merged duplicates and expired memories of a session', async () => {
    const session_id = 'everything';
    await memoryd.storeAll([
      { content: 'same', session_id },
      { content: 'same', session_id },
      { content: 'over', session_id, expires_at: '2001-01-01T00:00:00Z' },
    ]);
    await memoryd.consolidate();
    expect((await memoryd.forgetMany(`session_id=${session_id}`)).forgotten_count).toBeGreaterThanOrEqual(2);
    expect((await memoryd.session(session_id)).total).toBe(0);
  });

  it('forgets 2,000 memories in one request', async () => {
    await memoryd.storeAll(Array.from({ length: 2000 }, (_, n) => ({ content: `bulk ${n}`, session_id: 'bulk' })));
    const answer = await memoryd.ok<ForgetManyResponse>({ method: 'DELETE', path: '/memories?session_id=bulk' });
    expect(answer.forgotten_count).toBe(2000);
    expect((await memoryd.session('bulk')).total).toBe(0);
  });
});

describe('a forget leaves no trace in the database', () => {
  interface PurgeRow {
    row: string;
    /** Stores the word somewhere in a memory and returns a function that forgets the memory. */
    plant: (client: Client, word: string) => Promise<() => Promise<{ purge?: 'pending' }>>;
  }
  const storing = (getMemory: (word: string) => StoreRequest): PurgeRow['plant'] => {
    return async (client, word) => {
      const id = await client.store(getMemory(word));
      return () => client.forget(id);
    };
  };
  const rows: PurgeRow[] = [
    { row: 'of the text', plant: storing((word) => ({ content: `remember ${word} for me` })) },
    { row: 'of the tags', plant: storing((word) => ({ content: 'tagged', tags: ['a', word] })) },
    {
      row: 'of the metadata',
      plant: storing((word) => ({ content: 'with metadata', metadata: { k: { deep: word } } })),
    },
    {
      row: 'of the names in the metadata',
      plant: storing((word) => ({ content: 'with metadata', metadata: { [word]: 1 } })),
    },
    { row: 'of the source', plant: storing((word) => ({ content: 'from somewhere', source: word })) },
    {
      row: 'of the external id, which was also in an idempotent request',
      plant: async (client, word) => {
        const json = { content: 'named', external_id: `name ${word}` };
        const id = await client.store(json, { 'idempotency-key': `name of ${label(word)}` });
        await client.store({ ...json, content: 'named and changed' });
        return () => client.forget(id);
      },
    },
    {
      row: 'of an attachment that a repeated store replaced',
      plant: async (client, word) => {
        const json = { content: 'attached', external_id: `attached ${label(word)}` };
        await client.store({ ...json, attachment: `first ${word}` });
        const id = await client.store({ ...json, attachment: `second ${word}` });
        return () => client.forget(id);
      },
    },
    { row: 'of a long text', plant: storing((word) => ({ content: `${'padding '.repeat(20_000)} ${word}` })) },
    {
      row: 'of an earlier text',
      plant: async (client, word) => {
        const id = await client.store({ content: `first ${word}` });
        await client.update(id, { content: 'second' });
        return () => client.forget(id);
      },
    },
    {
      row: 'of earlier tags and metadata',
      plant: async (client, word) => {
        const id = await client.store({ content: 'first', tags: [word], metadata: { word } });
        await client.update(id, { tags: [], metadata: {} });
        return () => client.forget(id);
      },
    },
    {
      row: 'of the text of a promoted memory',
      plant: async (client, word) => {
        const id = await client.store({ content: `promoted ${word}` });
        await client.consolidate();
        return () => client.forget(id);
      },
    },
    {
      row: 'of merged duplicates',
      plant: async (client, word) => {
        const ids = await client.storeAll([0, 1].map(() => ({ content: `duplicate ${word}`, session_id: word })));
        await client.consolidate();
        const memories = await Promise.all(ids.map((id) => client.memory(id)));
        const survivor = memories.find((memory) => memory.merged_into === null)?.id ?? '';
        return () => client.forget(survivor);
      },
    },
    {
      row: 'of a text stored with an idempotency key',
      plant: async (client, word) => {
        const id = await client.store({ content: `keyed ${word}` }, { 'idempotency-key': `key of ${label(word)}` });
        return () => client.forget(id);
      },
    },
    {
      row: 'of a text that was a recall query',
      plant: async (client, word) => {
        const id = await client.store({ content: `asked for ${word}` });
        expect(await client.recalled(word)).toEqual([id]);
        return () => client.forget(id);
      },
    },
    {
      row: 'of texts forgotten by session',
      plant: async (client, word) => {
        const session_id = `session ${label(word)}`;
        await client.storeAll([0, 1, 2].map((n) => ({ content: `${n} ${word}`, session_id })));
        return () => client.forgetMany(`session_id=${encodeURIComponent(session_id)}`);
      },
    },
    {
      row: 'of a text forgotten while others are stored and recalled',
      plant: async (client, word) => {
        const id = await client.store({ content: `under load ${word}` });
        return async () => {
          const load = Array.from({ length: 60 }, async (_, n) => {
            await client.store({ content: `bystander ${n}` });
            await client.recall('bystander', 'top_k=50');
          });
          const [answer] = await Promise.all([client.forget(id), ...load]);
          return answer;
        };
      },
    },
  ];

  /** Returns a label for the word that is too short to be found as the word. */
  function label(word: string): string {
    return word.slice(0, 3);
  }

  it.each(rows)('a forget leaves no trace in the database $row', async ({ plant }) => {
    const word = uniqueWord();
    const { database } = memoryd.server;
    const forget = await plant(memoryd, word);
    expect(await databaseHolds(database, word), 'the database contains the word before the forget').toBe(true);
    const { purge } = await forget();
    if (purge === undefined) {
      expect(await databaseHolds(database, word), 'the database contains the word after the response').toBe(false);
    } else {
      await eventually('the purge', PURGE_TIMEOUT_MS, async () => !(await databaseHolds(database, word)) || undefined);
    }
    expect(await memoryd.recalled(word)).toEqual([]);
  });

  it('a forget leaves no trace in the database after the server has stopped', async () => {
    const word = uniqueWord();
    const first = await startClient({ env: WORDS_ONLY });
    await first.storeAll(Array.from({ length: 50 }, (_, n) => ({ content: `neighbor ${n}` })));
    await first.forget(await first.store({ content: word, tags: [word] }));
    await expectCleanEnd(first.server);
    expect(await databaseHolds(first.server.database, word)).toBe(false);
  });
});
