import type { Owner } from '@memoryd/search';
import { groupByOwner } from '@memoryd/search';
import { selectAgreeing } from '../distil/agreement.ts';
import { DISTIL_LIMITS } from '../distil/bounds.ts';
import { type GroupsBefore, groupMemories } from '../distil/group.ts';
import type { EmbeddingQueue } from '../embedding-queue/embedding-queue.ts';
import type { DecliningDistiller, Distilled } from '../ports/distiller.ts';
import type { Clock, IdSource } from '../ports/runtime.ts';
import type { Storage } from '../ports/storage.ts';
import type {
  DistilCandidate,
  MemoryVersion,
  Preview,
  ReadGroup,
  RunRef,
  StepResult,
} from '../ports/storage-consolidation.ts';
import { paced } from '../time.ts';
import { suggestCorrections } from './correction-search.ts';
import type { Due } from './steps.ts';

/** Number of examined memories after which a run reads no further batch. The next run continues with the rest. */
const MAX_EXAMINED = 2000;

/** Maximum groups that one run distils. The next run continues with the rest. */
const MAX_DISTILLED = 200;

/** Time after which a run distils no further group, since a distiller such as a language model may be slow. */
const MAX_DISTILLING_MS = 60_000;

export interface DistilParts {
  storage: Storage;
  distiller: DecliningDistiller;
  ids: IdSource;
  clock: Clock;
  /** Absent if recall uses words only. */
  embedding?: Pick<EmbeddingQueue, 'look' | 'onlyEnglish'>;
}

/** A semantic memory to create or refresh. */
export interface PlannedDistillation {
  /** Ids of its sources, oldest first. */
  sources: string[];
  content: string;
  /** Id of the semantic memory to refresh; absent for a new semantic memory. */
  refreshes?: string;
}

/**
 * Creates semantic memories from groups of episodic memories, and refreshes a semantic memory whose group has changed.
 * One instance serves one run.
 */
export class Distillation {
  readonly #parts: DistilParts;
  readonly #due: Due;
  readonly #survey: Survey;
  readonly #signal: AbortSignal;
  #surveying = true;
  #groups: FoundGroup[] = [];
  #startedAt = 0;
  #suggestionCount = 0;
  readonly #countByDistiller: Record<string, number> = {};
  readonly #replacementCounts: Record<string, number> = {};

  constructor(parts: DistilParts, due: Due, signal: AbortSignal) {
    this.#parts = parts;
    this.#due = due;
    this.#survey = new Survey(parts.storage, due);
    this.#signal = signal;
  }

