import type { Clock } from '../../ports/clock.ts';
import type { Distilled, Distiller } from '../../ports/distiller.ts';
import type { IdSource } from '../../ports/id-source.ts';
import type { Storage } from '../../ports/storage.ts';
import type { ReadGroup, SeenMemory } from '../../ports/storage-distil.ts';
import type { RunRef, StepResult } from '../../ports/storage-runs.ts';
import type { Planned } from '../../ports/storage-sleep.ts';
import { GROUP_LIMITS } from '../distil/group.ts';
import { paced } from '../paced.ts';
import type { Due } from './step.ts';
import { type FoundGroup, Survey } from './survey.ts';

/**
 * Most memories that one run looks at, and most groups that it distils: some seconds of work, of which the search
 * thread does most. What is left waits for the next run.
 */
const LOOKED_AT_MOST = 2000;
const DISTILLED_AT_MOST = 200;

/** How long a run goes on asking a distiller that is slow, as a language model may be. */
const DISTILLING_MS = 60_000;

/** What distilling works with. */
export interface DistilParts {
  storage: Storage;
  distiller: Distiller;
  ids: IdSource;
  clock: Clock;
  /** Told when texts wait for their vectors. */
  embedding?: { look(): void };
}

/** A semantic memory that is to be made, or to be made anew. */
export interface PlannedDistilling {
  /** Ids of its sources, oldest first. */
  sources: string[];
  content: string;
  /** Id of the semantic memory that there is. */
  refreshes?: string;
}

/** Makes semantic memories of groups of episodic ones, and makes those anew whose group has changed. For one run. */
export class Distilling {
  readonly #parts: DistilParts;
  readonly #due: Due;
  readonly #survey: Survey;
  readonly #signal: AbortSignal;
  #surveying = true;
  #groups: FoundGroup[] = [];
  #startedAt = 0;
  readonly #madeBy: Record<string, number> = {};
  readonly #insteadOf: Record<string, number> = {};

  constructor(parts: DistilParts, due: Due, signal: AbortSignal) {
    this.#parts = parts;
    this.#due = due;
    this.#survey = new Survey(parts.storage, due, LOOKED_AT_MOST);
    this.#signal = signal;
  }

  /**
   * What a run would make now; it changes nothing.
   *
   * @param merged ids of twins that the run would merge before, and that are no sources then
   */
  async plan(merged: ReadonlySet<string>): Promise<Planned<PlannedDistilling>> {
    while (await paced(() => this.#lookOn())) this.#signal.throwIfAborted();
    const planned: PlannedDistilling[] = [];
    for (let found = this.#next(); found; found = this.#next()) {
      this.#signal.throwIfAborted();
      const group = await this.#read(found);
      const twins = group.sources.filter(({ id }) => merged.has(id));
      group.sources = group.sources.filter(({ id }) => !merged.has(id));
      if (waitsFor(found, twins) || !isDistillable(found, group)) continue;
      const { content } = await this.#parts.distiller.distil(group, this.#signal);
      const sources = group.sources.map(({ id }) => id);
      planned.push({ sources, content, ...(group.semanticId !== undefined && { refreshes: group.semanticId }) });
    }
    return { total: planned.length, items: planned };
  }

  /** How many texts each distiller has made, and in place of which other, for what reason. */
  get notes(): Record<string, unknown> {
    const isMade = Object.keys(this.#madeBy).length > 0;
    const isReplaced = Object.keys(this.#insteadOf).length > 0;
    return { ...(isMade && { distilled_by: this.#madeBy }), ...(isReplaced && { instead_of: this.#insteadOf }) };
  }

  /** Does the next part of the work: looks at some memories, or distils one group. */
  async work(run: RunRef): Promise<StepResult> {
    const { storage } = this.#parts;
    if (this.#surveying) {
      await this.#lookOn();
      const alone = this.#survey.alone.splice(0);
      if (alone.length > 0) await storage.dropCandidates(run, alone);
      return { count: 0, more: true };
    }
    const found = this.#next();
    if (!found) return { count: 0, more: false };
    return { count: Number(await this.#handle(run, found)), more: true };
  }

  async #lookOn(): Promise<boolean> {
    this.#surveying = await this.#survey.lookOn();
    if (!this.#surveying) {
      this.#groups = this.#survey.groups.slice(0, DISTILLED_AT_MOST).reverse();
      this.#startedAt = this.#parts.clock.now();
    }
    return this.#surveying;
  }

  #next(): FoundGroup | undefined {
    // Either way: a clock that was set back must not let a run go on for as long.
    const isLate = Math.abs(this.#parts.clock.now() - this.#startedAt) >= DISTILLING_MS;
    return isLate ? undefined : this.#groups.pop();
  }

  #read({ semantic, joining }: FoundGroup): Promise<ReadGroup> {
    const { namespace, settledUntil, now } = this.#due;
    return this.#parts.storage.readGroup({
      namespace,
      joining,
      settledUntil,
      now,
      ...(semantic !== undefined && { semantic }),
    });
  }

  /** Distils one group; false where nothing came of it. */
  async #handle(run: RunRef, found: FoundGroup): Promise<boolean> {
    const group = await this.#read(found);
    if (!isDistillable(found, group)) {
      await this.#parts.storage.dropCandidates(run, found.candidates);
      return false;
    }
    const distilled = await this.#parts.distiller.distil(group, this.#signal);
    if (!(await this.#keep(run, found.semantic, group.sources, distilled.content))) return false;
    this.#note(distilled);
    await this.#correct(run, group, distilled);
    // Those that can be sources no more.
    await this.#parts.storage.dropCandidates(run, found.candidates);
    return true;
  }

  #note({ by, insteadOf }: Distilled): void {
    this.#madeBy[by] = (this.#madeBy[by] ?? 0) + 1;
    if (!insteadOf) return;
    const reason = `${insteadOf.name}: ${insteadOf.because}`;
    this.#insteadOf[reason] = (this.#insteadOf[reason] ?? 0) + 1;
  }

  async #keep(
    run: RunRef,
    semantic: number | undefined,
    read: ReadGroup['sources'],
    content: string,
  ): Promise<boolean> {
    const { storage, ids, clock, embedding } = this.#parts;
    const sources: SeenMemory[] = read.map(({ ordinal, version }) => ({ ordinal, version }));
    const made = { content, sources, at: clock.now() };
    const isKept =
      semantic === undefined
        ? (await storage.distil(run, { id: ids.next(), ...made })) !== undefined
        : await storage.refresh(run, { semantic, ...made });
    if (isKept) embedding?.look();
    return isKept;
  }

  async #correct(run: RunRef, { sources }: ReadGroup, { corrections = [] }: Distilled): Promise<void> {
    const byId = new Map(sources.map((source) => [source.id, source]));
    for (const { corrected, by } of corrections) {
      const [wrong, right] = [byId.get(corrected), byId.get(by)];
      if (wrong && right) await this.#parts.storage.correct(run, { corrected: wrong, by: right });
    }
  }
}

/** Whether a group is looked at for these memories alone. */
function waitsFor({ candidates }: FoundGroup, memories: readonly SeenMemory[]): boolean {
  const ordinals = new Set(memories.map(({ ordinal }) => ordinal));
  return candidates.every(({ ordinal }) => ordinals.has(ordinal));
}

// A semantic memory stays until its last source is gone; making one takes several.
function isDistillable({ semantic }: FoundGroup, { sources, isClosed }: ReadGroup): boolean {
  return !isClosed && sources.length >= (semantic === undefined ? GROUP_LIMITS.leastSources : 1);
}
