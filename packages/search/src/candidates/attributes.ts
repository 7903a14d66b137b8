import type { Metadata } from '@memoryd/contract';
import type { MemoryFilter } from '../filter.ts';

/** Label names for the session, user, agent, source and speaker of a memory. No attribute has one of these names. */
export const SESSION_LABEL = 'session';
export const USER_LABEL = 'user';
export const AGENT_LABEL = 'agent';
export const SOURCE_LABEL = 'source';
export const SPEAKER_LABEL = 'speaker';

const TAG_ATTRIBUTE = 'tag';

function metadataAttribute(field: string): string {
  return `metadata.${field}`;
}

/** Yields the attributes that filters can match: tags, and metadata fields with a string, number, boolean or null. */
export function* getAttributes(tags: readonly string[], metadata: Metadata): Iterable<[string, string]> {
  for (const tag of tags) yield [TAG_ATTRIBUTE, tag];
  for (const [field, value] of Object.entries(metadata)) {
    if (typeof value !== 'object' || value === null) yield [metadataAttribute(field), String(value)];
  }
}

/** Returns the attributes that a filter requires, as pairs of name and value. */
export function filteredAttributes(filter: MemoryFilter): [string, string][] {
  const metadata = Object.entries(filter.metadata ?? {});
  return [
    ...(filter.tags ?? []).map((tag): [string, string] => [TAG_ATTRIBUTE, tag]),
    ...metadata.map(([field, value]): [string, string] => [metadataAttribute(field), value]),
  ];
}
