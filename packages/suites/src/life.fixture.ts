import type { NewMemory } from '@memoryd/core';
import type { MemoryVersion, RunRef } from '@memoryd/core/ports';
import { CONSOLIDATION_LEASE } from '@memoryd/core/ports';
import type { Owner } from '@memoryd/search';
import fc from 'fast-check';
import { newMemory } from './new-memory.fixture.ts';
import { NOW, type StorageUnderTest } from './storage.fixture.ts';

/** An event in the life of a namespace, in numbers that fast-check can generate. */
type Deed =
  | {
      do: 'store';
      text: string;
      session: number;
      owner: Owner;
      tags: string[];
      attachment: string | null;
      expires: true | null;
      corrects: number | null;
    }
  | { do: 'update'; which: number; text: string | null; tags: string[] | null; expires: boolean | null; number: number }
  | { do: 'forget'; which: number }
  | { do: 'use'; which: number }
  | {
      do: 'consolidate';
      distil: number[];
      more: number[];
      correct: [number, number] | null;
      evict: number | null;
      undo: boolean;
    };

type Did<Kind extends Deed['do']> = Extract<Deed, { do: Kind }>;

const rarely = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });
const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('same', 'same ', 'Mimi sleeps.', 'Café', 'Cafe\u0301') },
  fc.string({ unit: 'binary', maxLength: 40 }).map((each) => `.${each.replaceAll('\0', '').toWellFormed()}`),
  fc.constantFrom('a\u2028b\u2029c', 'a\r\nb\\"', '文字 😀 \u0001', '\ufeffmark'),
);
const tags = fc.uniqueArray(fc.constantFrom('a', 'b', 'ç', '\u2028'), { maxLength: 3 });
const owner = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ userId: '', agentId: '' }) },
  fc.constantFrom(...['ann', 'ben'].flatMap((userId) => ['', 'cook'].map((agentId) => ({ userId, agentId })))),
);
const which = fc.nat(50);
const some = fc.array(which, { minLength: 1, maxLength: 4 });
/** Enough deeds to reach every tier, link and state. */
export const deeds: fc.Arbitrary<Deed[]> = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({
        do: fc.constant('store' as const),
        text,
        session: fc.nat(1),
        owner,
        tags,
        attachment: rarely(text),
        expires: rarely(fc.constant(true)),
        corrects: rarely(which),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('update' as const),
        which,
        text: fc.option(text, { freq: 2 }),
        tags: rarely(tags),
        expires: rarely(fc.boolean()),
        number: fc.nat(3),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('forget' as const), which }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('use' as const), which }) },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('consolidate' as const),
        distil: some,
        more: some,
        correct: rarely(fc.tuple(which, which)),
        evict: rarely(which),
        undo: fc.boolean(),
      }),
    },
  ),
  { minLength: 30, maxLength: 60 },
);

type Seen = MemoryVersion & { id: string };

