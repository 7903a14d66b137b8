import type { ImportedText, ImportTextsRequest, OwnScopeRequest } from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import type { Part } from './format.ts';
import { type ImportPartsOptions, importParts } from './import-parts.ts';
import { createText, toParts } from './test-format.fixture.ts';

/** Imports parts, and returns the response with the texts and the request that reached the store. */
async function run(parts: readonly Part[], { scope = {}, ...options }: Partial<ImportPartsOptions> = {}) {
  const texts: ImportedText[] = [];
  const requests: ImportTextsRequest[] = [];
  const store = {
    async importTexts(given: AsyncIterable<ImportedText>, request: ImportTextsRequest) {
      requests.push(request);
      for await (const text of given) texts.push(text);
      const error = { code: 'INVALID_REQUEST', message: 'the quota is used up' } as const;
      const refused = texts.slice(0, 1).map(({ external_id }) => ({ place: external_id, error }));
      const counts = { imported_count: texts.length - 1, updated_count: 0, unchanged_count: 0, refused_count: 1 };
      return { import_id: 'import 1', ...counts, refused };
    },
  };
  const reading = { from: 'mem0', name: 'ada.json', contentKey: 'key', read: () => toParts(parts) } as const;
  const response = importParts(store, reading, { scope, ...options });
  return { response, texts, requests };
}

const refusal: Part = { kind: 'refused', place: 'item 9', reason: 'it is no object' };