  /**
   * Returns the semantic memories that a run would create or refresh now.
   *
   * @param merged ids of duplicates that the run would merge first, so that they cannot be sources
   */
  async plan(merged: ReadonlySet<string>): Promise<Preview<PlannedDistillation>> {
    while (await paced(() => this.#examineNext())) this.#signal.throwIfAborted();
    const planned: PlannedDistillation[] = [];
    for (let found = this.#next(); found; found = this.#next()) {
      this.#signal.throwIfAborted();
      const group = await this.#read(found);
      const duplicates = group.sources.filter(({ id }) => merged.has(id));
      group.sources = group.sources.filter(({ id }) => !merged.has(id));
      if (needsOnly(found, duplicates) || !isDistillable(found, group)) continue;
      const distilled = await this.#parts.distiller.distil(group, this.#signal);
      if (!distilled) continue;
      const { content } = distilled;
      const sources = group.sources.map(({ id }) => id);
      planned.push({ sources, content, ...(group.semanticId !== undefined && { refreshes: group.semanticId }) });
    }
    return { total: planned.length, items: planned };
  }

  /**
   * Notes for the record of the run: the number of texts by distiller, the number of texts of a fallback distiller by
   * reason, and the number of suggested corrections.
   */
  get notes(): Record<string, unknown> {
    const hasDistilled = Object.keys(this.#countByDistiller).length > 0;
    const hasReplaced = Object.keys(this.#replacementCounts).length > 0;
    return {
      ...(hasDistilled && { distilled_by: this.#countByDistiller }),
      ...(hasReplaced && { instead_of: this.#replacementCounts }),
      ...(this.#suggestionCount > 0 && { suggested_corrections: this.#suggestionCount }),
    };
  }

  /** Does the next part of the work: examines a batch of memories or, once all are examined, distils one group. */
  async work(run: RunRef): Promise<StepResult> {
    const { storage } = this.#parts;
    if (this.#surveying) {
      await this.#examineNext();
      await this.#suggestCorrections(run);
      const ungroupable = this.#survey.ungroupable.splice(0);
      if (ungroupable.length > 0) await storage.dropCandidates(run, ungroupable);
      return { count: 0, more: true };
    }
    const found = this.#next();
    if (!found) return { count: 0, more: false };
    return { count: Number(await this.#handle(run, found)), more: true };
  }

  // A language model states corrections itself. See `#supersede`.
  async #suggestCorrections(run: RunRef): Promise<void> {
    const { distiller, clock } = this.#parts;
    if (!distiller.quotes) return;
    this.#suggestionCount += await suggestCorrections(this.#parts, run, this.#survey.lastExamined, clock.now());
  }

  async #examineNext(): Promise<boolean> {
    this.#surveying = await this.#survey.examineNext();
    if (!this.#surveying) {
      this.#groups = alternateOwners([...this.#survey.groups.values()])
        .slice(0, MAX_DISTILLED)
        .reverse();
      this.#startedAt = this.#parts.clock.now();
    }
    return this.#surveying;
  }

  #next(): FoundGroup | undefined {
    // The absolute difference also ends distilling if the clock was set back by at least `MAX_DISTILLING_MS`.
    const isLate = Math.abs(this.#parts.clock.now() - this.#startedAt) >= MAX_DISTILLING_MS;
    return isLate ? undefined : this.#groups.pop();
  }

  /** Reads the current state of a group, without sources that disagree with the other sources. See `selectAgreeing`. */
  async #read({ semantic, joining }: FoundGroup): Promise<ReadGroup> {
    const { namespace, promotedUntil, now } = this.#due;
    const request = { namespace, promotedUntil, now, ...(semantic !== undefined && { semantic }) };
    const group = await this.#parts.storage.readGroup({ ...request, joining });
    const { distiller, embedding } = this.#parts;
    const options = { onlyEnglish: embedding?.onlyEnglish ?? false, quoted: distiller.quotes };
    const agreeing = selectAgreeing(group.sources, options);
    if (agreeing.length === group.sources.length) return group;
    // `isClosed` depends on the sources, so the group is read again with the agreeing sources only.
    if (semantic === undefined) {
      return this.#parts.storage.readGroup({ ...request, joining: agreeing.map(({ ordinal }) => ordinal) });
    }
    return { ...group, sources: agreeing.length > 0 ? agreeing : group.sources.slice(-1) };
  }

  /** Distils one group; returns false if no text was stored. */
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
    // The text is of sources that no longer all hold. The next run distils those that do.
    if (await this.#supersede(run, group, distilled)) return false;
    if (!(await this.#store(run, found, group, distilled))) return false;
    this.#count(distilled);
    // Candidates that did not become sources are dropped too.
    await this.#parts.storage.dropCandidates(run, found.candidates);
    return true;
  }

  #count({ by, replacedDistiller }: Distilled): void {
    this.#countByDistiller[by] = (this.#countByDistiller[by] ?? 0) + 1;
    if (!replacedDistiller) return;
    const reason = `${replacedDistiller.name}: ${replacedDistiller.because}`;
    this.#replacementCounts[reason] = (this.#replacementCounts[reason] ?? 0) + 1;
  }

  async #store(run: RunRef, { semantic }: FoundGroup, group: ReadGroup, { content }: Distilled): Promise<boolean> {
    const { storage, ids, clock, embedding } = this.#parts;
    const sources = group.sources.map(({ ordinal, version }) => ({ ordinal, version }));
    const made = { content, sources, at: clock.now() };
    const isStored =
      semantic === undefined
        ? (await storage.distil(run, { id: ids.next(), ...made })) !== undefined
        : await storage.refresh(run, { semantic, ...made });
    if (isStored) embedding?.look();
    return isStored;
  }

  /** Marks the corrected sources of a group as superseded. Returns true if there are any. */
  async #supersede(run: RunRef, { sources }: ReadGroup, { corrections = [] }: Distilled): Promise<boolean> {
    const { storage, clock } = this.#parts;
    const byId = new Map(sources.map((source) => [source.id, source]));
    let isCorrected = false;
    for (const { corrected, by } of corrections) {
      const [superseded, newer] = [byId.get(corrected), byId.get(by)];
      if (!superseded || !newer) continue;
      const isMarked = await storage.correct(run, { corrected: superseded, by: newer, at: clock.now() });
      isCorrected ||= isMarked;
    }
    return isCorrected;
  }
}

/**
 * Returns the first group of each owner, then the second of each, and so on, so that the limits of a run leave no owner
 * out because another owner has many groups.
 */
function alternateOwners(groups: readonly FoundGroup[]): FoundGroup[] {
  const byOwner = groupByOwner(groups).map(([, owned]) => owned);
  const length = Math.max(0, ...byOwner.map((owned) => owned.length));
  return Array.from({ length }, (_, i) => byOwner.flatMap((owned) => owned[i] ?? [])).flat();
}

/** Whether all candidates of a group are among `memories`. */
function needsOnly({ candidates }: FoundGroup, memories: readonly MemoryVersion[]): boolean {
  const ordinals = new Set(memories.map(({ ordinal }) => ordinal));
  return candidates.every(({ ordinal }) => ordinals.has(ordinal));
}

// An existing semantic memory needs one source; a new semantic memory needs `minSources`.
function isDistillable({ semantic }: FoundGroup, { sources, isClosed }: ReadGroup): boolean {
  return !isClosed && sources.length >= (semantic === undefined ? DISTIL_LIMITS.minSources : 1);
}

/**
 * Minimum number of memories of an owner to group at once, except at the end of the survey: large enough for whole
 * groups, and small enough to take some milliseconds.
 */
const GROUPING_BATCH_SIZE = 64;

/** A group of memories of one owner that belong together. */
interface FoundGroup extends Owner {
  /** The semantic memory that an earlier run distilled from memories of the group, if any. */
  semantic?: number;
  /** Memories of the group that are not yet sources of the semantic memory. */
  joining: number[];
  /** Memories of the group that were queued for distilling. */
  candidates: MemoryVersion[];
}

/**
 * An owner whose memories a run examines. Only memories of one owner can be in one group, so each owner has batches and
 * a background cosine of its own, which do not depend on other owners.
 */
interface ExaminedOwner extends Owner {
  /** Memories that were read and are not grouped yet. */
  ungrouped: DistilCandidate[];
  background?: number;
}

/** Groups the queued memories in batches, without writes to storage. */
class Survey {
  /** Examined memories that belong to no group. */
  readonly ungroupable: MemoryVersion[] = [];
  readonly #storage: Storage;
  readonly #due: Due;
  /** Groups to distil in the order of discovery, by their semantic memory, or by a negative number for a new group. */
  readonly groups = new Map<number, FoundGroup>();
  readonly #sizes = new Map<number, number>();
  /** For each memory that joined a group in this run, the key of the group in `groups`. */
  readonly #joined = new Map<number, number>();
  /** The owners of the examined memories, by user and agent. */
  readonly #owners = new Map<string, ExaminedOwner>();
  #examined = 0;
  #after = 0;
  /** The batch that `examineNext` read last. */
  lastExamined: readonly DistilCandidate[] = [];

  constructor(storage: Storage, due: Due) {
    this.#storage = storage;
    this.#due = due;
  }

  /** Examines the next batch of memories. Returns false if no batch is left. */
  async examineNext(): Promise<boolean> {
    const limit = this.#storage.candidatesAtOnce;
    const { candidates, next } = await this.#storage.distilCandidates({ ...this.#due, after: this.#after, limit });
    this.lastExamined = candidates;
    for (const candidate of candidates) this.#getOwner(candidate).ungrouped.push(candidate);
    this.#examined += candidates.length;
    this.#after = next ?? 0;
    const more = next !== undefined && this.#examined < MAX_EXAMINED;
    const examined = more ? new Set(candidates.map((candidate) => this.#getOwner(candidate))) : this.#owners.values();
    for (const owner of examined) {
      if (!more || owner.ungrouped.length >= GROUPING_BATCH_SIZE) await this.#group(owner);
    }
    return more;
  }

  #getOwner({ userId, agentId }: Owner): ExaminedOwner {
    const key = `${userId}\0${agentId}`;
    const known = this.#owners.get(key);
    if (known) return known;
    const owner = { userId, agentId, ungrouped: [] };
    this.#owners.set(key, owner);
    return owner;
  }

  /** Groups the memories of one owner that were read since the last call. */
  async #group(owner: ExaminedOwner): Promise<void> {
    const candidates = owner.ungrouped.splice(0);
    if (candidates.length === 0) return;
    const { namespace, now } = this.#due;
    const { userId, agentId } = owner;
    owner.background ??= await this.#storage.backgroundCosine({ namespace, owner: { userId, agentId }, now });
    const { background } = owner;
    const { made, grown } = groupMemories(candidates, { ...this.#getGroupsBefore(candidates), background });
    for (const joining of made) this.#join(owner, joining, -1 - this.groups.size);
    for (const { semantic, joining } of grown) this.#join(owner, joining, semantic);
    for (const { ordinal, version, group } of candidates) {
      const number = this.#joined.get(ordinal) ?? group?.semantic;
      const members = number === undefined ? this.ungroupable : this.#getGroup(owner, number).candidates;
      members.push({ ordinal, version });
    }
  }

  #join(owner: Owner, joining: readonly number[], number: number): void {
    this.#getGroup(owner, number).joining.push(...joining);
    this.#sizes.set(number, (this.#sizes.get(number) ?? 0) + joining.length);
    for (const ordinal of joining) this.#joined.set(ordinal, number);
  }

  #getGroup({ userId, agentId }: Owner, number: number): FoundGroup {
    const known = this.groups.get(number);
    if (known) return known;
    const group = { userId, agentId, ...(number > 0 && { semantic: number }), joining: [], candidates: [] };
    this.groups.set(number, group);
    return group;
  }

  /** Returns the groups of the candidates and of their neighbors, including groups that this run has found. */
  #getGroupsBefore(candidates: readonly DistilCandidate[]): Omit<GroupsBefore, 'background'> {
    const semanticBySource = new Map<number, number>();
    const groupSizes = new Map<number, number>();
    for (const { ordinal, group } of candidates.flatMap((candidate) => [candidate, ...candidate.neighbors])) {
      const number = this.#joined.get(ordinal) ?? group?.semantic;
      if (number === undefined) continue;
      if (group && !this.#sizes.has(number)) this.#sizes.set(number, group.sourceCount);
      semanticBySource.set(ordinal, number);
      groupSizes.set(number, this.#sizes.get(number) ?? 0);
    }
    return { semanticBySource, groupSizes };
  }
}
