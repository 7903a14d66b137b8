import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { openMemory } from '@memoryd/engine';
import { countTokens } from 'gpt-tokenizer';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTemporaryFolder } from '../../server/conformance/process.ts';
import { useServer, WORDS_ONLY } from '../../server/conformance/under-test.ts';
import { MemoryClient } from '../src/index.ts';
import {
  flushStores,
  getContext,
  type Message,
  type Session,
  type SessionContext,
  type SessionOptions,
  session,
} from '../src/session.ts';

const kinds = ({ memories, turns }: SessionContext) => [
  ...memories.map(({ content }) => `memory: ${content}`),
  ...turns.map(({ content }) => `turn: ${content}`),
];

/** Options of a session whose context has no memories of other sessions. */
const ALONE = { context: { recent: false } };

/** Long timeouts, because a loaded machine may be slow. */
const PATIENT = { timeoutMs: 60_000 };

/** Defines the tests of `session`, which apply to every `MemoryApi`. */
function sessionTests(getMemory: () => Parameters<typeof session>[0]): void {
  let started = 0;
  const failures: unknown[] = [];
  const common = { ...PATIENT, onError: (error: unknown) => void failures.push(error) };
  function newSession(options?: Partial<SessionOptions>): Session {
    started++;
    return session(getMemory(), `conversation ${started}`, { userId: null, ...common, ...options });
  }
  /** Adds messages, and waits until they are stored. */
  async function store(talk: Session, messages: Message[]): Promise<void> {
    talk.add(messages);
    await flushStores(getMemory(), PATIENT);
  }
  beforeEach(() => {
    failures.length = 0;
  });
  const said = (role: string, content: string) => ({ role, content });

  it('returns messages in order with their roles', async () => {
    const talk = newSession();
    await store(talk, [said('user', 'Good morning'), said('assistant', 'Hello'), said('user', 'yes')]);
    await store(talk, [said('user', 'yes')]);
    const { turns } = await talk.context('', { tokens: 1000 });
    expect(turns.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'Good morning'],
      ['assistant', 'Hello'],
      ['user', 'yes'],
      ['user', 'yes'],
    ]);
    const { memories } = await getMemory().session({ session_id: talk.id });
    expect(turns.map(({ id }) => id)).toEqual(memories.map(({ id }) => id));
  });

  it('stores all fields of a message', async () => {
    const talk = newSession();
    await store(talk, [{ ...said('tool', '42'), tags: ['answer'], metadata: { call: 'a' }, importance: 0.8 }]);
    const { memories } = await getMemory().memories({ session_id: talk.id });
    expect(memories[0]).toMatchObject({
      session_id: talk.id,
      tags: ['role:tool', 'answer'],
      metadata: { call: 'a' },
      importance: 0.8,
    });
  });

  it('resolves dates of the query in the time zone of the user', async () => {
    const tags = ['birds'];
    await getMemory().store({ content: 'The twite slept', created_at: '2026-11-26T20:00:00Z', tags });
    await getMemory().store({ content: 'The twite sang', created_at: '2026-11-27T20:00:00Z', tags });
    const context = { filter: { tag: 'birds' }, asked_at: '2026-11-28T05:00:00Z' };
    const getBest = async (options: Partial<SessionOptions>) => {
      const request = { tokens: 1000 };
      const asked = await newSession({ context, ...options }).context('What did the twite do yesterday?', request);
      return asked.memories.toSorted((one, other) => (other.score ?? 0) - (one.score ?? 0))[0]?.content;
    };
    expect(await getBest({ timezone: 'America/Los_Angeles' })).toBe('The twite slept');
    expect(await getBest({ timezone: 'UTC' })).toBe('The twite sang');
    const inUtc = { ...context, timezone: 'UTC' };
    expect(await getBest({ timezone: 'America/Los_Angeles', context: inUtc })).toBe('The twite sang');
    expect(() => newSession({ timezone: 'Mars/Olympus' })).toThrow(
      new RangeError('timezone must be an IANA time zone name, such as Europe/Berlin or UTC'),
    );
  });

  it('returns memories from other conversations, and the turns in order of time', async () => {
    const earlier = newSession();
    await store(earlier, [said('user', 'My kestrel is called Falstaff')]);
    const talk = newSession();
    await store(talk, [said('user', 'Hello again'), said('user', 'What is my kestrel called?')]);
    const context = await talk.context('What is my kestrel called?', { tokens: 1000 });
    expect(kinds(context)).toEqual([
      'memory: My kestrel is called Falstaff',
      'turn: Hello again',
      'turn: What is my kestrel called?',
    ]);
    expect(context.text).toContain('role "user"\n  My kestrel is called Falstaff\n');
  });

  it('recalls an early turn of the same conversation that is not among the recent turns', async () => {
    const talk = newSession({ recentTurns: 2 });
    await store(talk, [said('user', 'The osprey nests in the old mill')]);
    await store(
      talk,
      Array.from({ length: 20 }, (_, n) => said('assistant', `Some words about nothing, ${n}`)),
    );
    const context = await talk.context('the osprey nests in the old mill?', { tokens: 120 });
    expect(kinds(context)[0]).toBe('memory: The osprey nests in the old mill');
    expect(kinds(context).at(-1)).toBe('turn: Some words about nothing, 19');
  });

  it('a session does not recall duplicates of turns after consolidation has merged them', async () => {
    const talk = newSession();
    await store(
      talk,
      ['Book it?', 'Godwit, yes', 'And the train?', 'Godwit, yes'].map((text) => said('user', text)),
    );
    await getMemory().consolidate();
    const context = await talk.context('godwit', { tokens: 1000 });
    expect(kinds(context)).toEqual([
      'turn: Book it?',
      'turn: Godwit, yes',
      'turn: And the train?',
      'turn: Godwit, yes',
    ]);
  });

  it('stores roles so that recall recognizes replies of other speakers', async () => {
    for (const role of ['assistant', 'user']) {
      const talk = newSession();
      await store(talk, [said('user', 'Who ringed the gannet?'), said(role, 'The gannet has no ring')]);
      const request = { query: 'who ringed the gannet', session_id: talk.id, explain: true };
      const { results } = await getMemory().recall(request);
      const reply =
        results.find(({ content }) => content === 'The gannet has no ring')?.explanation?.evidence.reply ?? 0;
      expect(reply > 0).toBe(role === 'assistant');
    }
  });

  it('leaves out superseded memories, unless the query asks for what was before', async () => {
    const memory = getMemory();
    const { id } = await memory.store({ content: 'The dotterel lives in room four' });
    const { id: superseded_by } = await memory.store({ content: 'The dotterel lives in room five', supersedes: id });
    const now = await newSession().context('In which room does the dotterel live?', { tokens: 1000 });
    expect(kinds(now)).toEqual(['memory: The dotterel lives in room five']);
    const before = await newSession().context('In which room did the dotterel live before?', { tokens: 1000 });
    expect(before.memories.map((item) => [item.id, item.superseded_by])).toEqual([
      [id, superseded_by],
      [superseded_by, undefined],
    ]);
  });

  it('applies the filter of the context option', async () => {
    const memory = getMemory();
    await memory.store({ content: 'A private whimbrel', tags: ['private'] });
    await memory.store({ content: 'A public whimbrel', tags: ['public'] });
    const talk = newSession({ context: { filter: { tag: 'public' } } });
    expect(kinds(await talk.context('whimbrel', { tokens: 1000 }))).toEqual(['memory: A public whimbrel']);
  });

  it.each([0, 12, 40, 150, 400])('returns at most %i tokens, as counted by a tokenizer', async (tokens) => {
    const talk = newSession({ countTokens });
    const words = ['Der Wendehals', '鳥がいます', 'the wryneck 🎉', 'const a = 1;'];
    await store(
      talk,
      Array.from({ length: 40 }, (_, n) => said('user', `${words[n % 4]} ${'and on '.repeat(n % 7)}`)),
    );
    const context = await talk.context('wryneck', { tokens });
    const counted = context.turns.reduce(
      (sum, { content }) => sum + countTokens(content) + 4,
      countTokens(context.text),
    );
    expect(context.tokens).toBe(counted);
    expect(counted).toBeLessThanOrEqual(tokens);
    if (tokens >= 40) expect(context.turns.length).toBeGreaterThan(0);
  });

  it('stays within a smaller budget of a later call with the same query, and keeps the recent turns', async () => {
    const note = (n: number) => `The capercaillie displays at dawn in glade ${n}. ${'It hops and clicks. '.repeat(9)}`;
    await getMemory().storeBatch(Array.from({ length: 20 }, (_, n) => ({ content: note(n), tags: ['glade'] })));
    const query = 'Where does the capercaillie display at dawn?';
    const talk = newSession({ recentTurns: 3, context: { filter: { tag: 'glade' } } });
    await store(talk, [said('user', query)]);
    const large = await talk.context(query, { tokens: 4000 });
    expect(large.tokens).toBeGreaterThan(1000);
    const steps = ['I look into the first glade', 'And into the second'];
    await store(
      talk,
      steps.map((text) => said('assistant', text)),
    );
    const small = await talk.context(query, { tokens: 400 });
    expect(small.tokens).toBeLessThanOrEqual(400);
    expect(small.memories.length).toBeGreaterThan(0);
    expect(small.turns.map(({ content }) => content)).toEqual([query, ...steps]);
  });

  it('returns memories that fit, for a tokenizer that counts more tokens than the service', async () => {
    const note = (n: number) => `The nuthatch plasters its door with mud, ${n}`;
    await getMemory().storeBatch(Array.from({ length: 9 }, (_, n) => ({ content: note(n), tags: ['door'] })));
    const options = { countTokens: (text: string) => text.length, context: { filter: { tag: 'door' } } };
    const context = await newSession(options).context('What does the nuthatch plaster with mud?', { tokens: 600 });
    expect(context.tokens).toBe(context.text.length);
    expect(context.tokens).toBeLessThanOrEqual(600);
    expect(context.memories.length).toBeGreaterThan(0);
  });

  it('returns a memory that the message repeats, and the message only as a turn', async () => {
    const content = 'Never sell the theodolite';
    await getMemory().store({ content, importance: 1, user_id: 'edna' });
    const talk = newSession({ userId: 'edna' });
    const query = 'Never sell the theodolite? Why?';
    await store(talk, [said('user', 'Good morning'), said('user', query)]);
    const context = await talk.context(query, { tokens: 1000 });
    expect(kinds(context)).toEqual([`memory: ${content}`, 'turn: Good morning', `turn: ${query}`]);
    await getMemory().forgetMany({ user_id: 'edna' });
  });

  it('accepts U+0000 and lone surrogates in a query and in a known text', async () => {
    await getMemory().store({ content: 'The phalarope spins in the water' });
    const knownTexts = ['a\0b', 'c\ud800d'];
    const query = 'The phalarope\0 spins\udc00 in the water?';
    const { memories } = await getContext(getMemory(), query, { budget: 500, knownTexts });
    expect(memories.map(({ content }) => content)).toContain('The phalarope spins in the water');
  });

  it('returns the newest turns of a long and growing conversation', async () => {
    const talk = newSession(ALONE);
    const texts = Array.from({ length: 1300 }, (_, n) => `turn ${n}`);
    for (const part of [texts.slice(0, 1000), texts.slice(1000)]) {
      await store(
        talk,
        part.map((text) => said('user', text)),
      );
    }
    for (let more = 0; more < 450; more += 150) {
      const { turns } = await talk.context('', { tokens: 1000 });
      expect(turns.length).toBeGreaterThan(50);
      expect(turns.map(({ content }) => content)).toEqual(texts.slice(-turns.length));
      const next = Array.from({ length: 150 }, (_, n) => `turn ${texts.length + n}`);
      await store(
        talk,
        next.map((text) => said('user', text)),
      );
      texts.push(...next);
    }
  });

  it('truncates a query that exceeds the maximum length', async () => {
    const memory = getMemory();
    await memory.store({ content: 'The pratincole eats on the wing' });
    const context = await newSession().context('The pratincole eats on the wing! '.repeat(40_000), { tokens: 1000 });
    expect(kinds(context)).toEqual(['memory: The pratincole eats on the wing']);
  });

  it('passes to onError the stored ids and the first error, if messages cannot be stored', async () => {
    const talk = newSession();
    await store(talk, [said('user', 'one'), said('user', ''), said('user', ' ')]);
    expect(failures).toMatchObject([
      {
        name: 'MemoryError',
        code: 'INVALID_REQUEST',
        message: expect.stringMatching(/^2 of 3 messages were not stored: /),
        details: [{ path: '/1/content' }],
        results: [{ status: 'stored' }, { error: { code: 'INVALID_REQUEST' } }, { error: { code: 'INVALID_REQUEST' } }],
      },
    ]);
    const { turns } = await talk.context('', { tokens: 100 });
    expect(turns.map(({ content }) => content)).toEqual(['one']);
  });

  it('separates sessions of different users that have the same id', async () => {
    const [ada, ben] = ['ada', 'ben'].map((userId) => session(getMemory(), 'one name', { ...common, userId })) as [
      Session,
      Session,
    ];
    await store(ada, [said('user', 'My linnet is called Ophelia')]);
    await store(ben, [said('user', 'My linnet is called Yorick')]);
    const ask = async (talk: Session) => kinds(await talk.context('What is my linnet called?', { tokens: 1000 }));
    expect(await ask(ada)).toEqual(['turn: My linnet is called Ophelia']);
    expect(await ask(ben)).toEqual(['turn: My linnet is called Yorick']);
  });

  it('recalls memories of the user, and also shared memories with shared: true', async () => {
    const query = 'Where does the redpoll winter?';
    await getMemory().storeBatch([
      { content: 'The redpoll winters in Oslo', user_id: 'ada' },
      { content: 'The redpoll winters in Kiel', user_id: 'ben' },
      { content: 'The redpoll winters everywhere' },
    ]);
    const texts = async (options: Pick<SessionOptions, 'userId' | 'context'>) => {
      const talk = session(getMemory(), 'of redpolls', { ...common, ...options });
      return (await talk.context(query, { tokens: 1000 })).memories.map(({ content }) => content).sort();
    };
    expect(await texts({ userId: 'ben' })).toEqual(['The redpoll winters in Kiel']);
    const everywhere = ['The redpoll winters everywhere', 'The redpoll winters in Kiel'];
    expect(await texts({ userId: 'ben', context: { shared: true } })).toEqual(everywhere);
    expect(await texts({ userId: null })).toHaveLength(3);
  });

  it('rejects a context of another user with FORBIDDEN', async () => {
    const talk = session(getMemory(), 'refused', { ...common, userId: 'ben', context: { user_id: 'ada' } });
    const error = { name: 'MemoryError', code: 'FORBIDDEN' };
    await expect(talk.context('mine', { tokens: 100 })).rejects.toMatchObject(error);
  });

  it('a session does not store a message of another user, and passes FORBIDDEN to onError', async () => {
    const talk = session(getMemory(), 'refused', { ...common, userId: 'ben' });
    await store(talk, [{ ...said('user', 'not mine'), user_id: 'ada' }]);
    expect(failures).toMatchObject([{ name: 'MemoryError', code: 'FORBIDDEN' }]);
    expect(await getMemory().session({ session_id: 'refused' })).toMatchObject({ total: 0 });
  });

  it('separates the agents of a user', async () => {
    const [cook, guide] = ['cook', 'guide'].map((agentId) =>
      session(getMemory(), 'agents', { ...common, userId: 'cleo', agentId }),
    ) as [Session, Session];
    await store(cook, [said('user', 'The siskin burnt the risotto')]);
    expect(kinds(await guide.context('siskin', { tokens: 1000 }))).toEqual([]);
    expect(kinds(await cook.context('siskin', { tokens: 1000 }))).toEqual(['turn: The siskin burnt the risotto']);
  });

  it('throws TypeError for a session without a userId', () => {
    const withoutUser = {} as SessionOptions;
    expect(() => session(getMemory(), 'of whom', withoutUser)).toThrow(
      /^userId must be a string, the id of the end user, or null/,
    );
    expect(() => session(getMemory(), 'of whom', { userId: undefined as never })).toThrow(TypeError);
  });
}

