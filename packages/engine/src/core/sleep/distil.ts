import type { Clock } from '../../ports/clock.ts';
import type { Distilled, Distiller } from '../../ports/distiller.ts';
import type { IdSource } from '../../ports/id-source.ts';
import type { Planned, ReadGroup, RunRef, SeenMemory, StepResult, Storage } from '../../ports/storage.ts';
import { GROUP_LIMITS } from '../distil/group.ts';
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

/** Of how many memories another distiller than this one made the text, and why, as of the last. */
interface DistilledInstead {
  distiller: string;
  count: number;
  because: string;
}

/** Makes semantic memories of groups of episodic ones, and makes those anew whose group has changed. For one run. */
export class Distilling {
  readonly #parts: DistilParts;
  readonly #due: Due;
  readonly #survey: Survey;
  readonly #signal: AbortSignal;
  readonly #instead = new Map<string, DistilledInstead>();
  #surveying = true;
  #groups: FoundGroup[] = [];
  #startedAt = 0;

  constructor(parts: DistilParts, due: Due, signal: AbortSignal) {
    this.#parts = parts;
    this.#due = due;
    this.#survey = new Survey(parts.storage, due, LOOKED_AT_MOST);
    this.#signal = signal;
  }

  /** What there is to say of the work that has been done. */
  get notes(): Record<string, unknown> {
    return this.#instead.size > 0 ? { distilled_instead_of: [...this.#instead.values()] } : {};
  }

  /** What a run would make now; it changes nothing. */
  async plan(): Promise<Planned<PlannedDistilling>> {
    while (await this.#lookOn());
    const planned: PlannedDistilling[] = [];
    for (let found = this.#next(); found; found = this.#next()) {
      const group = await this.#read(found);
      if (!isDistillable(found, group)) continue;
      const { content } = await this.#parts.distiller.distil(group, this.#signal);
      const sources = group.sources.map(({ id }) => id);
      planned.push({ sources, content, ...(group.semanticId !== undefined && { refreshes: group.semanticId }) });
    }
    return { total: planned.length, items: planned };
  }

  /** Does the next part of the work: looks at some memories, or distils one group. */
  async work(run: RunRef): Promise<StepResult> {
    const { storage } = this.#parts;
    if (this.#surveying) {
      await this.#lookOn();
      await storage.dropCandidates(run, this.#survey.alone.splice(0));
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
    const isLate = this.#parts.clock.now() - this.#startedAt >= DISTILLING_MS;
    return isLate ? undefined : this.#groups.pop();
  }

  #read({ semantic, joining }: FoundGroup): Promise<ReadGroup> {
    const { namespace, settledUntil } = this.#due;
    return this.#parts.storage.readGroup({
      namespace,
      joining,
      settledUntil,
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

  #note({ insteadOf }: Distilled): void {
    if (!insteadOf) return;
    const { name: distiller, because } = insteadOf;
    const count = (this.#instead.get(distiller)?.count ?? 0) + 1;
    this.#instead.set(distiller, { distiller, count, because });
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

// A semantic memory stays until its last source is gone; making one takes several.
function isDistillable({ semantic }: FoundGroup, { sources, isClosed }: ReadGroup): boolean {
  return !isClosed && sources.length >= (semantic === undefined ? GROUP_LIMITS.leastSources : 1);
}
