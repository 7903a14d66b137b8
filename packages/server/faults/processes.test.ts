import type { StoreRequest, TierCounts } from '@memoryd/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServerProcess } from '../conformance/process.ts';
import { type Client, expectCleanEnd, startProcessClient, WORDS_ONLY } from '../conformance/under-test.ts';
import { type Agent, startAgent } from './agent.ts';
import { checkIntegrity } from './integrity.ts';

/** A process that has the database open: a server or an embedded engine. */
interface Participant {
  store(memory: StoreRequest, key?: string): Promise<string>;
  update(id: string, content: string): Promise<void>;
  forget(id: string): Promise<void>;
  /** Returns `undefined` if the memory does not exist. */
  getText(id: string): Promise<string | undefined>;
  /** Returns the ids of the recalled memories. */
  recallIds(query: string): Promise<string[]>;
  consolidate(): Promise<void>;
  getCounts(): Promise<TierCounts>;
}

function createServerParticipant(client: Client<ServerProcess>): Participant {
  return {
    store: (memory, key) => client.store(memory, key === undefined ? {} : { 'idempotency-key': key }),
    update: async (id, content) => expect((await client.update(id, { content })).status).toBe(200),
    forget: async (id) => void (await client.forget(id)),
    getText: async (id) => ((await client.getStatus(id)) === 404 ? undefined : (await client.memory(id)).content),
    recallIds: (query) => client.recalled(query, 'top_k=1000'),
    consolidate: async () => void (await client.consolidate()),
    getCounts: async () => getCounts(await client.stats()),
  };
}

function createAgentParticipant(agent: Agent): Participant {
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
    recallIds: async (query) => (await agent.recall({ query, top_k: 1000 })).results.map(({ id }) => id),
    consolidate: async () => void (await agent.consolidate()),
    getCounts: async () => getCounts(await agent.stats()),
  };
}

function getCounts({ working_count, episodic_count, semantic_count }: TierCounts): TierCounts {
  return { working_count, episodic_count, semantic_count };
}

describe('two servers and two embedded engines on one file', () => {
  let servers: Client<ServerProcess>[];
  let agents: Agent[];
  let participants: Participant[];
  let dbPath: string;

  beforeAll(async () => {
    const first = await startProcessClient({ env: WORDS_ONLY });
    ({ dbPath } = first.server);
    servers = [first, await startProcessClient({ dbPath, env: WORDS_ONLY })];
    agents = [await startAgent(dbPath), await startAgent(dbPath)];
    participants = [...servers.map(createServerParticipant), ...agents.map(createAgentParticipant)];
  });
  afterAll(async () => {
    for (const agent of agents) await agent.close();
    for (const server of servers) await expectCleanEnd(server.server);
    expect(await checkIntegrity(dbPath)).toEqual([]);
  });

  /** Expects the same result from every participant. */
  async function expectFromAll<T>(query: (participant: Participant) => Promise<T>, expected: T): Promise<void> {
    expect(await Promise.all(participants.map(query))).toEqual(participants.map(() => expected));
  }

  /** Calls `work` for each participant in turn. */
  async function forEach(work: (participant: Participant, name: string) => Promise<void>): Promise<void> {
    for (const [i, participant] of participants.entries()) await work(participant, 'abcd'[i] ?? '');
  }

  it("two servers and two embedded engines on one file see each other's stores, updates and forgets at the next request, and in recall", async () => {
    await forEach(async (participant, name) => {
      const id = await participant.store({ content: `the axolotl of ${name}` });
      await expectFromAll((other) => other.recallIds('axolotl'), [id]);
      await participant.update(id, `the tapir of ${name}`);
      await expectFromAll((other) => other.getText(id), `the tapir of ${name}`);
      await expectFromAll((other) => other.recallIds('axolotl'), []);
      await expectFromAll((other) => other.recallIds('tapir'), [id]);
      await participant.forget(id);
      await expectFromAll((other) => other.getText(id), undefined);
      await expectFromAll((other) => other.recallIds('tapir'), []);
    });
  });

  it("two servers and two embedded engines on one file see each other's consolidations in counts and recall", async () => {
    await forEach(async (participant, name) => {
      const ids: string[] = [];
      for (let i = 0; i < 2; i++) ids.push(await participant.store({ content: `the same ${name} walrus` }));
      await expectFromAll(async (other) => (await other.recallIds(`${name} walrus`)).length > 1, true);
      const { episodic_count } = await participant.getCounts();
      await participant.consolidate();
      const counts = { working_count: 0, episodic_count: episodic_count + 1, semantic_count: 0 };
      await expectFromAll((other) => other.getCounts(), counts);
      await expectFromAll(
        async (other) => (await other.recallIds(`${name} walrus`)).filter((id) => ids.includes(id)),
        [ids[0] as string],
      );
    });
  });

  it('store one memory per idempotency key, whichever process gets the request', async () => {
    const store = (participant: Participant) => participant.store({ content: 'sent to everybody' }, 'one key');
    const ids = await Promise.all([...participants, ...participants].map(store));
    expect(new Set(ids).size).toBe(1);
    await expectFromAll(store, ids[0] as string);
    await expectFromAll((participant) => participant.recallIds('everybody'), [ids[0] as string]);
  });

  it('two servers and two embedded engines on one file lose and duplicate no writes while all processes write, read and consolidate', {
    timeout: 120_000,
  }, async () => {
    const expected = new Map<string, string>();
    const forgottenIds: string[] = [];
    const write = async (participant: Participant, content: string) => {
      const [plain, updated, forgotten] = [
        await participant.store({ content }),
        await participant.store({ content: `${content} old` }),
        await participant.store({ content: `${content} gone` }),
      ];
      await participant.update(updated, `${content} new`);
      await participant.forget(forgotten);
      expected.set(plain, content).set(updated, `${content} new`);
      forgottenIds.push(forgotten);
      expect(await participant.recallIds(content)).toContain(plain);
    };
    const work = participants.map(async (participant, p) => {
      for (let round = 0; round < 12; round++) {
        await write(participant, `parallel ${p} ${round}`);
        if (round % 4 === p) await participant.consolidate();
      }
    });
    await Promise.all(work);
    await forEach(async (participant) => {
      const found = new Set(await participant.recallIds('parallel'));
      expect([...expected.keys()].filter((id) => !found.has(id))).toEqual([]);
      expect(forgottenIds.filter((id) => found.has(id))).toEqual([]);
      for (const [id, content] of [...expected].slice(0, 20)) expect(await participant.getText(id)).toBe(content);
    });
    expect(expected.size).toBe(4 * 24);
    expect(await checkIntegrity(dbPath)).toEqual([]);
  });

  it('two servers and two embedded engines on one file continue to work when one of the processes is killed, and see its acknowledged writes', async () => {
    const [doomed] = servers.splice(0, 1) as [Client<ServerProcess>];
    participants.splice(0, 1);
    const id = await doomed.store({ content: 'the last words of a pangolin' });
    await doomed.server.kill();
    await expectFromAll((participant) => participant.recallIds('pangolin'), [id]);
    await forEach(async (participant) => {
      await participant.consolidate();
      await participant.update(id, 'the last words of a cassowary');
    });
    await expectFromAll((participant) => participant.recallIds('cassowary'), [id]);
  });
});
