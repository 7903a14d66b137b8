import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MemoryApi, MemoryError } from '@memoryd/contract';
import { propertyRuns } from '@memoryd/search/testing';
import { NEAR_PAIRS, type NearPair } from '@memoryd/suites';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { Engine, EngineSettings } from './engine.ts';
import { ENGINE_DEFAULTS } from './engine-defaults.ts';
import { openEngine } from './open-engine.ts';

/** Words that occur in no other text, so that the bytes of a file show whether a text is left. */
const MARKS = ['kestrelbox', 'umbrapine', 'quillstone', 'fjordlamp', 'novaberry', 'wickerdune'];

/** Texts that are equal after NFC normalization and trimming, and texts that are not. */
const TEXTS = [
  ...MARKS.map((mark) => `Ann put the ${mark} away`),
  `Ann put the ${MARKS[0]} away `,
  `Ann put the ${MARKS[1]} away\n`,
  `Ben did not put the ${MARKS[0]} away`,
  'caf\u00e9 at four',
  'cafe\u0301 at four',
];
const SESSIONS = ['monday', 'tuesday', 'default'];

/** A step of a test. `pick` selects one of the stored memories. */
type Step =
  | { kind: 'store'; text: number; session: number }
  | { kind: 'update'; pick: number; text: number }
  | { kind: 'forget'; pick: number }
  | { kind: 'consolidate' | 'undo' | 'restart' | 'crash' };

const textIndex = fc.nat({ max: TEXTS.length - 1 });
const pick = fc.nat({ max: 1000 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('store' as const),
      text: textIndex,
      session: fc.nat({ max: SESSIONS.length - 1 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('update' as const), pick, text: textIndex }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('forget' as const), pick }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('consolidate' as const, 'undo' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('restart' as const, 'crash' as const) }) },
);

interface StoredText {
  id: string;
  content: string;
  session: string;
  /** Id of the live duplicate. */
  mergedInto: string | null;
}

/** A consolidation run and its merges. */
interface Run {
  id: string;
  merges: { memory: StoredText; before: string | null; into: string }[];
}

/** A model of the guarantees of memoryd, without files, threads or ranking. */
class Model {
  /** In order of arrival. */
  readonly memories: StoredText[] = [];
  readonly forgotten: StoredText[] = [];
  /** Runs that have not been undone, the newest last. */
  readonly runs: Run[] = [];
  /** For each mark, the ids of the memories that ever contained it. */
  readonly #holders = new Map<string, Set<string>>(MARKS.map((mark) => [mark, new Set()]));

  store(id: string, content: string, session: string): void {
    this.memories.push({ id, content, session, mergedInto: null });
    this.#noteHolder(id, content);
  }

  // A hidden duplicate with a new text becomes visible. The hidden duplicates of a visible memory stay hidden.
  update(memory: StoredText, content: string): void {
    if (memory.content === content) return;
    memory.content = content;
    this.#noteHolder(memory.id, content);
    memory.mergedInto = null;
  }

