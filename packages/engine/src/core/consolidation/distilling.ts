import type { DecliningDistiller, Distilled } from '../../ports/distiller.ts';
import type { Clock, IdSource } from '../../ports/runtime.ts';
import type { Storage } from '../../ports/storage.ts';
import type {
  DistilCandidate,
  Planned,
  ReadGroup,
  RunRef,
  SeenMemory,
  StepResult,
} from '../../ports/storage-consolidation.ts';
import { selectAgreeing } from '../distil/agreement.ts';
import { GROUP_LIMITS, type GroupsBefore, groupMemories } from '../distil/group.ts';
import type { EmbeddingQueue } from '../embedding-queue/embedding-queue.ts';
import { paced } from '../time.ts';
import type { Due } from './steps.ts';

/** Memories that one run looks at, and groups that it distils: some seconds of work. The rest waits for the next run. */
const MAX_LOOKED_AT = 2000;
const MAX_DISTILLED = 200;

/** How long a run goes on asking a distiller that is slow, as a language model may be. */
const DISTILLING_MS = 60_000;

/** What distilling works with. */
export interface DistilParts {
  storage: Storage;
  distiller: DecliningDistiller;
  ids: IdSource;
  clock: Clock;
  /** Absent where recall goes by words alone. */
  embedding?: Pick<EmbeddingQueue, 'look' | 'onlyEnglish'>;
}

/** A semantic memory that is to be made, or to be made anew. */
export interface PlannedDistilling {
  /** Ids of its sources, oldest first. */
  sources: string[];
  content: string;
  /** Id of the semantic memory that is made anew. */
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
  readonly #replacedDistiller: Record<string, number> = {};

  constructor(parts: DistilParts, due: Due, signal: AbortSignal) {
    this.#parts = parts;
    this.#due = due;
    this.#survey = new Survey(parts.storage, due);
    this.#signal = signal;
  }

