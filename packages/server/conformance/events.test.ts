import type { ConsolidateResponse, ErrorResponse, MemoryEvent } from '@memoryd/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type EventReader, readEvents } from './event-reader.ts';
import { eventually } from './process.ts';
import { expectRefused } from './refusal.ts';
import { expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

const memoryd = useServer({ env: WORDS_ONLY });

/** Opens a stream of events and destroys it when the test ends. */
async function follow(parameters = '', lastEventId?: string, { server } = memoryd): Promise<EventReader> {
  const reader = await readEvents(server.port, parameters, lastEventId);
  onTestFinished(() => reader.leave());
  return reader;
}

const getIds = (events: MemoryEvent[]) => events.flatMap((event) => ('memory_ids' in event ? event.memory_ids : []));

describe('GET /events', () => {
  it('returns a stream of server-sent events that must not be cached', async () => {
    const { status, headers } = await follow();
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/event-stream');
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['x-request-id']).toMatch(/\S/);
  });

  it('reports stored, updated, recalled and forgotten memories in order', async () => {
    const reader = await follow();
    const before = Date.now();
    const id = await memoryd.store({ content: 'a talkative macaw' });
    await memoryd.update(id, { importance: 1 });
    await memoryd.recall('macaw');
    await memoryd.forget(id);
    const events = await reader.until(4);
    expect(events.map(({ type }) => type)).toEqual(['stored', 'updated', 'recalled', 'forgotten']);
    for (const event of events) {
      expect(event).toMatchObject({ memory_ids: [id], count: 1 });
      expect(Date.parse(event.at)).toBeGreaterThanOrEqual(before);
      expect(Date.parse(event.at)).toBeLessThanOrEqual(Date.now());
    }
    expect(new Set(events.map((event) => event.id)).size).toBe(4);
  });

  it('reports a context as recalled memories with the asking session and the project of the filter', async () => {
    const user_id = 'event context';
    const reader = await follow(`user_id=${encodeURIComponent(user_id)}`);
    const metadata = { project: 'github.com/ada/garden' };
    const give = (json: object) => memoryd.ok({ method: 'POST', path: '/context', json: { user_id, ...json } });
    const id = await memoryd.store({ ...{ content: 'Peas grow well here.', user_id, source: 'codex' }, metadata });
    const filter = { $or: [{ 'metadata.project': metadata.project }, { 'metadata.project': { $exists: false } }] };
    await give({ session_id: 'codex:7', filter });
    // Given before, so there is nothing to report.
    await give({ session_id: 'codex:7', filter });
    await give({ query: 'How do peas grow?', track: false });
    await give({ query: 'How do peas grow?' });
    const [stored, ...recalled] = await reader.until(3);
    const ofUser = { user_id, memory_ids: [id], count: 1 };
    expect(stored).toMatchObject({ type: 'stored', ...ofUser, source: 'codex', session_id: 'default', ...metadata });
    expect(recalled).toMatchObject([
      { type: 'recalled', ...ofUser, context: true, session_id: 'codex:7', ...metadata },
      { type: 'recalled', ...ofUser, context: true },
    ]);
    expect(recalled[1]).not.toHaveProperty('session_id');
  });

  it('returns no texts of memories or queries', async () => {
    const reader = await follow();
    const id = await memoryd.store({ content: 'the xylograph', tags: ['woodcut'], metadata: { about: 'engraving' } });
    await memoryd.recall('xylograph woodcut engraving');
    await memoryd.update(id, { content: 'the mezzotint' });
    await reader.until(3);
    expect(reader.text()).not.toMatch(/xylograph|woodcut|engraving|mezzotint/);
  });

  it('reports a batch as one event, and a forgotten memory with its hidden duplicates as one event', async () => {
    const reader = await follow('type=stored&type=forgotten');
    const duplicates = [0, 1].map(() => ({ content: 'the same macaws', session_id: 'event duplicates' }));
    const { results } = await memoryd.ok<{ results: { id: string }[] }>({
      method: 'POST',
      path: '/store/batch',
      json: duplicates,
    });
    const ids = results.map(({ id }) => id);
    await memoryd.consolidate();
    await memoryd.forget(ids[0] as string);
    const [stored, forgotten] = await reader.until(2);
    expect(stored).toMatchObject({ type: 'stored', memory_ids: ids, count: 2 });
    expect(forgotten).toMatchObject({ type: 'forgotten', memory_ids: ids, count: 2 });
  });

  it('reports only the number of forgotten memories for DELETE /memories', async () => {
    const reader = await follow('type=forgotten');
    await memoryd.storeAll([1, 2, 3].map((n) => ({ content: `flock ${n}`, tags: ['flock'] })));
    await memoryd.forgetMany('tag=flock');
    expect(await reader.until(1)).toMatchObject([{ type: 'forgotten', memory_ids: [], count: 3 }]);
  });

  it('reports the start, completion and undo of a consolidation', async () => {
    const reader = await follow('type=consolidation');
    await memoryd.store({ content: 'to be promoted' });
    const { id, consolidated_count, evicted_count } = await memoryd.ok<ConsolidateResponse & { id: string }>({
      method: 'POST',
      path: '/consolidate',
    });
    await memoryd.ok({ method: 'POST', path: `/consolidations/${id}/undo` });
    const events = await eventually('the undo', 20_000, () => {
      const arrived = reader.events();
      return arrived.some((event) => 'state' in event && event.state === 'undone') ? arrived : undefined;
    });
    const withoutProgress = events.filter((event) => 'state' in event && event.state !== 'progress');
    const run = { type: 'consolidation', run_id: id, consolidated_count, evicted_count };
    expect(withoutProgress).toMatchObject([
      { state: 'started' },
      { ...run, state: 'completed' },
      { ...run, state: 'undone' },
    ]);
  });

  it('reports neither failed requests nor retries with the same Idempotency-Key', async () => {
    const reader = await follow();
    const headers = { 'idempotency-key': 'reported once' };
    const id = await memoryd.store({ content: 'reported once' }, headers);
    await memoryd.store({ content: 'reported once' }, headers);
    await memoryd.send({ method: 'POST', path: '/store', json: { content: '' } });
    await memoryd.update('nobody', { importance: 1 });
    await memoryd.send({ method: 'DELETE', path: '/forget/nobody' });
    const last = await memoryd.store({ content: 'the last' });
    expect(getIds(await reader.until(2))).toEqual([id, last]);
  });

  it('reports only the requested types', async () => {
    const reader = await follow('type=updated&type=recalled');
    const id = await memoryd.store({ content: 'a quiet toucan' });
    await memoryd.recall('toucan');
    await memoryd.update(id, { tags: ['bird'] });
    const events = await reader.until(2);
    expect(events.map(({ type }) => type)).toEqual(['recalled', 'updated']);
  });

  it.each([
    'type=eaten',
    'filter=tag',
    'filter={"colour":"red"}',
    'user_id=',
    'types=stored',
    'type=stored&'.repeat(7),
  ])('GET /events rejects %s', async (parameters) => {
    await expectRefused(memoryd, { path: `/events?${parameters}` }, {});
  });

  it('responds to HEAD with headers only', async () => {
    const answer = await memoryd.send({ method: 'HEAD', path: '/events' });
    expect([answer.status, answer.headers['content-type'], answer.text]).toEqual([200, 'text/event-stream', '']);
    expect(answer.headers).not.toHaveProperty('content-length');
  });

  it.each(['/events/', '/events/1'])('returns 404 for %s', async (path) => {
    await expectRefused(memoryd, { path }, { code: 'NOT_FOUND' });
  });
});

