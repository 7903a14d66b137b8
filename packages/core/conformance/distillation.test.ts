import { propertyRuns } from '@memoryd/search/testing';
import { openNewSqlite } from '@memoryd/sqlite/testing';
import { newMemory, type StorageUnderTest, testedStorage } from '@memoryd/suites';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { Consolidator } from '../src/consolidation/consolidator.ts';
import { createRecallForCheck } from '../src/consolidation/self-check.ts';
import { extractive } from '../src/distil/extractive.ts';
import { EventLog } from '../src/event-log.ts';
import { CONSOLIDATION_LEASE } from '../src/ports/coordination.ts';
import type { DistilGroup, Distiller } from '../src/ports/distiller.ts';
import type { Clock } from '../src/ports/runtime.ts';
import type { Storage } from '../src/ports/storage.ts';
import type { RunRef } from '../src/ports/storage-consolidation.ts';
import type { NewMemory, StoredMemory } from '../src/ports/storage-memories.ts';
import { uuidV7 } from '../src/system.ts';

const NOW = Date.UTC(2026, 0, 1);
const DAY = 86_400_000;
const MODEL = 'topics';
const ALL = { limit: 1000, maxBytes: 1e7 };
const TOPICS = ['Orchard', 'Harbour', 'Observatory'];

type World = Pick<StorageUnderTest, 'storage' | 'lease'>;

const world = testedStorage(openNewSqlite(10_000));
beforeEach(() => world.storage.useModel(MODEL));

function createConsolidator(
  { storage, lease }: World,
  distiller: Distiller = extractive,
  semantic = 0,
  clock: Clock = { now: () => NOW },
): Consolidator {
  const telemetry = { report() {} };
  const events = new EventLog(clock, uuidV7);
  const maxima = { episodic: 0, semantic };
  const own = { holder: 'one', archiveMs: 1e9, maxima, events, recalled: createRecallForCheck({ storage, clock }) };
  return new Consolidator({ storage, lease, clock, ids: uuidV7, telemetry, distiller, ...own });
}

/** Creates a memory about the n-th topic. A memory without a topic is not similar to any other. */
function getMemory(number: number, topic: number, content: string): NewMemory {
  return newMemory({
    id: `memory-${number}`,
    content,
    metadata: { topic },
    createdAt: NOW + number,
    storedAt: NOW - 1,
  });
}

const toWord = (number: number) => `w${String(number).padStart(4, '0')}x`;
/** Sentences of one topic differ in several words, so that none contradicts another. */
const getText = (topic: number, number: number) =>
  `${TOPICS[topic] ?? 'Nothing'} ${toWord(number)} v${number}y u${number}z is told.`;

/** Writes vectors for all pending texts by their topics. */
async function embed(storage: Storage): Promise<void> {
  const { memories } = await storage.pendingEmbeddings(MODEL, { limit: 1000, maxChars: 1e6, maxReembeddingChars: 1e6 });
  const vectors = memories.map(({ ordinal, revision, content }) => ({
    ordinal,
    revision,
    vectors: [getVector(content)],
  }));
  await storage.putVectors(MODEL, vectors);
}

function getVector(content: string): Float32Array {
  const topic = TOPICS.findIndex((name) => content.startsWith(name));
  const number = Number(/\d+/.exec(content)?.[0] ?? 0);
  const axis = topic >= 0 ? topic : TOPICS.length + (number % 50);
  const values = Float32Array.from({ length: 64 }, (_, i) => (i === axis ? 1 : 0.03 * Math.sin(number * (i + 1))));
  const length = Math.hypot(...values);
  return values.map((value) => value / length);
}

async function semantics(storage: Storage): Promise<StoredMemory[]> {
  return (await storage.memories('default', { tier: 'semantic' }, ALL, NOW)).items;
}