/** Applies a sequence of deeds to a namespace. */
export class Life {
  readonly #namespace: string;
  time = NOW;
  #deeds = 0;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  newMemory(id: string, content: string, fields: Partial<NewMemory> = {}): NewMemory {
    this.time++;
    const createdAt = this.time - 1000 * (this.time % 7);
    return newMemory({ namespace: this.#namespace, id, content, createdAt, storedAt: this.time, ...fields });
  }

  /** Returns the live memories in order of arrival. */
  async seen({ storage }: StorageUnderTest): Promise<Seen[]> {
    const { items } = await storage.memories(this.#namespace, {}, { limit: 1000, maxBytes: 1e8 }, this.time);
    return items.sort((one, two) => one.ordinal - two.ordinal);
  }

  /** Runs the given work in a consolidation run. */
  async consolidate({ storage, lease }: StorageUnderTest, work: (run: RunRef) => Promise<void>): Promise<RunRef> {
    const fence = (await lease.acquire(CONSOLIDATION_LEASE, 'a test', this.time, 1e9)) ?? 0;
    const startedAt = ++this.time;
    const begin = { id: `run ${startedAt}`, startedAt, promotedUntil: startedAt, fence };
    const { ref } = await storage.beginRun(this.#namespace, begin);
    await work(ref);
    await storage.endRun(ref, this.time);
    return ref;
  }

  async happen(database: StorageUnderTest, all: readonly Deed[]): Promise<void> {
    for (const deed of all) {
      this.time++;
      this.#deeds++;
      const present = await this.seen(database);
      const pick = (n: number) => (present.length > 0 ? present[n % present.length] : undefined);
      if (deed.do === 'store') await this.#store(database, deed, pick);
      else if (deed.do === 'consolidate') await this.#consolidate(database, deed);
      else {
        const target = pick(deed.which);
        if (target) await this.#write(database, deed, target);
      }
    }
  }

  async #store(
    { storage }: StorageUnderTest,
    deed: Did<'store'>,
    pick: (n: number) => Seen | undefined,
  ): Promise<void> {
    const { text, session, owner, tags, attachment, expires, corrects } = deed;
    const memory = this.newMemory(`memory-${this.#deeds}`, text, {
      ...owner,
      sessionId: `session ${session}`,
      tags,
      ...(attachment !== null && { attachment }),
      expiresAt: expires ? this.time + 9 : null,
      supersedes: corrects === null ? null : (pick(corrects)?.id ?? null),
      metadata: { n: session, deep: { '\u2028': [null, 1e-21, -0.5] } },
    });
    await storage.store(memory);
  }

  async #write({ storage }: StorageUnderTest, deed: Did<'update' | 'forget' | 'use'>, target: Seen): Promise<void> {
    if (deed.do === 'forget') await storage.forget(this.#namespace, target.id);
    else if (deed.do === 'use')
      await storage.recordAccess([{ namespace: this.#namespace, ordinal: target.ordinal, count: 2, at: this.time }]);
    else {
      await storage.update({
        namespace: this.#namespace,
        id: target.id,
        at: this.time,
        ...(deed.text !== null && { content: deed.text }),
        ...(deed.tags !== null && { tags: deed.tags }),
        ...(deed.expires !== null && { expiresAt: deed.expires ? this.time + 5 : null }),
        ...(deed.number > 1 && { metadata: { number: deed.number } }),
      });
    }
  }

  async #consolidate(database: StorageUnderTest, deed: Did<'consolidate'>): Promise<void> {
    const { storage } = database;
    const run = await this.consolidate(database, async (run) => {
      await storage.promote(run, { promotedUntil: this.time, now: this.time }, 20);
      await storage.mergeDuplicates(run, this.time, 20);
      const present = await this.seen(database);
      const chosen = (numbers: readonly number[]) => [
        ...new Set(numbers.flatMap((n) => present[n % Math.max(1, present.length)] ?? [])),
      ];
      const [wrong, right] = chosen(deed.correct ?? []);
      if (wrong && right) await storage.correct(run, { corrected: wrong, by: right, at: this.time });
      await this.#distil(database, run, chosen(deed.distil), chosen(deed.more));
      await storage.dropCandidates(run, present.slice(0, present.length / 2));
      await storage.evictExpired(run, this.time, 20);
      const evicted = chosen(deed.evict === null ? [] : [deed.evict]).map((memory) => memory.ordinal);
      await storage.evictExcess(run, 'episodic', evicted, this.time);
    });
    if (deed.undo) await this.#undo(database, run);
  }

  async #distil({ storage }: StorageUnderTest, run: RunRef, sources: Seen[], others: Seen[]): Promise<void> {
    if (sources.length === 0) return;
    const content = `Distilled ${this.#deeds}`;
    const memory = { id: `semantic-${this.#deeds}`, content, sources, at: this.time };
    const semantic = await storage.distil(run, memory);
    if (semantic === undefined) return;
    await storage.refresh(run, { semantic, content: `${content} anew`, sources: others, at: this.time });
  }

  async #undo({ storage }: StorageUnderTest, { id, fence }: RunRef): Promise<void> {
    const undo = await storage.beginUndo(this.#namespace, id, { fence, endedAfter: 0 });
    if (undo.outcome !== 'begun') return;
    for (let more = true; more; ) more = (await storage.undoSome(undo.ref, this.time, 5)).more;
  }
}
