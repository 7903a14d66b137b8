import { LIMITS } from '@memoryd/contract/limits';
import type { ChangeDetails } from '../ports/storage-runs.ts';
import { fromJson } from './damage.ts';
import { canonicalText } from './text-digest.ts';

/** A memory that may have twins: others of its session with an equal text. */
export interface Twin {
  ordinal: number;
  id: string;
  content: string;
  version: number;
  importance: number;
  tags: string;
  /** Its uses, and the time of the last; null where it has none. */
  count: number | null;
  lastAt: number | null;
}

/** A larger group is merged a part at a time; its oldest memory is in each. */
export const TWINS_AT_ONCE = 32;

/** Memories that wait to be merged, and that a plan looks at in one reading. */
export const PLANNED_AT_ONCE = 5000;

/**
 * Groups of memories with equal texts, each to be merged into its first. Equal digests are not yet equal texts; nothing is
 * merged on a digest alone, and nothing whose tags the first has no room for, by which it would no longer be found.
 */
export function* mergeableGroups(twins: readonly Twin[]): Iterable<Twin[]> {
  for (const group of byExactText(twins)) yield withRoomForTags(group);
}

function byExactText(twins: readonly Twin[]): Iterable<Twin[]> {
  const groups = new Map<string, Twin[]>();
  for (const twin of twins) {
    const text = canonicalText(twin.content);
    const group = groups.get(text);
    if (group) group.push(twin);
    else groups.set(text, [twin]);
  }
  return groups.values();
}

function withRoomForTags(group: readonly Twin[]): Twin[] {
  let tags = new Set<string>();
  return group.filter((twin) => {
    const all = new Set([...tags, ...fromJson<string[]>(twin.tags)]);
    if (all.size > LIMITS.tags) return false;
    tags = all;
    return true;
  });
}

/** What a memory gains from twins that are merged into it, and what it had before. */
export interface Gain {
  importance: number;
  tags: string[];
  before: ChangeDetails['gained'];
}

export function gainOf(survivor: Twin, others: readonly Twin[]): Gain {
  const all = [survivor, ...others];
  const used = others.reduce((sum, twin) => sum + (twin.count ?? 0), 0);
  const uses = Math.max(0, Math.min(used, LIMITS.counted - (survivor.count ?? 0)));
  const lastUse = Math.max(...all.map((twin) => twin.lastAt ?? 0));
  return {
    importance: Math.max(...all.map((twin) => twin.importance)),
    tags: [...new Set(all.flatMap((twin) => fromJson<string[]>(twin.tags)))],
    before: {
      version: survivor.version,
      tags: fromJson<string[]>(survivor.tags),
      importance: survivor.importance,
      accessedAt: survivor.lastAt,
      uses,
      lastUse: uses > 0 ? lastUse : null,
    },
  };
}
