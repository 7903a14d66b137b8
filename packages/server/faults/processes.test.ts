import type { StoreRequest, TierCounts } from '@memoryd/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServerProcess } from '../conformance/process.ts';
import { type Client, expectCleanEnd, startProcessClient, WORDS_ONLY } from '../conformance/under-test.ts';
import { type Agent, startAgent } from './agent.ts';
import { checkIntegrity } from './integrity.ts';

/** One of the processes that have a database open, however it is asked. */
interface Party {
  store(memory: StoreRequest, key?: string): Promise<string>;
  update(id: string, content: string): Promise<void>;
  forget(id: string): Promise<void>;
  /** Undefined where there is no such memory. */
  getText(id: string): Promise<string | undefined>;
  /** Ids that a recall answers. */
  recalled(query: string): Promise<string[]>;
  consolidate(): Promise<void>;
  counts(): Promise<TierCounts>;
}

function serverParty(client: Client<ServerProcess>): Party {
  return {
    store: (memory, key) => client.store(memory, key === undefined ? {} : { 'idempotency-key': key }),
    update: async (id, content) => expect((await client.update(id, { content })).status).toBe(200),
    forget: async (id) => void (await client.forget(id)),
    getText: async (id) => ((await client.getStatus(id)) === 404 ? undefined : (await client.memory(id)).content),
    recalled: (query) => client.recalled(query, 'top_k=1000'),
    consolidate: async () => void (await client.consolidate()),
    counts: async () => getCounts(await client.stats()),
  };
}

function agentParty(agent: Agent): Party {
  return {
    store: async (memory, key) => (await agent.store(memory, key === undefined ? {} : { idempotencyKey: key })).id,
    update: async (id, content) => void (await agent.update(id, { content })),
    forget: async (id) => void (await agent.forget(id)),
    getText: async (id) => {
      try {
        return (await agent.memory(id)).content;
      } catch (error) {
        expect(error).toMatchObject({ code: 'NOT_FOUND' });
        return undefined;
      }
    },
    recalled: async (query) => (await agent.recall({ query, top_k: 1000 })).results.map(({ id }) => id),
    consolidate: async () => void (await agent.consolidate()),
    counts: async () => getCounts(await agent.stats()),
  };
}

function getCounts({ working_count, episodic_count, semantic_count }: TierCounts): TierCounts {
  return { working_count, episodic_count, semantic_count };
}

describe('two servers and two programs with the engine in them, on one file', () => {
  let servers: Client<ServerProcess>[];
  let agents: Agent[];
  let parties: Party[];
  let dbPath: string;

  beforeAll(async () => {
    const first = await startProcessClient({ env: WORDS_ONLY });
    ({ dbPath } = first.server);
    servers = [first, await startProcessClient({ dbPath, env: WORDS_ONLY })];
    agents = [await startAgent(dbPath), await startAgent(dbPath)];
    parties = [...servers.map(serverParty), ...agents.map(agentParty)];
  });
  afterAll(async () => {
    for (const agent of agents) await agent.close();
    for (const server of servers) await expectCleanEnd(server.server);
    expect(await checkIntegrity(dbPath)).toEqual([]);
  });

  /** Asserts that every party answers the same. */
  async function expectOfAll<T>(ask: (party: Party) => Promise<T>, expected: T): Promise<void> {
    expect(await Promise.all(parties.map(ask))).toEqual(parties.map(() => expected));
  }

  /** Does something as each party in turn. */
  async function asEach(work: (party: Party, name: string) => Promise<void>): Promise<void> {
    for (const [i, party] of parties.entries()) await work(party, 'abcd'[i] ?? '');
  }

  it('see at their next request what any of them stored, updated and forgot, in recall too', async () => {
    await asEach(async (party, name) => {
      const id = await party.store({ content: `the axolotl of ${name}` });
      await expectOfAll((other) => other.recalled('axolotl'), [id]);
      await party.update(id, `the tapir of ${name}`);
      await expectOfAll((other) => other.getText(id), `the tapir of ${name}`);
      await expectOfAll((other) => other.recalled('axolotl'), []);
      await expectOfAll((other) => other.recalled('tapir'), [id]);
      await party.forget(id);
      await expectOfAll((other) => other.getText(id), undefined);
      await expectOfAll((other) => other.recalled('tapir'), []);
    });
  });

  it('see what any of them consolidated, in counts and recall', async () => {
    await asEach(async (party, name) => {
      const ids: string[] = [];
      for (let i = 0; i < 2; i++) ids.push(await party.store({ content: `the same ${name} walrus` }));
      await expectOfAll(async (other) => (await other.recalled(`${name} walrus`)).length > 1, true);
      const { episodic_count } = await party.counts();
      await party.consolidate();
      const counts = { working_count: 0, episodic_count: episodic_count + 1, semantic_count: 0 };
      await expectOfAll((other) => other.counts(), counts);
      await expectOfAll(
        async (other) => (await other.recalled(`${name} walrus`)).filter((id) => ids.includes(id)),
        [ids[0] as string],
      );
    });
  });

  it('make one memory of one idempotency key, whoever it is sent to, at once or later', async () => {
    const store = (party: Party) => party.store({ content: 'sent to everybody' }, 'one key');
    const ids = await Promise.all([...parties, ...parties].map(store));
    expect(new Set(ids).size).toBe(1);
    await expectOfAll(store, ids[0] as string);
    await expectOfAll((party) => party.recalled('everybody'), [ids[0] as string]);
  });

  it('lose and double nothing while all of them write, read and consolidate', { timeout: 120_000 }, async () => {
    const kept = new Map<string, string>();
    const gone: string[] = [];
    const write = async (party: Party, content: string) => {
      const [plain, updated, forgotten] = [
        await party.store({ content }),
        await party.store({ content: `${content} old` }),
        await party.store({ content: `${content} gone` }),
      ];
      await party.update(updated, `${content} new`);
      await party.forget(forgotten);
      kept.set(plain, content).set(updated, `${content} new`);
      gone.push(forgotten);
      expect(await party.recalled(content)).toContain(plain);
    };
    const work = parties.map(async (party, p) => {
      for (let round = 0; round < 12; round++) {
        await write(party, `parallel ${p} ${round}`);
        if (round % 4 === p) await party.consolidate();
      }
    });
    await Promise.all(work);
    await asEach(async (party) => {
      const found = new Set(await party.recalled('parallel'));
      expect([...kept.keys()].filter((id) => !found.has(id))).toEqual([]);
      expect(gone.filter((id) => found.has(id))).toEqual([]);
      for (const [id, content] of [...kept].slice(0, 20)) expect(await party.getText(id)).toBe(content);
    });
    expect(kept.size).toBe(4 * 24);
    expect(await checkIntegrity(dbPath)).toEqual([]);
  });

  it('go on when one of them is killed, and see what it had been answered', async () => {
    const [doomed] = servers.splice(0, 1) as [Client<ServerProcess>];
    parties.splice(0, 1);
    const id = await doomed.store({ content: 'the last words of a pangolin' });
    await doomed.server.kill();
    await expectOfAll((party) => party.recalled('pangolin'), [id]);
    await asEach(async (party) => {
      await party.consolidate();
      await party.update(id, 'the last words of a cassowary');
    });
    await expectOfAll((party) => party.recalled('cassowary'), [id]);
  });
});