describe('importParts', () => {
  it('previews counts, sessions, times, first texts and what is left out', async () => {
    const parts: Part[] = [
      createText({ external_id: 'a', session_id: 's1', created_at: '2025-03-02T10:00:00+02:00', tags: ['role:user'] }),
      createText({ external_id: 'b', session_id: 's1', created_at: '2024-03-02T10:00:00Z', content: '😀'.repeat(400) }),
      ...['c', 'd', 'e', 'f'].map((id) => createText({ external_id: id, session_id: 's2' })),
      { kind: 'left-out', reason: 'tool', count: 2 },
      { kind: 'left-out', reason: 'hidden', count: 0 },
      { kind: 'left-out', reason: 'tool', count: 3 },
      refusal,
    ];
    const { response, requests } = await run(parts, { dryRun: true });
    const { first, ...preview } = await response;
    expect(preview).toEqual({
      ...{ from: 'mem0', found_count: 6, session_count: 2 },
      ...{ first_at: '2024-03-02T10:00:00.000Z', last_at: '2025-03-02T08:00:00.000Z' },
      left_out: [{ reason: 'calls of tools and their results', count: 5 }],
      ...{ imported_count: 0, updated_count: 0, unchanged_count: 0, refused_count: 1 },
      refused: [{ place: 'item 9', error: { code: 'INVALID_REQUEST', message: 'it is no object' } }],
    });
    expect(first.map(({ external_id }) => external_id)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(first[0]).toEqual({
      ...{ content: 'text of a', tags: ['role:user'], session_id: 's1' },
      ...{ created_at: '2025-03-02T10:00:00+02:00', external_id: 'a' },
    });
    expect(first[1]?.content).toBe('😀'.repeat(300));
    expect(requests).toEqual([]);
  });

  it('lists refused items of the reading and of the storing together', async () => {
    const { response } = await run([createText({ external_id: 'a' }), createText({ external_id: 'b' }), refusal]);
    const { import_id, refused, refused_count } = await response;
    expect({ import_id, refused_count }).toEqual({ import_id: 'import 1', refused_count: 2 });
    expect(refused.map(({ place }) => place)).toEqual(['item 9', 'a']);
  });

  it('counts all refused items, and lists the first 100', async () => {
    const { response } = await run([createText({ external_id: 'a' }), ...Array.from({ length: 250 }, () => refusal)]);
    const { refused, refused_count } = await response;
    expect({ refused_count, listed: refused.length }).toEqual({ refused_count: 251, listed: 100 });
  });

  it.each([
    { name: 'there are no texts', parts: [refusal], options: {} },
    {
      name: 'the person declines',
      parts: [createText({ external_id: 'a' })],
      options: { onPreview: async () => false },
    },
  ])('stores nothing and has no import id if $name', async ({ parts, options }) => {
    const { response, requests } = await run(parts, options);
    expect(await response).not.toHaveProperty('import_id');
    expect(requests).toEqual([]);
  });

  it('reports progress with the total, and passes the request on', async () => {
    const progress: [number, number][] = [];
    const { response, requests } = await run([createText({ external_id: 'a' }), createText({ external_id: 'b' })], {
      ...{ scope: { user_id: 'ada', agent_id: 'cook' }, redact: false },
      onProgress: (...step) => progress.push(step),
    });
    await response;
    expect(progress).toEqual([
      [1, 2],
      [2, 2],
    ]);
    expect(requests).toEqual([
      {
        ...{ user_id: 'ada', agent_id: 'cook', from: 'mem0', name: 'ada.json', content_key: 'key' },
        ...{ expected_count: 2, redact: false },
      },
    ]);
  });

  it('stops storing when the signal is aborted', async () => {
    const controller = new AbortController();
    const reason = new Error('the client disconnected');
    const { response, texts } = await run([createText({ external_id: 'a' }), createText({ external_id: 'b' })], {
      signal: controller.signal,
      onProgress: () => controller.abort(reason),
    });
    await expect(response).rejects.toBe(reason);
    expect(texts).toHaveLength(1);
  });
});

describe('the owner of imported texts', () => {
  const ofAda = createText({ external_id: 'a', user_id: 'alice', metadata: { room: 'hall' } });
  const ofBen = createText({ external_id: 'b', user_id: 'bob' });
  const ofNobody = createText({ external_id: 'n' });

  it.each<{ name: string; parts: Part[]; scope: OwnScopeRequest; sourceUser?: string; expected: object[] }>([
    {
      name: 'to the requested user, whose name in the source becomes metadata',
      ...{ parts: [ofAda, ofNobody], scope: { user_id: 'ada' } },
      expected: [{ user_id: 'ada', metadata: { room: 'hall', source_user: 'alice' } }, { user_id: 'ada' }],
    },
    {
      name: 'to the user of the source without a requested user',
      ...{ parts: [ofAda, ofBen, ofNobody], scope: {} },
      expected: [{ user_id: 'alice', metadata: { room: 'hall' } }, { user_id: 'bob' }, {}],
    },
    {
      name: 'to the requested agent, and the user of the source',
      ...{ parts: [ofBen], scope: { agent_id: 'cook' } },
      expected: [{ user_id: 'bob', agent_id: 'cook' }],
    },
    {
      name: 'to the requested user for the texts of one user of several',
      ...{ parts: [ofAda, ofBen, ofNobody], scope: { user_id: 'ben' }, sourceUser: 'bob' },
      expected: [{ user_id: 'ben', metadata: { source_user: 'bob' } }],
    },
  ])('assigns texts $name', async ({ parts, expected, scope, sourceUser }) => {
    const { response, texts } = await run(parts, { scope, sourceUser });
    const { left_out, found_count } = await response;
    expect(texts).toEqual(
      expected.map((fields) => ({ external_id: expect.any(String), content: expect.any(String), ...fields })),
    );
    expect(found_count).toBe(expected.length);
    const others = parts.length - expected.length;
    expect(left_out).toEqual(others > 0 ? [{ reason: 'memories of other users', count: others }] : []);
  });

  it.each([
    {
      name: 'several users are to become one',
      ...{ parts: [ofAda, ofBen], options: { scope: { user_id: 'ada' } } },
      message: /source_user must name one user of the source \("alice", "bob"\)/,
    },
    {
      name: 'the picked user is unknown',
      ...{ parts: [ofAda, ofBen], options: { sourceUser: 'Alice' } },
      message: /source_user must be a user of the source \("alice", "bob"\), not "Alice"$/,
    },
    {
      name: 'the source names no users to pick from',
      ...{ parts: [ofNobody], options: { sourceUser: 'alice' } },
      message: /source_user must be absent, because the source names no users/,
    },
    {
      name: 'there are more users than a message can name',
      parts: Array.from({ length: 150 }, (_, i) => createText({ external_id: `${i}`, user_id: `u${i}` })),
      options: { scope: { user_id: 'ada' } },
      message: /"u9" and more than 90 others\)/,
    },
  ])('refuses a source before anything is stored if $name', async ({ parts, options, message }) => {
    const { response, requests } = await run(parts, options);
    await expect(response).rejects.toMatchObject({ code: 'INVALID_REQUEST', message: expect.stringMatching(message) });
    expect(requests).toEqual([]);
  });

  it('creates a separate import for each selected user', async () => {
    const requests = await Promise.all(
      ['alice', 'bob'].map(async (sourceUser) => {
        const { response, requests } = await run([ofAda, ofBen], { scope: { user_id: 'ada' }, sourceUser });
        await response;
        return requests[0]?.content_key;
      }),
    );
    expect(new Set([...requests, 'key']).size).toBe(3);
  });

  it('leaves out the user of the source if metadata would exceed its limit', async () => {
    const metadata = { notes: 'x'.repeat(16_370) };
    const { response, texts } = await run([createText({ external_id: 'a', user_id: 'alice', metadata })], {
      scope: { user_id: 'ada' },
    });
    await response;
    expect(texts[0]?.metadata).toEqual(metadata);
  });
});
