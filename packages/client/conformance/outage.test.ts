import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { freePort } from '../../server/conformance/process.ts';
import { useServer, WORDS_ONLY } from '../../server/conformance/under-test.ts';
import { MemoryClient, type MemoryError } from '../src/index.ts';
import { flushStores, type Session, type SessionOptions, session } from '../src/session.ts';
import { type GatewayState, startGateway } from './gateway.fixture.ts';

const RECALL = 'POST /context';
const STORE = 'POST /store/batch';
const OUTAGES: GatewayState[] = ['down', 'hanging'];
/** A short timeout, because the tests wait for it. */
const HASTY = { timeoutMs: 500 };
const PATIENT = { timeoutMs: 60_000 };
const said = (role: string, content: string) => ({ role, content });

describe('a session of an agent', () => {
  const memoryd = useServer({ env: WORDS_ONLY });
  let sessions = 0;
  const newId = () => `outage ${++sessions}`;
  const direct = () => new MemoryClient({ url: `http://127.0.0.1:${memoryd.server.port}` });
  const read = async (talk: Session) =>
    (await talk.context('', { tokens: 10_000 })).turns.map(({ content }) => content);
  const getRead = () => `GET /session/outage%20${sessions}`;
  const texts = async (talk: Session, query: string) => {
    const { memories, turns } = await talk.context(query, { tokens: 10_000 });
    return [...memories, ...turns].map(({ content }) => content);
  };

  /** Opens a session through a gateway, and records the operation and message of each reported error. */
  async function open(state: GatewayState, options: Partial<SessionOptions> = {}) {
    const gateway = await startGateway(memoryd.server.port, state);
    const memory = new MemoryClient({ url: gateway.url, onWarning: () => {} });
    const failures: [string, string][] = [];
    const onError: SessionOptions['onError'] = (error, operation) =>
      failures.push([operation, (error as MemoryError).message]);
    const openAs = (id: string, more: Partial<SessionOptions> = {}) =>
      session(memory, id, { userId: null, onError, ...PATIENT, ...options, ...more });
    return { gateway, memory, failures, openAs, talk: openAs(newId()) };
  }

  afterEach(() => void vi.useRealTimers());

  /** Lets 30 seconds pass on the monotonic clock. */
  function passPause(): void {
    vi.advanceTimersByTime(30_000);
  }

  it.each(OUTAGES)(
    'a session of an agent has a context without memories while the service is %s, and warns once',
    async (state) => {
      const { gateway, failures, talk } = await open(state, HASTY);
      for (const query of ['one', 'two', 'three']) expect(await texts(talk, query)).toEqual([]);
      expect(failures.map(([operation]) => operation).sort()).toEqual(['read']);
      // A closed port cannot count requests.
      if (state === 'hanging') expect(gateway.requests).toEqual([getRead()]);
    },
  );

  it('tries one read 30 seconds after a failure, and reads and recalls again after it succeeded', async () => {
    await direct().store({ content: 'The plover nests on the beach' });
    vi.useFakeTimers({ toFake: ['performance'] });
    const { gateway, failures, talk } = await open('broken');
    await texts(talk, 'plover');
    passPause();
    await Promise.all(['plover one', 'plover two', 'plover three'].map((query) => texts(talk, query)));
    expect(gateway.count(getRead())).toBe(2);
    await gateway.set('up');
    expect(await texts(talk, 'plover')).toEqual([]);
    expect(gateway.count(getRead())).toBe(2);
    passPause();
    expect(await texts(talk, 'plover nests')).toEqual(['The plover nests on the beach']);
    expect(await texts(talk, 'the plover nests')).toEqual(['The plover nests on the beach']);
    expect(gateway.count(getRead())).toBe(4);
    expect(failures).toHaveLength(1);
  });

  it('recalls after a request that the service rejected', async () => {
    await direct().store({ content: 'The ruff is here' });
    const { openAs, talk } = await open('up');
    const invalid = openAs(newId(), { context: { asked_at: 'then' } });
    await expect(texts(invalid, 'ruff here')).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    expect(await texts(talk, 'the ruff is here')).toEqual(['The ruff is here']);
  });

  it('shares failures with sessions of other scopes of the same client', async () => {
    const { gateway, memory, failures, openAs } = await open('hanging', HASTY);
    await texts(openAs(newId()), 'anything');
    for (const userId of ['ada', 'ben']) {
      const scoped = session(memory.scope({ userId }), newId(), {
        userId: null,
        ...HASTY,
        onError: () => expect.fail(),
      });
      await texts(scoped, 'anything');
    }
    expect(gateway.requests).toHaveLength(1);
    expect(failures).toHaveLength(1);
  });

  it('recalls once for a message of the user, whatever is added meanwhile', async () => {
    await direct().store({ content: 'The avocet sweeps its bill' });
    const { gateway, talk } = await open('up');
    talk.add([said('user', 'What does the avocet do, sweeps its bill?')]);
    for (let step = 0; step < 5; step++) {
      expect(await texts(talk, 'What does the avocet do, sweeps its bill?')).toContain('The avocet sweeps its bill');
      talk.add([said('tool', `step ${step}`)]);
    }
    expect(gateway.count(RECALL)).toBe(1);
    talk.add([said('user', 'What does the avocet do, sweeps its bill?')]);
    await texts(talk, 'What does the avocet do, sweeps its bill?');
    expect(gateway.count(RECALL)).toBe(2);
    await talk.flush(PATIENT);
  });

  it.each(OUTAGES)(
    'shows messages that wait while the service is %s, and stores them later in order',
    async (state) => {
      const { gateway, failures, talk } = await open(state, HASTY);
      const before = new Date().toISOString();
      talk.add([said('user', 'one'), said('assistant', 'two')]);
      talk.add([said('user', 'three')]);
      expect(await read(talk)).toEqual(['one', 'two', 'three']);
      const after = new Date().toISOString();
      // Closes the connections, so that an attempt in progress fails at once.
      await gateway.set('down');
      await gateway.set('up');
      await talk.flush(PATIENT);
      const { memories } = await direct().session({ session_id: talk.id });
      expect(memories.map(({ content }) => content)).toEqual(['one', 'two', 'three']);
      for (const { created_at } of memories) {
        expect(created_at >= before).toBe(true);
        // A further millisecond, because two adds never have the same time.
        expect(Date.parse(created_at)).toBeLessThanOrEqual(Date.parse(after) + 1);
      }
      const stores = failures.filter(([operation]) => operation === 'store');
      if (state === 'down')
        expect(stores).toEqual([['store', expect.stringMatching(/^stores wait in memory .* 1000 or/)]]);
    },
  );

  it('shows each message once while its store is in progress', async () => {
    const { gateway, talk } = await open('up');
    gateway.hold(STORE);
    talk.add([said('user', 'held')]);
    expect(await read(talk)).toEqual(['held']);
    gateway.hold('');
    // Stored, but the response is lost, so the client does not know.
    const other = await open('up');
    other.gateway.loseResponses(1);
    other.talk.add([said('user', 'lost')]);
    await expect
      .poll(async () => (await direct().session({ session_id: other.talk.id })).total, { interval: 5 })
      .toBe(1);
    expect(await read(other.talk)).toEqual(['lost']);
    await other.talk.flush(PATIENT);
  });

  it('stores a message once if the response was lost', async () => {
    const { gateway, talk } = await open('up');
    gateway.loseResponses(2);
    talk.add([said('user', 'once'), said('assistant', 'only')]);
    await talk.flush(PATIENT);
    expect(gateway.count(STORE)).toBe(3);
    expect((await direct().session({ session_id: talk.id })).memories.map(({ content }) => content)).toEqual([
      'once',
      'only',
    ]);
  });

  it('keeps the newest 1,000 messages, and reports once that older messages are refused', async () => {
    const { gateway, failures, talk } = await open('down');
    for (let n = 0; n < 1200; n += 100) {
      talk.add(Array.from({ length: 100 }, (_, index) => said('user', `message ${n + index}`)));
    }
    // Reported while the service is still down: it may stay down until the program ends.
    await expect.poll(() => failures).toHaveLength(2);
    await gateway.set('up');
    await talk.flush(PATIENT);
    const { memories, total } = await direct().session({ session_id: talk.id, limit: 1 });
    expect([total, memories[0]?.content]).toEqual([1000, 'message 200']);
    expect(failures).toEqual([
      ['store', expect.stringMatching(/^more than 1000 memories or 8 MiB wait for the service, so the oldest/)],
      ['store', expect.stringMatching(/^stores wait in memory/)],
    ]);
  });

  it('keeps at most 8 MiB of messages', async () => {
    const { gateway, failures, talk } = await open('down');
    const large = 'x'.repeat(900 * 1024);
    for (let n = 0; n < 12; n++) talk.add([said('user', `${n} ${large}`)]);
    await expect.poll(() => failures).toHaveLength(2);
    await gateway.set('up');
    await talk.flush(PATIENT);
    const { memories } = await direct().session({ session_id: talk.id });
    expect(memories.map(({ content }) => content.slice(0, 2).trim())).toEqual([
      ...['3', '4', '5', '6', '7', '8', '9', '10', '11'],
    ]);
  });

  it.each<[string, string[]]>([
    ['1,001 messages', new Array(1001).fill('x')],
    ['more than 8 MiB', ['x'.repeat(8 * 1024 * 1024)]],
  ])('rejects %s in one call, and stores nothing', async (_description, contents) => {
    const { talk } = await open('up');
    expect(() => talk.add(contents.map((content) => said('user', content)))).toThrow(
      /^messages must be at most 1000 and 8 MiB; use storeBatch for more$/,
    );
    await talk.flush(PATIENT);
    expect(await direct().session({ session_id: talk.id })).toMatchObject({ total: 0 });
  });

  it('rejects flush with the number of messages that are left, which are stored later', async () => {
    const { gateway, memory, talk } = await open('down');
    talk.add([said('user', 'one'), said('user', 'two')]);
    const message = expect.stringMatching(/^2 memories were not stored within 50 ms, and are lost if the program ends/);
    await expect(talk.flush({ timeoutMs: 50 })).rejects.toMatchObject({ code: 'UNAVAILABLE', message });
    await gateway.set('up');
    await flushStores(memory, PATIENT);
    expect(await direct().session({ session_id: talk.id })).toMatchObject({ total: 2 });
  });

  it('shows no waiting messages of other users in a session with the same id', async () => {
    const { memory, openAs } = await open('down', HASTY);
    const asUsers = (userId: string) => [
      openAs('one name', { userId }),
      session(memory.scope({ userId }), 'one name', { userId: null, onError: () => {}, ...HASTY }),
    ];
    const [ada, scopedAda] = asUsers('ada') as [Session, Session];
    ada.add([said('user', 'a secret of Ada')]);
    expect(await read(scopedAda)).toEqual(['a secret of Ada']);
    for (const other of [
      ...asUsers('ben'),
      openAs('one name'),
      openAs('one name', { userId: 'ada', agentId: 'cook' }),
    ]) {
      expect(await read(other)).toEqual([]);
    }
  });

  it('a session of an agent has a context if onError throws', async () => {
    const { talk } = await open('down', {
      onError: () => {
        throw new Error('no log');
      },
    });
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    expect(await texts(talk, 'anything')).toEqual([]);
    await expect.poll(() => warn.mock.calls.map(([, error]) => error)).toContainEqual(new Error('no log'));
    warn.mockRestore();
  });

  it('a session of an agent does not keep a process running while messages wait', async () => {
    const dist = fileURLToPath(new URL('../dist/', import.meta.url));
    const program = `
      import { MemoryClient } from '${dist}index.js';
      import { session } from '${dist}session.js';
      const memory = new MemoryClient({ url: 'http://127.0.0.1:${await freePort()}' });
      const talk = session(memory, 'a talk', { userId: null, onError: (_error, operation) => console.log(operation) });
      talk.add([{ role: 'user', content: 'lost' }]);`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
    expect(stdout).toBe('store\n');
  });
});
