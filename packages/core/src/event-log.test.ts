import type { EventsRequest, MemoryEvent } from '@memoryd/contract';
import type { FilterFields } from '@memoryd/search';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventLog } from './event-log.ts';
import { MAX_NOTICE_BYTES, type NoticeListener, type Notices } from './ports/coordination.ts';
import { createSeal } from './system.ts';

const seal = createSeal('0'.repeat(32));

let made = 0;
const newLog = () => new EventLog({ now: () => Date.UTC(2026, 0, 1) }, { next: () => `name-${made++}` });

type Stream = AsyncIterator<MemoryEvent>;

function follow(log: EventLog, request: EventsRequest = {}, signal?: AbortSignal, namespace = 'default'): Stream {
  return log.follow(seal, namespace, request, signal)[Symbol.asyncIterator]();
}

async function take(stream: Stream, count: number): Promise<MemoryEvent[]> {
  const events: MemoryEvent[] = [];
  while (events.length < count) {
    const { value, done } = await stream.next();
    if (done) throw new Error(`the stream ended after ${events.length} events`);
    events.push(value);
  }
  return events;
}

const toMemory = (id: string, userId = '', fields: Partial<FilterFields> = {}) => ({
  ...{ id, userId, agentId: '', externalId: null, tags: [], metadata: {}, source: 'api', sessionId: 'default' },
  ...{ tier: 'working' as const, importance: 0.5, createdAt: 0, updatedAt: 0 },
  ...{ validFrom: null, validTo: null },
  ...fields,
});
const shared = (ids: string[]) => ids.map((id) => toMemory(id));
const store = (log: EventLog, id: string, namespace = 'default') =>
  log.publishMemories(namespace, 'stored', shared([id]));
const getIds = (events: MemoryEvent[]) =>
  events.map((event) => ('memory_ids' in event ? event.memory_ids[0] : event.type));
const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `m${from + i}`);