  forget(memory: StoredText): void {
    for (const removed of [memory, ...this.#getDuplicates(memory)]) {
      this.memories.splice(this.memories.indexOf(removed), 1);
      this.forgotten.push(removed);
    }
  }

  consolidate(id: string): void {
    const merges: Run['merges'] = [];
    for (const memory of this.memories) {
      const duplicate = this.live.find((other) => other === memory || isDuplicate(other, memory));
      if (!duplicate || duplicate === memory || memory.mergedInto !== null) continue;
      for (const merged of [memory, ...this.#getDuplicates(memory)]) {
        merges.push({ memory: merged, before: merged.mergedInto, into: duplicate.id });
        merged.mergedInto = duplicate.id;
      }
    }
    this.runs.push({ id, merges });
  }

  // Does not affect memories that a client has forgotten or made visible since.
  undo(): void {
    for (const { memory, before, into } of this.runs.pop()?.merges ?? []) {
      if (memory.mergedInto !== into) continue;
      const duplicate = this.memories.find(({ id }) => id === before);
      memory.mergedInto = duplicate && isDuplicate(duplicate, memory) ? duplicate.id : null;
    }
  }

  get live(): StoredText[] {
    return this.memories.filter(({ mergedInto }) => mergedInto === null);
  }

  /** Returns the marks whose memories are all forgotten. */
  get forgottenMarks(): string[] {
    const remaining = new Set(this.memories.map(({ id }) => id));
    return MARKS.filter((mark) => {
      const holders = [...(this.#holders.get(mark) ?? [])];
      return holders.length > 0 && holders.every((id) => !remaining.has(id));
    });
  }

  #noteHolder(id: string, content: string): void {
    for (const [mark, holders] of this.#holders) if (content.includes(mark)) holders.add(id);
  }

  #getDuplicates({ id }: StoredText): StoredText[] {
    return this.memories.filter(({ mergedInto }) => mergedInto === id);
  }
}

function isDuplicate(one: StoredText, other: StoredText): boolean {
  const canonical = ({ content }: StoredText) => content.normalize('NFC').trim();
  return one.session === other.session && canonical(one) === canonical(other);
}

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-model-'));
  folders.push(folder);
  return join(folder, 'memory.db');
}

/** A real engine with a real file, and the model for comparison. */
class Pair {
  readonly model = new Model();
  #path: string;
  #engine: Engine;

  private constructor(path: string, engine: Engine) {
    this.#path = path;
    this.#engine = engine;
  }

  static async open(): Promise<Pair> {
    const path = newPath();
    return new Pair(path, await openAt(path));
  }

  get api(): MemoryApi {
    return this.#engine.namespace('default');
  }

  async take(step: Step): Promise<void> {
    const { api, model } = this;
    switch (step.kind) {
      case 'store': {
        const [content, session] = [TEXTS[step.text] as string, SESSIONS[step.session] as string];
        model.store((await api.store({ content, session_id: session })).id, content, session);
        break;
      }
      case 'update': {
        const memory = pickMemory(model.memories, step.pick);
        if (!memory) break;
        await api.update(memory.id, { content: TEXTS[step.text] as string });
        model.update(memory, TEXTS[step.text] as string);
        break;
      }
      case 'forget': {
        const memory = pickMemory(model.memories, step.pick);
        if (!memory) break;
        await api.forget(memory.id);
        model.forget(memory);
        break;
      }
      case 'consolidate':
        model.consolidate((await api.consolidate()).id ?? '');
        break;
      case 'undo':
        await this.#undo();
        break;
      case 'restart':
        await this.#engine.close();
        this.#engine = await openAt(this.#path);
        break;
      case 'crash':
        await this.#crash();
    }
  }

  async #undo(): Promise<void> {
    const newest = this.model.runs.at(-1);
    if (!newest) return;
    try {
      await this.api.undo(newest.id);
      this.model.undo();
    } catch (error) {
      // A client has since written the memory that others were merged into.
      expect(error).toMatchObject({ code: 'CONFLICT' });
      const named = (error as MemoryError).details?.map(({ message }) => message).join(' ') ?? '';
      expect(
        newest.merges.some(({ into }) => named.includes(into)),
        named,
      ).toBe(true);
    }
  }

  // A copy of the files at this moment has the state that a killed process would leave behind.
  async #crash(): Promise<void> {
    const image = newPath();
    for (const suffix of ['', '-wal']) {
      if (existsSync(this.#path + suffix)) copyFileSync(this.#path + suffix, image + suffix);
    }
    await this.#engine.close();
    this.#path = image;
    this.#engine = await openAt(image);
  }

  async expectModelState(): Promise<void> {
    const { api, model } = this;
    for (const { id, content, mergedInto } of model.memories) {
      expect(await api.memory(id)).toMatchObject({ content, merged_into: mergedInto });
    }
    for (const { id } of model.forgotten) await expect(api.memory(id)).rejects.toThrow(MemoryError);
    const live = await api.memories({});
    expect(live.memories.map(({ id }) => id).sort()).toEqual(model.live.map(({ id }) => id).sort());
    const { working_count, episodic_count, semantic_count } = await api.stats();
    expect(working_count + episodic_count + semantic_count).toBe(model.live.length);
    for (const session of SESSIONS) {
      const { memories } = await api.session({ session_id: session });
      const inSession = model.memories.filter((memory) => memory.session === session);
      expect(memories.map(({ id, content }) => [id, content])).toEqual(
        inSession.map(({ id, content }) => [id, content]),
      );
    }
  }

  async expectRecallByMarks(): Promise<void> {
    for (const mark of MARKS) {
      const { results } = await this.api.recall({ query: mark, top_k: 1000 });
      const holding = this.model.live.filter(({ content }) => content.includes(mark));
      expect(results.map(({ id }) => id).sort()).toEqual(holding.map(({ id }) => id).sort());
    }
  }

  /** Expects that no file contains the text of a forgotten memory, while the engine runs and after it has closed. */
  async expectForgottenPurged(): Promise<void> {
    const forgotten = this.model.forgottenMarks;
    for (const mark of forgotten) expect(filesContain(this.#path, mark), `${mark} while the engine runs`).toBe(false);
    await this.#engine.close();
    for (const mark of forgotten) expect(filesContain(this.#path, mark), `${mark} after closing`).toBe(false);
    this.#engine = await openAt(this.#path);
  }

  close(): Promise<void> {
    return this.#engine.close();
  }
}

function pickMemory(memories: readonly StoredText[], pick: number): StoredText | undefined {
  return memories[pick % memories.length];
}

/**
 * Returns true if the database file, or a file beside it, contains the middle of a word. An index may cut off its ends.
 */
function filesContain(path: string, mark: string): boolean {
  const folder = join(path, '..');
  const middle = mark.slice(1, -1);
  return readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(middle));
}

function openAt(dbPath: string, options: Partial<EngineSettings> = {}): Promise<Engine> {
  return openEngine({
    ...ENGINE_DEFAULTS,
    dbPath,
    embedder: 'none',
    consolidationIntervalSeconds: 0,
    workingAgeSeconds: 0,
    maxAnswerBytes: 1_000_000,
    telemetry: { report: () => {} },
    ...options,
  });
}

describe('an engine after any sequence of operations, restarts and crashes', () => {
  it('an engine after any sequence of operations, restarts and crashes has the same state as a simple model', {
    timeout: 300_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const pair = await Pair.open();
        try {
          for (const next of steps) {
            await pair.take(next);
            await pair.expectModelState();
          }
          await pair.expectRecallByMarks();
          await pair.expectForgottenPurged();
          await pair.expectModelState();
        } finally {
          await pair.close();
        }
      }),
      { numRuns: propertyRuns(100) },
    );
  });
});

/** Returns all pairs in `npm run test:long`, otherwise every fifth. */
function pairsToTest(): readonly NearPair[] {
  const step = Math.round(NEAR_PAIRS.length / propertyRuns(NEAR_PAIRS.length));
  return NEAR_PAIRS.filter((_, place) => place % step === 0);
}

describe('two facts that differ in a name, a number, a date or a negation', () => {
  it('two facts that differ in a name, a number, a date or a negation are never merged, superseded or distilled together by consolidation', {
    timeout: 120_000,
  }, async () => {
    const engine = await openAt(newPath(), { embedder: 'minilm' });
    try {
      const api = engine.namespace('default');
      const texts = pairsToTest().flatMap(({ texts: pair }) => pair);
      const { results } = await api.storeBatch(texts.map((content) => ({ content })));
      const stored = new Map(results.map((result, place) => [(result as { id: string }).id, texts[place] as string]));
      expect(stored.size).toBe(texts.length);
      await expect.poll(async () => (await api.stats()).pending_embeddings, { timeout: 60_000 }).toBe(0);
      for (let run = 0; run < 3; run++) expect((await api.consolidate()).self_check).toBe('passed');
      for (const [id, content] of stored) {
        expect(await api.memory(id)).toMatchObject({
          content,
          merged_into: null,
          superseded_by: null,
          tier: 'episodic',
        });
      }
      expect((await api.stats()).episodic_count).toBe(texts.length);
      const distilled = (await api.memories({ tier: 'semantic' })).memories.map(({ content }) => content.split('\n'));
      for (const { texts: pair } of pairsToTest()) {
        for (const quotes of distilled) expect(pair.filter((text) => quotes.includes(text)).length).toBeLessThan(2);
      }
    } finally {
      await engine.close();
    }
  });
});