describe('a reader that reconnects with Last-Event-ID', () => {
  it('receives all events after that event', async () => {
    const first = await follow();
    const seen = await memoryd.storeInOrder([1, 2].map((n) => ({ content: `seen ${n}` })));
    const events = await first.until(2);
    first.leave();
    const missed = await memoryd.storeInOrder([1, 2, 3].map((n) => ({ content: `missed ${n}` })));
    const second = await follow('', events.at(-1)?.id);
    const later = await memoryd.store({ content: 'later' });
    expect(getIds(await second.until(4))).toEqual([...missed, later]);
    const again = await follow('', events[0]?.id);
    expect(getIds(await again.until(5))).toEqual([seen[1], ...missed, later]);
  });

  it('receives a gap event for an unknown id, and can resume from the gap event', async () => {
    const id = await memoryd.store({ content: 'before the gap' });
    const events = await (await follow('', 'never.7')).until(2);
    expect(events[0]).toMatchObject({ type: 'gap' });
    expect(getIds(events)).toContain(id);
    const next = await follow('', events.at(-1)?.id);
    const later = await memoryd.store({ content: 'after the gap' });
    const [first] = await next.until(1);
    expect(first?.type).not.toBe('gap');
    await eventually('the later store', 20_000, () => getIds(next.events()).includes(later) || undefined);
  });

  it('receives a gap event if it missed more than 1,000 events', async () => {
    const reader = await follow();
    const id = await memoryd.store({ content: 'long ago' });
    const [seen] = await reader.until(1);
    // Ten updates per request, which is faster than ten requests. More at a time would wait for the same memory until the
    // service refuses them, on a busy machine.
    const update = { name: 'memory_update', arguments: { memory_id: id, importance: 0.5 } };
    const json = Array.from({ length: 10 }, (_, n) => ({
      jsonrpc: '2.0',
      id: n,
      method: 'tools/call',
      params: update,
    }));
    const headers = { accept: 'application/json, text/event-stream' };
    for (let n = 0; n < 1100; n += json.length) {
      const updated = await memoryd.ok<string>({ method: 'POST', path: '/mcp', headers, json });
      expect(updated).not.toContain('"isError":true');
    }
    const events = await (await follow('', seen?.id)).until(1000);
    expect(events[0]).toMatchObject({ type: 'gap' });
    // The reader that stayed connected has missed no event.
    const all = await reader.until(1101);
    expect(new Set(all.map((event) => event.id)).size).toBe(1101);
  });

  it('receives a gap event after the service has restarted', async () => {
    const first = await startClient({ env: WORDS_ONLY });
    const reader = await follow('', undefined, first);
    await first.store({ content: 'before the restart' });
    const [seen] = await reader.until(1);
    await expectCleanEnd(first.server);
    const second = await startClient({ env: WORDS_ONLY, database: first.server.database });
    expect(await (await follow('', seen?.id, second)).until(1)).toMatchObject([{ type: 'gap' }]);
    await expectCleanEnd(second.server);
  });
});

