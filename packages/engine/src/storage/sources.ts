import { fromJson } from './damage.ts';

/** A memory that others are distilled from. */
export interface Source {
  ordinal: number;
  id: string;
  createdAt: number;
  importance: number;
  tags: string;
  content: string;
}

/** Whether a client has written to a semantic memory, which then is the client's to change. */
export function isWritten({ version }: { version: number }): boolean {
  return version > 1;
}

/** What a semantic memory has from its sources beside its text. */
export function sharedBy(sources: readonly Source[]): { createdAt: number; importance: number; tags: string[] } {
  const [first = [], ...others] = sources.map((source) => fromJson<string[]>(source.tags));
  return {
    createdAt: Math.max(...sources.map((source) => source.createdAt)),
    importance: Math.max(...sources.map((source) => source.importance)),
    tags: first.filter((tag) => others.every((tags) => tags.includes(tag))),
  };
}