  /** What a run would make now; `merged` are the ids of duplicates that it would merge before, which are no sources then. */
  async plan(merged: ReadonlySet<string>): Promise<Planned<PlannedDistilling>> {
    while (await paced(() => this.#lookOn())) this.#signal.throwIfAborted();
    const planned: PlannedDistilling[] = [];
    for (let found = this.#next(); found; found = this.#next()) {
      this.#signal.throwIfAborted();
      const group = await this.#read(found);
      const duplicates = group.sources.filter(({ id }) => merged.has(id));
      group.sources = group.sources.filter(({ id }) => !merged.has(id));
      if (waitsFor(found, duplicates) || !isDistillable(found, group)) continue;
      const distilled = await this.#parts.distiller.distil(group, this.#signal);
      if (!distilled) continue;
      const { content } = distilled;
      const sources = group.sources.map(({ id }) => id);
      planned.push({ sources, content, ...(group.semanticId !== undefined && { refreshes: group.semanticId }) });
    }
    return { total: planned.length, items: planned };
  }

  /** How many texts each distiller has made, and in place of which other, for what reason. */
  get notes(): Record<string, unknown> {
    const isMade = Object.keys(this.#madeBy).length > 0;
    const isReplaced = Object.keys(this.#replacedDistiller).length > 0;
    return {
      ...(isMade && { distilled_by: this.#madeBy }),
      ...(isReplaced && { instead_of: this.#replacedDistiller }),
    };
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
      this.#groups = [...this.#survey.groups.values()].slice(0, MAX_DISTILLED).reverse();
      this.#startedAt = this.#parts.clock.now();
    }
    return this.#surveying;
  }

  #next(): FoundGroup | undefined {
    // Either way: a clock that was set back must not let a run go on for as long.
    const isLate = Math.abs(this.#parts.clock.now() - this.#startedAt) >= DISTILLING_MS;
    return isLate ? undefined : this.#groups.pop();
  }

  /** Reads a group as it is now, without the sources that do not belong together. */
  async #read({ semantic, joining }: FoundGroup): Promise<ReadGroup> {
    const { namespace, promotedUntil, now } = this.#due;
    const request = { namespace, promotedUntil, now, ...(semantic !== undefined && { semantic }) };
    const group = await this.#parts.storage.readGroup({ ...request, joining });
    const { distiller, embedding } = this.#parts;
    const use = { onlyEnglish: embedding?.onlyEnglish ?? false, quoted: distiller.quotes };
    const agreeing = selectAgreeing(group.sources, use);
    if (agreeing.length === group.sources.length) return group;
    // Whether a group is closed depends on its sources.
    if (semantic === undefined) {
      return this.#parts.storage.readGroup({ ...request, joining: agreeing.map(({ ordinal }) => ordinal) });
    }
    return { ...group, sources: agreeing.length > 0 ? agreeing : group.sources.slice(-1) };
  }

  /** Distils one group; false where nothing came of it. */
  async #handle(run: RunRef, found: FoundGroup): Promise<boolean> {
    const group = await this.#read(found);
    if (!isDistillable(found, group)) {
      await this.#parts.storage.dropCandidates(run, found.candidates);
      return false;
    }
    const distilled = await this.#parts.distiller.distil(group, this.#signal);
    if (!distilled) {
      await this.#parts.storage.dropCandidates(run, found.candidates);
      return false;
    }
    if (!(await this.#keep(run, found, group, distilled))) return false;
    this.#note(distilled);
    await this.#correct(run, group, distilled);
    // Those that can be sources no more.
    await this.#parts.storage.dropCandidates(run, found.candidates);
    return true;
  }

  #note({ by, replacedDistiller }: Distilled): void {
    this.#madeBy[by] = (this.#madeBy[by] ?? 0) + 1;
    if (!replacedDistiller) return;
    const reason = `${replacedDistiller.name}: ${replacedDistiller.because}`;
    this.#replacedDistiller[reason] = (this.#replacedDistiller[reason] ?? 0) + 1;
  }

  async #keep(run: RunRef, { semantic }: FoundGroup, group: ReadGroup, { content }: Distilled): Promise<boolean> {
    const { storage, ids, clock, embedding } = this.#parts;
    const sources = group.sources.map(({ ordinal, version }) => ({ ordinal, version }));
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

/** Candidates that are grouped at once: enough for whole groups, few enough to be done in some milliseconds. */
const GROUPED_AT_ONCE = 64;

/** Memories that belong together. */
interface FoundGroup {
  /** The semantic memory that was made of some of them before. */
  semantic?: number;
  /** Those that are not among its sources yet. */
  joining: number[];
  /** Those that waited to be looked at. */
  candidates: SeenMemory[];
}

/** Groups the memories that wait for it, some at a time. It changes nothing; what it has found counts as done later. */
class Survey {
  /** Memories that belong to no group now. */
  readonly alone: SeenMemory[] = [];
  readonly #storage: Storage;
  readonly #due: Due;
  /** Groups to distil, in the order in which they were found, by their semantic memory or a number below 0. */
  readonly groups = new Map<number, FoundGroup>();
  readonly #sizes = new Map<number, number>();
  /** What stands for the group that a memory has joined. */
  readonly #joined = new Map<number, number>();
  /** Those that were read, and are not grouped yet. */
  readonly #ungrouped: DistilCandidate[] = [];
  #background: number | undefined;
  #looked = 0;
  #after = 0;

  constructor(storage: Storage, due: Due) {
    this.#storage = storage;
    this.#due = due;
  }

  /** Looks at the next few; false where no more are to be looked at. */
  async lookOn(): Promise<boolean> {
    const { namespace } = this.#due;
    this.#background ??= await this.#storage.backgroundCosine(namespace);
    const limit = this.#storage.candidatesAtOnce;
    const { candidates, next } = await this.#storage.distilCandidates({ ...this.#due, after: this.#after, limit });
    this.#ungrouped.push(...candidates);
    this.#looked += candidates.length;
    this.#after = next ?? 0;
    const more = next !== undefined && this.#looked < MAX_LOOKED_AT;
    if (!more || this.#ungrouped.length >= GROUPED_AT_ONCE) this.#group(this.#ungrouped.splice(0));
    return more;
  }

  #group(candidates: readonly DistilCandidate[]): void {
    const { made, grown } = groupMemories(candidates, this.#before(candidates));
    for (const joining of made) this.#join(joining, -1 - this.groups.size);
    for (const { semantic, joining } of grown) this.#join(joining, semantic);
    for (const { ordinal, version, group } of candidates) {
      const number = this.#joined.get(ordinal) ?? group?.semantic;
      const waited = number === undefined ? this.alone : this.#getGroup(number).candidates;
      waited.push({ ordinal, version });
    }
  }

  #join(joining: readonly number[], number: number): void {
    this.#getGroup(number).joining.push(...joining);
    this.#sizes.set(number, (this.#sizes.get(number) ?? 0) + joining.length);
    for (const ordinal of joining) this.#joined.set(ordinal, number);
  }

  #getGroup(number: number): FoundGroup {
    const known = this.groups.get(number);
    if (known) return known;
    const group = { ...(number > 0 && { semantic: number }), joining: [], candidates: [] };
    this.groups.set(number, group);
    return group;
  }

  /** The groups of candidates and their neighbours, those found before included. */
  #before(candidates: readonly DistilCandidate[]): GroupsBefore {
    const semanticBySource = new Map<number, number>();
    const groupSizes = new Map<number, number>();
    for (const { ordinal, group } of candidates.flatMap((candidate) => [candidate, ...candidate.neighbours])) {
      const number = this.#joined.get(ordinal) ?? group?.semantic;
      if (number === undefined) continue;
      if (group && !this.#sizes.has(number)) this.#sizes.set(number, group.sourceCount);
      semanticBySource.set(ordinal, number);
      groupSizes.set(number, this.#sizes.get(number) ?? 0);
    }
    return { semanticBySource, groupSizes, background: this.#background ?? 0 };
  }
}