describe('an event stream', () => {
  it('delivers the events after its start in order', async () => {
    const log = newLog();
    store(log, 'before');
    const stream = follow(log);
    for (const id of numbers(3)) store(log, id);
    const events = await take(stream, 3);
    expect(getIds(events)).toEqual(numbers(3));
    expect(events[0]).toEqual({
      id: expect.any(String),
      type: 'stored',
      at: '2026-01-01T00:00:00.000Z',
      memory_ids: ['m0'],
      count: 1,
      source: 'api',
      session_id: 'default',
    });
  });

  describe('limited to one user', () => {
    const of = (userId: string, id: string) => [toMemory(id, userId)];

    it('an event stream limited to one user has event ids that do not reveal events of other users, and resumes after such an id', async () => {
      const log = newLog();
      const stream = follow(log, { user_id: 'ada' });
      log.publishMemories('default', 'stored', of('ada', 'first'));
      for (const id of numbers(7)) log.publishMemories('default', 'stored', of('ben', id));
      log.publishMemories('default', 'stored', of('ada', 'second'));
      const events = await take(stream, 2);
      expect(getIds(events)).toEqual(['first', 'second']);
      const [one, other] = events.map(({ id }) => id) as [string, string];
      expect(one).toHaveLength(other.length);
      expect([one, other].join()).not.toMatch(/name-|\.[0-9]/);
      const again = follow(log, { user_id: 'ada', last_event_id: one });
      expect(getIds(await take(again, 1))).toEqual(['second']);
      const plain = await take(follow(log, { last_event_id: 'unknown' }), 2);
      const guessed = follow(log, { user_id: 'ada', last_event_id: plain[1]?.id as string });
      expect((await take(guessed, 1))[0]?.type).toBe('gap');
    });

    it('an event stream limited to one user does not resume after an event id of a stream of another user, or of a user and an agent', async () => {
      const log = newLog();
      const stream = follow(log, { user_id: 'ada' });
      for (const id of ['first', 'second']) log.publishMemories('default', 'stored', of('ada', id));
      const last_event_id = (await take(stream, 1))[0]?.id as string;
      for (const other of [{ user_id: 'ben' }, { user_id: 'ada', agent_id: 'a' }, { user_id: 'ada', shared: true }]) {
        expect((await take(follow(log, { ...other, last_event_id }), 1))[0]?.type).toBe('gap');
      }
      expect(getIds(await take(follow(log, { user_id: 'ada', last_event_id }), 1))).toEqual(['second']);
    });

    it('an event stream limited to one user does not deliver recalls by another user, even if their results are shared memories', async () => {
      const log = newLog();
      const stream = follow(log, { user_id: 'ada', shared: true });
      log.publishRecalled('default', shared(['of all']), { userIds: ['ben', ''] });
      log.publishRecalled('default', [], { userIds: ['ben', ''] });
      log.publishRecalled('default', [], {});
      log.publishRecalled('default', shared(['of all']), { userIds: ['ada', ''] });
      expect(await take(stream, 1)).toMatchObject([{ type: 'recalled', user_id: 'ada', memory_ids: ['of all'] }]);
    });
  });

  it('names the source, session and project that all stored memories of an event have, and all removed secrets', async () => {
    const log = newLog();
    const stream = follow(log);
    const of = (fields: object) => toMemory('one', '', { source: 'codex', sessionId: 'codex:1', ...fields });
    const inGarden = of({ metadata: { project: 'github.com/ada/garden' } });
    const key = { kind: 'github-token', count: 1 };
    const redacted = [key, { kind: 'password', count: 2 }];
    log.publishMemories('default', 'stored', [
      { ...inGarden, redacted },
      { ...inGarden, redacted: [key] },
    ]);
    log.publishMemories('default', 'stored', [of({ tags: ['x', 'project:garden'] })]);
    log.publishMemories('default', 'stored', [inGarden, of({ source: 'cursor', sessionId: 'cursor:2' })]);
    log.publishMemories('default', 'stored', [of({ metadata: { project: 'x'.repeat(513) } })]);
    log.publishMemories('default', 'updated', [inGarden]);
    const [first, ...others] = (await take(stream, 5)).map(({ id: _id, at: _at, ...event }) => event);
    const place = { source: 'codex', session_id: 'codex:1' };
    expect(first).toEqual({
      ...{ type: 'stored', memory_ids: ['one', 'one'], count: 2, ...place },
      project: 'github.com/ada/garden',
      redacted: [
        { kind: 'github-token', count: 2 },
        { kind: 'password', count: 2 },
      ],
    });
    const plain = { memory_ids: ['one'], count: 1 };
    expect(others).toEqual([
      { type: 'stored', ...plain, ...place, project: 'garden' },
      { type: 'stored', memory_ids: ['one', 'one'], count: 2 },
      { type: 'stored', ...plain, ...place },
      { type: 'updated', ...plain },
    ]);
  });

  it('names the asking session of a context only to its user, or with shared memories', async () => {
    const log = newLog();
    const stream = follow(log);
    const asker = { session_id: 'codex:1', project: 'garden' };
    const memories = [toMemory('own', 'ada'), toMemory('shared')];
    log.publishRecalled('default', memories, { userIds: ['ada'] }, asker);
    log.publishRecalled('default', memories, {}, asker);
    log.publishRecalled('default', memories, { userIds: ['ada'] });
    const events = (await take(stream, 4)).map(({ id: _id, at: _at, ...event }) => event);
    const both = { type: 'recalled', user_id: 'ada', memory_ids: ['own', 'shared'], count: 2 };
    expect(events).toEqual([
      { ...both, context: true, ...asker },
      { type: 'recalled', user_id: 'ada', memory_ids: ['own'], count: 1, context: true },
      { type: 'recalled', memory_ids: ['shared'], count: 1, context: true, ...asker },
      both,
    ]);
  });

  it('waits for the next event', async () => {
    const log = newLog();
    const stream = follow(log);
    const coming = take(stream, 1);
    store(log, 'late');
    expect(getIds(await coming)).toEqual(['late']);
  });

  it('delivers all events, even if another stream delivers the same events', async () => {
    const log = newLog();
    const streams = [follow(log), follow(log)];
    store(log, 'one');
    for (const stream of streams) expect(getIds(await take(stream, 1))).toEqual(['one']);
  });

  it('delivers only the requested types', async () => {
    const log = newLog();
    const stream = follow(log, { type: ['forgotten', 'consolidation'] });
    store(log, 'stored');
    log.publishMemories('default', 'forgotten', shared(['forgotten']));
    log.publishMemories('default', 'recalled', shared(['recalled']));
    log.publishProgress('default', { state: 'completed', consolidated_count: 1, evicted_count: 0 });
    expect(getIds(await take(stream, 2))).toEqual(['forgotten', 'consolidation']);
  });

  it('delivers the matching memories of an event to a stream with a filter, and no event without any', async () => {
    const log = newLog();
    const filter = { 'metadata.room.n': { $gte: 2 }, $not: { tag: 'x' } };
    const stream = follow(log, { filter });
    const rooms = [1, 2, 3].map((n) => toMemory(`room ${n}`, '', { metadata: { room: { n } } }));
    log.publishMemories('default', 'stored', rooms.slice(0, 1));
    log.publishProgress('default', { state: 'started' });
    log.publishRecalled('default', [], {});
    log.publishMemories('default', 'updated', rooms);
    log.publishCounts('default', 'forgotten', [...rooms, toMemory('x', '', { ...rooms[2], tags: ['x'] })]);
    expect(await take(stream, 2)).toMatchObject([
      { type: 'updated', memory_ids: ['room 2', 'room 3'], count: 2 },
      { type: 'forgotten', memory_ids: [], count: 2 },
    ]);
    const redacted = [{ kind: 'password', count: 1 }];
    log.publishMemories(
      'default',
      'stored',
      rooms.slice(0, 2).map((room) => ({ ...room, redacted })),
    );
    expect((await take(stream, 1))[0]).not.toHaveProperty('redacted');
    const ids = numbers(300).map((id) => toMemory(id, '', { metadata: { room: { n: 2 } } }));
    log.publishMemories('default', 'recalled', [...shared(numbers(300, 300)), ...ids]);
    expect(await take(stream, 1)).toMatchObject([{ memory_ids: [], count: 300 }]);
  });

  it('a stream with a filter resumes, and begins with a gap for each event whose fields are no longer stored', async () => {
    const log = newLog();
    const filter = { source: 'mail' };
    const stream = follow(log, { filter });
    log.publishMemories('default', 'stored', [toMemory('first', '', { source: 'mail' })]);
    const [{ id: last_event_id } = { id: '' }] = await take(stream, 1);
    log.publishMemories('default', 'stored', [toMemory('second', '', { source: 'mail' })]);
    expect(getIds(await take(follow(log, { filter, last_event_id }), 1))).toEqual(['second']);
    const long = { metadata: { v: 'x'.repeat(4 * 2 ** 20) } };
    for (const id of ['third', 'fourth']) {
      log.publishMemories('default', 'stored', [toMemory(id, '', { ...long, source: 'mail' })]);
    }
    const resumed = await take(follow(log, { filter, last_event_id }), 3);
    expect(getIds(resumed)).toEqual(['gap', 'gap', 'fourth']);
    expect(getIds(await take(follow(log, { last_event_id }), 3))).toEqual(['second', 'third', 'fourth']);
  });

  it('a stream with a filter begins with a gap for each event before the first stream of the namespace', async () => {
    const log = newLog();
    store(log, 'before');
    const stream = follow(log, { filter: { source: 'api' }, last_event_id: 'of an earlier process' });
    store(log, 'after');
    expect(getIds(await take(stream, 3))).toEqual(['gap', 'gap', 'after']);
  });

  it('delivers no events of other namespaces', async () => {
    const log = newLog();
    const stream = follow(log);
    store(log, 'elsewhere', 'other');
    store(log, 'here');
    expect(getIds(await take(stream, 1))).toEqual(['here']);
  });

  it('delivers the first 256 memory ids and the total count of an event with more memories', async () => {
    const log = newLog();
    const stream = follow(log);
    log.publishMemories('default', 'recalled', shared(numbers(1000)));
    const [event] = await take(stream, 1);
    expect(event).toMatchObject({ memory_ids: numbers(256), count: 1000 });
  });

  it('resumes after any stored event', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 900 }), fc.nat(100), async (read, missed) => {
        const log = newLog();
        const first = follow(log);
        for (const id of numbers(read + missed)) store(log, id);
        const last = (await take(first, read)).at(-1) as MemoryEvent;
        await first.return?.();
        const second = follow(log, { last_event_id: last.id });
        store(log, 'new');
        expect(getIds(await take(second, missed + 1))).toEqual([...numbers(missed, read), 'new']);
      }),
      { numRuns: 20 },
    );
  });

  it('begins with a gap event and all stored events if the last seen event is no longer stored', async () => {
    const log = newLog();
    const first = follow(log);
    store(log, 'seen');
    const [seen] = await take(first, 1);
    for (const id of numbers(1100)) store(log, id);
    const second = follow(log, { last_event_id: (seen as MemoryEvent).id });
    const events = await take(second, 1025);
    expect(events[0]).toEqual({ id: expect.any(String), at: '2026-01-01T00:00:00.000Z', type: 'gap' });
    expect(getIds(events.slice(1))).toEqual(numbers(1024, 76));
  });

  it('resumes after a gap event without a second gap event', async () => {
    const log = newLog();
    store(log, 'kept');
    const [gap] = await take(follow(log, { last_event_id: 'of an earlier process' }), 1);
    const stream = follow(log, { last_event_id: (gap as MemoryEvent).id });
    expect(getIds(await take(stream, 1))).toEqual(['kept']);
  });

  it.each(['', 'x', '.1', 'name-0.', 'name-0.1.2', `${'9'.repeat(400)}`])(
    'begins with a gap event after the unknown event id %j',
    async (id) => {
      expect(await take(follow(newLog(), { last_event_id: id }), 1)).toMatchObject([{ type: 'gap' }]);
    },
  );

  it('begins with a gap event after the id of a future event', async () => {
    const log = newLog();
    const stream = follow(log);
    store(log, 'one');
    const [event] = await take(stream, 1);
    const ahead = (event as MemoryEvent).id.replace(/\.1$/, '.3');
    expect(await take(follow(log, { last_event_id: ahead }), 1)).toMatchObject([{ type: 'gap' }]);
  });

  it('ends if the client falls behind the stored events, and the client can reconnect', async () => {
    const log = newLog();
    const slow = follow(log);
    store(log, 'read');
    const [read] = await take(slow, 1);
    for (const id of numbers(1025)) store(log, id);
    expect(await slow.next()).toEqual({ value: undefined, done: true });
    expect(await take(follow(log, { last_event_id: (read as MemoryEvent).id }), 1)).toMatchObject([{ type: 'gap' }]);
  });

  it('begins with fewer stored events if the events list many memories', async () => {
    const log = newLog();
    for (let i = 0; i < 100; i++) log.publishMemories('default', 'recalled', shared(numbers(256)));
    store(log, 'last');
    const events = await take(follow(log, { last_event_id: 'long ago' }), 65);
    expect(getIds(events).at(-1)).toBe('last');
  });

  it.each([
    ['its signal is aborted', (_log: EventLog, reader: AbortController) => reader.abort()],
    ['the log is closed', (log: EventLog) => log.close()],
  ])('ends when %s, even while a client waits for an event', async (_what, end) => {
    const log = newLog();
    const reader = new AbortController();
    const stream = follow(log, {}, reader.signal);
    const waiting = stream.next();
    end(log, reader);
    expect(await waiting).toEqual({ value: undefined, done: true });
    expect(await stream.next()).toEqual({ value: undefined, done: true });
  });

  it('ends at once if its signal is already aborted', async () => {
    expect(await follow(newLog(), {}, AbortSignal.abort()).next()).toEqual({ value: undefined, done: true });
  });

  it('an event stream is refused while the maximum number of streams is open', async () => {
    const log = newLog();
    const streams = Array.from({ length: 96 }, (_, i) => follow(log, {}, undefined, `namespace ${i}`));
    expect(() => follow(log)).toThrow('open event streams');
    await streams[7]?.return?.();
    await streams[7]?.return?.();
    follow(log);
    expect(() => follow(log)).toThrow('open event streams');
  });

  it('an event stream can be opened for another namespace if one namespace has reached its maximum', async () => {
    const log = newLog();
    const streams = Array.from({ length: 64 }, () => follow(log));
    expect(() => follow(log)).toThrow('open event streams');
    follow(log, {}, undefined, 'another');
    await streams[7]?.return?.();
    follow(log);
  });

  it('an event stream is refused after the log is closed', () => {
    const log = newLog();
    log.close();
    expect(() => follow(log)).toThrow('stopping');
  });

  it('continues while many other namespaces have events', async () => {
    const log = newLog();
    const stream = follow(log);
    for (const name of numbers(500)) store(log, 'elsewhere', name);
    store(log, 'here');
    expect(getIds(await take(stream, 1))).toEqual(['here']);
  });

  it('begins with a gap event if the events of the namespace were dropped in favor of other namespaces', async () => {
    const log = newLog();
    const stream = follow(log);
    store(log, 'one');
    const [event] = await take(stream, 1);
    await stream.return?.();
    for (const name of numbers(500)) store(log, 'elsewhere', name);
    store(log, 'two');
    const events = await take(follow(log, { last_event_id: (event as MemoryEvent).id }), 2);
    expect(getIds(events)).toEqual(['gap', 'two']);
  });
});