describe('distillation', () => {
  let number = 0;
  async function storeTopic(topic: number, count: number): Promise<NewMemory[]> {
    const memories = Array.from({ length: count }, () => getMemory(++number, topic, getText(topic, number)));
    await world.storage.storeMany(memories);
    await embed(world.storage);
    return memories;
  }

  async function inRun(work: (run: RunRef) => Promise<void>): Promise<void> {
    const run = await world.beginRun({ id: 'earlier' });
    await work(run);
    await world.storage.endRun(run, NOW);
    await world.lease.release(CONSOLIDATION_LEASE, 'this process');
  }

  it('creates a semantic memory for each group, and none for memories without a group', async () => {
    const orchard = await storeTopic(0, 4);
    const harbour = await storeTopic(1, 3);
    await storeTopic(2, 2);
    await storeTopic(9, 5);
    expect(await createConsolidator(world).consolidate('default', 0)).toMatchObject({
      counts: { promoted: 14, distilled: 2 },
      notes: { distilled_by: { extractive: 2 } },
    });
    const made = await semantics(world.storage);
    expect(made.map(({ derivedFrom }) => derivedFrom).reverse()).toEqual(
      [orchard, harbour].map((of) => of.map(({ id }) => id)),
    );
  });

  it('distillation has a plan with exactly the changes of the next run, and planning changes nothing', async () => {
    await storeTopic(0, 4);
    await storeTopic(1, 6);
    const { distil } = await createConsolidator(world).plan('default', 0);
    expect(await semantics(world.storage)).toEqual([]);
    await createConsolidator(world).consolidate('default', 0);
    const made = (await semantics(world.storage)).map(({ derivedFrom, content }) => ({
      sources: derivedFrom,
      content,
    }));
    const byText = (a: { content: string }, b: { content: string }) => (a.content < b.content ? -1 : 1);
    expect(distil.items.toSorted(byText)).toEqual(made.toSorted(byText));
    await storeTopic(0, 1);
    const [grown] = (await createConsolidator(world).plan('default', 0)).distil.items;
    expect(made.length).toBeGreaterThan(1);
    expect((await semantics(world.storage)).map(({ id }) => id)).toContain(grown?.refreshes);
  });

  it.each([
    ['of another user', 'ben'],
    ['of the same user', 'ann'],
  ])('creates a semantic memory for each group despite a daily note %s', async (_, userId) => {
    const day = 24 * 60 * 60 * 1000;
    const turns = [0, 0, 0, 0, 1, 1, 1, ...Array<number>(40).fill(9)].map((topic) => {
      const turn = getMemory(++number, topic, getText(topic, number));
      return { ...turn, userId: 'ann', createdAt: NOW + (number % 2) * 100 * day + number };
    });
    const notes = Array.from({ length: 99 }, (__, i) => {
      const note = getMemory(++number, 9, 'Nothing to report.');
      return { ...note, userId, sessionId: `day ${i}`, createdAt: NOW + (i + 1) * day };
    });
    for (const memories of [turns, notes]) {
      await world.storage.storeMany(memories);
      await embed(world.storage);
    }
    await createConsolidator(world).consolidate('default', 0);
    const made = await semantics(world.storage);
    expect(made.map(({ derivedFrom, userId }) => [userId, derivedFrom.length]).sort()).toEqual([
      ['ann', 3],
      ['ann', 4],
    ]);
  });

  it('alternates between users if the time of a run does not suffice for all groups', async () => {
    for (const [userId, topic] of [
      ['ann', 0],
      ['ann', 1],
      ['ben', 0],
    ] as const) {
      const memories = Array.from({ length: 4 }, () => ({
        ...getMemory(++number, topic, getText(topic, number)),
        userId,
      }));
      await world.storage.storeMany(memories);
    }
    await embed(world.storage);
    let distilled = 0;
    const slow: Distiller = {
      ...extractive,
      distil(...args) {
        distilled++;
        return extractive.distil(...args);
      },
    };
    const clock = { now: () => NOW + distilled * 30_000 };
    await createConsolidator(world, slow, 0, clock).consolidate('default', 0);
    expect((await semantics(world.storage)).map(({ userId }) => userId).sort()).toEqual(['ann', 'ben']);
  });

  it('creates the semantic memories of groups that earlier rules passed over', async () => {
    const passed = await storeTopic(0, 4);
    const consolidator = createConsolidator(world);
    await inRun(async (run) => {
      await world.storage.promote(run, { promotedUntil: NOW, now: NOW }, 10);
      const memories = (await world.storage.memories('default', {}, ALL, NOW)).items;
      await world.storage.dropCandidates(run, memories);
    });
    expect((await consolidator.plan('default', 0)).distil.items).toEqual([]);
    await consolidator.consolidate('default', 0);
    const made = await semantics(world.storage);
    expect(made.map(({ derivedFrom }) => derivedFrom)).toEqual([passed.map(({ id }) => id)]);
  });

  it('distillation is taken into account in the plan of evictions', async () => {
    await storeTopic(0, 4);
    await storeTopic(1, 4);
    const consolidator = createConsolidator(world, extractive, 1);
    const { distil, evict } = await consolidator.plan('default', 0);
    const { counts } = await consolidator.consolidate('default', 0);
    expect(counts).toMatchObject({ distilled: distil.total, evicted: evict.total });
    expect(evict.total).toBe(1);
  });

  it('distils a group once per run, even if several memories join the group', async () => {
    const groups: DistilGroup[] = [];
    const counting: Distiller = {
      name: 'counting',
      quotes: true,
      distil(group, signal) {
        groups.push(group);
        return extractive.distil(group, signal);
      },
    };
    await storeTopic(0, 5);
    const consolidator = createConsolidator(world, counting);
    await consolidator.consolidate('default', 0);
    await storeTopic(0, 3);
    await consolidator.consolidate('default', 0);
    await consolidator.consolidate('default', 0);
    expect(groups.map(({ sources }) => sources.length)).toEqual([5, 8]);
  });

  it('records in the run that a fallback distiller was used', async () => {
    const replacedDistiller = { name: 'model', because: 'cannot be reached' };
    const standIn: Distiller = {
      name: 'model',
      quotes: true,
      distil: async (group, signal) => ({ ...(await extractive.distil(group, signal)), replacedDistiller }),
    };
    await storeTopic(0, 3);
    await storeTopic(1, 3);
    expect((await createConsolidator(world, standIn).consolidate('default', 0)).notes).toEqual({
      distilled_by: { extractive: 2 },
      instead_of: { 'model: cannot be reached': 2 },
    });
  });

  it('stores nothing for a group that changes while it is distilled', async () => {
    const [first] = await storeTopic(0, 3);
    const slow: Distiller = {
      name: 'slow',
      quotes: true,
      async distil(group, signal) {
        await world.storage.forget('default', first?.id ?? '');
        return extractive.distil(group, signal);
      },
    };
    await createConsolidator(world, slow).consolidate('default', 0);
    expect(await semantics(world.storage)).toEqual([]);
  });

  it('marks a memory as superseded if the distiller returns a correction of that memory, and distils the others in the next run', async () => {
    const [wrong, right, ...others] = (await storeTopic(0, 4)) as [NewMemory, NewMemory, ...NewMemory[]];
    const correcting: Distiller = {
      name: 'correcting',
      quotes: true,
      async distil(group, signal) {
        const corrections = [{ corrected: wrong.id, by: right.id, correctedQuote: 'told', byQuote: 'told' }];
        return { ...(await extractive.distil(group, signal)), corrections };
      },
    };
    const consolidator = createConsolidator(world, correcting);
    const run = await consolidator.consolidate('default', 0);
    expect((await world.storage.memory('default', wrong.id, NOW + DAY))?.supersededBy).toBe(right.id);
    expect(await semantics(world.storage)).toEqual([]);
    const next = await consolidator.consolidate('default', 0);
    const [made] = await semantics(world.storage);
    expect(made?.derivedFrom).toEqual([right, ...others].map(({ id }) => id));
    for (const { id } of [next, run]) await consolidator.undo('default', id);
    expect((await world.storage.memory('default', wrong.id, NOW + DAY))?.supersededBy).toBeNull();
  });

  it.each([
    ['corrections if the distiller quotes', extractive, 1],
    ['nothing if a language model distils, which finds corrections itself', { ...extractive, quotes: false }, 0],
  ])('suggests %s', async (_, distiller, count) => {
    const { storage } = world;
    const texts = ['Orchard meetings are held on Monday.', 'Orchard meetings have moved to Tuesday.'];
    await storage.storeMany(texts.map((text, number) => getMemory(number, 0, text)));
    await embed(storage);
    await createConsolidator(world, distiller).consolidate('default', 0);
    const { items } = await storage.corrections('default', 'pending', ALL, NOW + DAY);
    expect(items.map(({ earlier, later }) => [earlier.content, later.content])).toEqual(count === 1 ? [texts] : []);
  });

  it('distils the remaining sources after one source is superseded', async () => {
    const stored = await storeTopic(0, 4);
    await createConsolidator(world).consolidate('default', 0);
    const correction = getMemory(++number, 9, getText(9, number));
    await world.storage.store({ ...correction, supersedes: stored[0]?.id ?? '' });
    await embed(world.storage);
    await createConsolidator(world).consolidate('default', 0);
    const [made, ...more] = await semantics(world.storage);
    expect(more).toEqual([]);
    expect(made?.derivedFrom).toEqual(stored.slice(1).map(({ id }) => id));
    expect(made?.content).not.toContain(/w\d+x/.exec(stored[0]?.content ?? '')?.[0]);
  });
});