describe('event streams', () => {
  it('event streams are limited to 64 at a time', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const readers: EventReader[] = [];
    let refused: EventReader | undefined;
    while (!refused && readers.length < 1000) {
      const reader = await follow('', undefined, client);
      if (reader.status === 200) readers.push(reader);
      else refused = reader;
    }
    expect([readers.length, refused?.status]).toEqual([64, 503]);
    await refused?.ended;
    expect((JSON.parse(refused?.text() ?? '') as ErrorResponse).error.code).toBe('UNAVAILABLE');
    expect(refused?.headers['content-type']).toMatch(/^application\/json/);
    readers[3]?.leave();
    await eventually('another stream to be accepted', 20_000, async () => {
      const reader = await follow('', undefined, client);
      return reader.status === 200 || undefined;
    });
    await expectCleanEnd(client.server);
  });

  it('event streams have about 1,000 memories per event if DELETE /memories forgets many, with a filter only those that match', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const [all, filtered] = [
      await follow('type=forgotten', undefined, client),
      await follow('type=forgotten&filter={"source":"crow"}', undefined, client),
    ];
    const memories = Array.from({ length: 1100 }, (_, n) => ({ content: `n ${n}`, tags: ['swarm'], source: 'crow' }));
    await client.storeAll([
      ...memories.slice(0, 20),
      ...memories.slice(20).map((each) => ({ ...each, source: 'rook' })),
    ]);
    await client.forgetMany('tag=swarm');
    const counts = (await all.until(2)).map((event) => ('count' in event ? event.count : 0));
    expect(counts).toEqual([1000, 100]);
    expect(await filtered.until(1)).toMatchObject([{ type: 'forgotten', memory_ids: [], count: 20 }]);
    await expectCleanEnd(client.server);
  });

  it('event streams end when the service stops, and do not delay the shutdown', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const readers = await Promise.all([1, 2, 3].map(() => follow('', undefined, client)));
    await client.store({ content: 'one event' });
    await readers[0]?.until(1);
    const stopped = client.server.stop();
    // `true` means that the server ended the stream properly instead of cutting the connection.
    expect(await Promise.all(readers.map(({ ended }) => ended))).toEqual([true, true, true]);
    expect((await stopped).code).toBe(0);
  });
});