describe('the session module with in-process memory', () => {
  let memory: Awaited<ReturnType<typeof openMemory>>;
  const folder = createTemporaryFolder();
  beforeAll(async () => {
    memory = await openMemory(join(folder, 'memory.db'), { embedder: 'none', consolidationIntervalSeconds: 0 });
  });
  afterAll(async () => {
    await memory.close();
    rmSync(folder, { recursive: true, force: true });
  });
  sessionTests(() => memory);
});

describe('the context of a server with a small maximum size of requests', () => {
  const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_MAX_BODY_BYTES: '1024' } });
  it('the context repeats known texts if they are too large for the request', async () => {
    const client = new MemoryClient({ url: `http://127.0.0.1:${memoryd.server.port}` });
    const content = 'The dipper walks under water';
    await client.store({ content });
    const getTexts = async (knownTexts: string[]) => {
      const { memories } = await getContext(client, 'Does the dipper walk under water?', { budget: 500, knownTexts });
      return memories.map((memory) => memory.content);
    };
    expect(await getTexts([content])).toEqual([]);
    expect(await getTexts([content, 'x'.repeat(2000)])).toEqual([content]);
  });

  it('leaves the newest turns of a session in place', async () => {
    const client = new MemoryClient({ url: `http://127.0.0.1:${memoryd.server.port}` });
    const talk = session(client, 'of dippers', { ...PATIENT, userId: 'ada' });
    const texts = ['The dipper dives', 'x '.repeat(400), 'y '.repeat(400), 'Where does the dipper dive?'];
    for (const content of texts) {
      talk.add([{ role: 'user', content }]);
      await talk.flush();
    }
    const context = await talk.context('Where does the dipper dive?', { tokens: 3000 });
    expect(kinds(context)).toEqual(texts.map((text) => `turn: ${text}`));
  });
});

describe('the session module with a server', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  let client: MemoryClient | undefined;
  sessionTests(() => (client ??= new MemoryClient({ url: `http://127.0.0.1:${memoryd.server.port}` })));
});