type Action = {
  action: 'store' | 'forget' | 'update' | 'expire' | 'consolidate' | 'undo' | 'decline';
  topic: number;
  place: number;
};

const actions: fc.Arbitrary<Action[]> = fc.array(
  fc.record({
    action: fc.oneof(
      { weight: 8, arbitrary: fc.constant('store' as const) },
      { weight: 3, arbitrary: fc.constant('consolidate' as const) },
      { weight: 2, arbitrary: fc.constantFrom('forget', 'update', 'undo') },
      { weight: 1, arbitrary: fc.constantFrom('expire', 'decline') },
    ),
    topic: fc.nat({ max: 3 }),
    place: fc.nat({ max: 30 }),
  }),
  { maxLength: 60 },
);

/** A client of a database that is consolidated now and then, with the expected state. */
class Client {
  readonly texts = new Map<string, string>();
  /** Words of memories that are forgotten or will expire. */
  readonly gone = new Set<string>();
  readonly #world: World;
  readonly #consolidator: Consolidator;
  #number = 0;

  constructor(world: World) {
    this.#world = world;
    this.#consolidator = createConsolidator(world);
  }

  async perform({ action, topic, place }: Action): Promise<void> {
    const { storage } = this.#world;
    const id = [...this.texts.keys()][place % Math.max(1, this.texts.size)];
    if (action === 'store') await this.#store(topic);
    else if (action === 'consolidate') await this.#consolidator.consolidate('default', 0);
    else if (action === 'undo') await this.#undo();
    else if (action === 'decline') await this.#decline(place);
    else if (id === undefined) return;
    else if (action === 'update') await this.#update(id, topic);
    else if (action === 'expire') {
      await storage.update({ namespace: 'default', id, at: NOW, expiresAt: NOW * 2 });
      this.#expectGone(id);
    } else {
      await storage.forget('default', id);
      this.#expectGone(id);
      this.texts.delete(id);
    }
    await embed(storage);
  }