describe('event logs that share notices', () => {
  /** Creates two logs that receive each other's notices. `miss` simulates lost notices for the second. */
  async function twoLogs() {
    const listeners: NoticeListener[] = [];
    const texts: string[] = [];
    const getNotices = (place: number): Notices => ({
      publish(_topic, text) {
        texts.push(text);
        listeners[1 - place]?.onNotice(text);
      },
      subscribe: async (_topic, listener) => void (listeners[place] = listener),
    });
    const clock = { now: () => Date.UTC(2026, 0, 1) };
    const logs = [0, 1].map(
      (place) => new EventLog(clock, { next: () => `name-${made++}` }, { notices: getNotices(place) }),
    );
    for (const log of logs) await log.start(seal);
    const hear = (text: string) => listeners[1]?.onNotice(seal.seal(text, 'event notice'));
    const hearSealed = (text: string) => listeners[1]?.onNotice(text);
    return { logs: logs as [EventLog, EventLog], texts, miss: () => listeners[1]?.onGap(), hear, hearSealed };
  }

  it('event logs that share notices deliver each event of their own and of the other process once', async () => {
    const { logs } = await twoLogs();
    const streams = logs.map((log) => follow(log));
    store(logs[0], 'a');
    store(logs[1], 'b');
    store(logs[0], 'elsewhere', 'other');
    store(logs[0], 'c');
    for (const stream of streams) expect(getIds(await take(stream, 3))).toEqual(['a', 'b', 'c']);
  });

  it('event logs that share notices end their streams after missed notices, and begin with a gap event after a reconnect', async () => {
    const { logs, miss } = await twoLogs();
    const stream = follow(logs[1]);
    store(logs[0], 'a');
    const [seen] = await take(stream, 1);
    miss();
    expect((await stream.next()).done).toBe(true);
    store(logs[0], 'b');
    const again = follow(logs[1], { last_event_id: seen?.id ?? '' });
    expect(getIds(await take(again, 2))).toEqual(['gap', 'b']);
  });

  it.each([
    ['{'],
    ['null'],
    ['{"namespace":"default","at":"2026-01-01T00:00:00.000Z"}'],
    ['{"namespace":"default","at":"2026-01-01T00:00:00.000Z","happening":{"type":"renamed"}}'],
    ['{"namespace":7,"at":"2026-01-01T00:00:00.000Z","happening":{"type":"stored","memory_ids":["a"],"count":1}}'],
  ])('event logs that share notices treat the unreadable notice %s as missed events', async (text) => {
    const { logs, hear } = await twoLogs();
    const stream = follow(logs[1]);
    store(logs[0], 'a');
    const [seen] = await take(stream, 1);
    hear(text);
    expect((await stream.next()).done).toBe(true);
    store(logs[0], 'b');
    const again = follow(logs[1], { last_event_id: seen?.id ?? '' });
    expect(getIds(await take(again, 2))).toEqual(['gap', 'b']);
  });

  it('event logs that share notices match a filter on the memories of the other process, and send no readable fields', async () => {
    const { logs, texts } = await twoLogs();
    const stream = follow(logs[1], { filter: { tag: 'secret' } });
    const memories = [toMemory('a', '', { tags: ['secret'] }), toMemory('b')];
    logs[0].publishMemories('default', 'updated', memories);
    expect(await take(stream, 1)).toMatchObject([{ memory_ids: ['a'], count: 1 }]);
    const sent = texts.join();
    expect(sent + Buffer.from(sent, 'base64url')).not.toMatch(/secret|updated/);
  });

  it('event logs that share notices send the ids of an event whose fields are too long, which is a gap for a filter', async () => {
    const { logs, texts } = await twoLogs();
    const [all, filtered] = [follow(logs[1]), follow(logs[1], { filter: { source: 'api' } })];
    const metadata = { v: 'x'.repeat(30_000) };
    logs[0].publishMemories(
      'default',
      'stored',
      numbers(256).map((id) => toMemory(id, '', { metadata })),
    );
    expect(await take(all, 1)).toMatchObject([{ memory_ids: numbers(256), count: 256 }]);
    expect(await take(filtered, 1)).toMatchObject([{ type: 'gap' }]);
    expect(Buffer.byteLength(texts[0] ?? '')).toBeLessThanOrEqual(MAX_NOTICE_BYTES);
  });

  it('event logs that share notices treat a notice that another key sealed as missed events', async () => {
    const { logs, hearSealed } = await twoLogs();
    const stream = follow(logs[1]);
    hearSealed(createSeal('1'.repeat(32)).seal('{}', 'event notice'));
    expect((await stream.next()).done).toBe(true);
  });
});
