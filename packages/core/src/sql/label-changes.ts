import { isDeepStrictEqual } from 'node:util';
import type { Metadata } from '@memoryd/contract';
import { LIMITS } from '@memoryd/contract/limits';
import type { ManyChanges } from '../ports/storage-changes.ts';
import type { ChangedFields } from '../ports/storage-memories.ts';
import { type Erasable, toMemoryAttributes } from './find-memory.ts';

/** Some of the fields of a memory that a change of many memories can change. */
export type ChangedLabels = Pick<ChangedFields, 'tags' | 'importance' | 'metadata'>;

/** All fields of a memory that a change of many memories can change. */
type Labels = Required<ChangedLabels>;

export function toLabels(target: Erasable): Labels {
  const { tags, metadata } = toMemoryAttributes(target);
  return { tags: [...tags], metadata, importance: target.importance };
}

/** Returns the labels that have the names of `fields`. */
export function pickLabels(labels: Labels, fields: ChangedLabels): ChangedLabels {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => Object.hasOwn(fields, name)));
}

/** Returns the new values of the labels that a change changes in a memory. */
export function getNewLabels(now: Labels, changes: ManyChanges): ChangedLabels | 'too large' {
  const removed = new Set(changes.removeTags);
  const tags = [...new Set([...now.tags.filter((tag) => !removed.has(tag)), ...changes.addTags])];
  const metadata = mergeMetadata(now.metadata, changes.metadata);
  const { importance = now.importance } = changes;
  const changed = pickChanged(now, { tags, metadata, importance });
  return isTooLarge(changed) ? 'too large' : changed;
}

/**
 * Returns the labels that take a change of a memory back. A label that nobody has changed since gets its earlier value.
 * Of tags and metadata that somebody has changed since, only this is taken back: a tag that the change added goes, a tag
 * that it removed returns, and a field of metadata that still has its new value gets its earlier one. Tags and
 * fields that would exceed the limits for tags and metadata do not return.
 *
 * @param now the present labels
 * @param change the values before and after the change, of the labels that it changed
 */
export function getRestoredLabels(
  now: Labels,
  { before, after }: { before: ChangedLabels; after: ChangedLabels },
): ChangedLabels {
  const tags = restoreTags(now.tags, before.tags, after.tags);
  const metadata = restoreMetadata(now.metadata, before.metadata, after.metadata);
  const importance = after.importance === now.importance ? before.importance : undefined;
  return pickChanged(now, { tags, metadata, importance: importance ?? now.importance });
}

function restoreTags(now: string[], before: string[] = [], after: string[] = []): string[] {
  if (isDeepStrictEqual(now, after)) return before;
  const isAdded = (tag: string) => after.includes(tag) && !before.includes(tag);
  const left = now.filter((tag) => !isAdded(tag));
  const missing = before.filter((tag) => !after.includes(tag) && !left.includes(tag));
  return [...left, ...missing.slice(0, Math.max(0, LIMITS.tags - left.length))];
}

function restoreMetadata(now: Metadata, before: Metadata = {}, after: Metadata = {}): Metadata {
  if (isDeepStrictEqual(now, after)) return before;
  const [fields, earlier, changed] = [toFields(now), toFields(before), toFields(after)];
  const isOfChange = (name: string) => !isSame(earlier, changed, name) && isSame(fields, changed, name);
  const names = [...new Set([...earlier.keys(), ...changed.keys()])].filter(isOfChange);
  for (const name of names) if (!earlier.has(name)) fields.delete(name);
  // Each field adds its own bytes and a comma; the first one adds none.
  let bytes = fields.size === 0 ? 1 : countBytes(Object.fromEntries(fields));
  for (const name of names) {
    if (!earlier.has(name)) continue;
    const left = fields.has(name) ? bytes - countBytes({ [name]: fields.get(name) }) : bytes - 1;
    const restored = left + countBytes({ [name]: earlier.get(name) });
    if (restored > LIMITS.metadataBytes) continue;
    fields.set(name, earlier.get(name));
    bytes = restored;
  }
  return Object.fromEntries(fields);
}

/** Fields of metadata by name. No value is undefined, because metadata is JSON. */
type Fields = Map<string, unknown>;

const toFields = (metadata: Metadata): Fields => new Map(Object.entries(metadata));

const isSame = (one: Fields, other: Fields, name: string) => isDeepStrictEqual(one.get(name), other.get(name));

function mergeMetadata(metadata: Metadata, changes: ManyChanges['metadata'] = {}): Metadata {
  const fields = toFields(metadata);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) fields.delete(name);
    else fields.set(name, value);
  }
  return Object.fromEntries(fields);
}

function pickChanged(now: Labels, wanted: Labels): ChangedLabels {
  return {
    ...(!isDeepStrictEqual(wanted.tags, now.tags) && { tags: wanted.tags }),
    ...(wanted.importance !== now.importance && { importance: wanted.importance }),
    ...(!isDeepStrictEqual(wanted.metadata, now.metadata) && { metadata: wanted.metadata }),
  };
}

function isTooLarge({ tags = [], metadata = {} }: ChangedLabels): boolean {
  return tags.length > LIMITS.tags || countBytes(metadata) > LIMITS.metadataBytes;
}

function countBytes(metadata: Metadata): number {
  return Buffer.byteLength(JSON.stringify(metadata));
}