  async #store(topic: number): Promise<void> {
    const memory = getMemory(++this.#number, topic, getText(topic, this.#number));
    await this.#world.storage.store(memory);
    this.texts.set(memory.id, memory.content);
  }

  async #update(id: string, topic: number): Promise<void> {
    const content = getText(topic, ++this.#number);
    await this.#world.storage.update({ namespace: 'default', id, at: NOW, content });
    this.#earlier.set(id, [...(this.#earlier.get(id) ?? []), this.texts.get(id) ?? '']);
    this.texts.set(id, content);
  }

  readonly #earlier = new Map<string, string[]>();

  #expectGone(id: string): void {
    for (const text of [this.texts.get(id) ?? '', ...(this.#earlier.get(id) ?? [])]) {
      this.gone.add(/w\d+x/.exec(text)?.[0] ?? '');
    }
  }

  async #undo(): Promise<void> {
    const { items } = await this.#world.storage.runs('default', ALL);
    const newest = items.find(({ state }) => state === 'completed');
    if (newest) await this.#consolidator.undo('default', newest.id);
  }

  async #decline(place: number): Promise<void> {
    const made = await semantics(this.#world.storage);
    const one = made[place % Math.max(1, made.length)];
    if (one) await this.#world.storage.forget('default', one.id);
  }
}

it('distillation keeps the text of every memory, and no word of a forgotten memory in semantic memories', {
  timeout: 240_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(actions, async (all) => {
      const client = new Client(world);
      for (const action of all) {
        await client.perform(action);
        await expectNothingGone(world, client);
      }
      await createConsolidator(world).consolidate('default', 0);
      await expectTexts(world, client);
      // The next run of the property starts with an empty database.
      await world.check();
      await world.open();
      await world.storage.useModel(MODEL);
    }),
    { numRuns: propertyRuns(25) },
  );
});

async function expectNothingGone({ storage }: World, { gone }: Client): Promise<void> {
  for (const { content } of await semantics(storage)) {
    for (const word of gone) expect(content).not.toContain(word);
  }
}

/** Expects that every memory has its text, and that semantic memories quote the current texts of their sources. */
async function expectTexts({ storage }: World, { texts }: Client): Promise<void> {
  for (const [id, text] of texts) expect((await storage.memory('default', id, NOW))?.content).toBe(text);
  for (const { content, derivedFrom } of await semantics(storage)) {
    const sourceTexts = derivedFrom.map((id) => texts.get(id));
    for (const line of content.split('\n')) expect(sourceTexts).toContain(line);
  }
}
