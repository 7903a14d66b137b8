import type { DistilledMemory } from '../ports/storage-distil.ts';
import { fromJson } from './damage.ts';
import type { Target } from './target.ts';

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

/** Whether a client has given a semantic memory a text since it was distilled, which then is the client's own. */
export function hasOwnText({ revision, distilledRevision }: Pick<Target, 'revision' | 'distilledRevision'>): boolean {
  return revision !== distilledRevision;
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

/** What semantic memories name as their source. */
const SOURCE = 'consolidation';

/** A semantic memory that is about to be made of its sources. */
export function semanticOf(namespace: string, { id, content, at }: DistilledMemory, sources: readonly Source[]) {
  return {
    namespace,
    id,
    content,
    source: SOURCE,
    sessionId: null,
    metadata: {},
    storedAt: at,
    expiresAt: null,
    supersedes: null,
    ...sharedBy(sources),
  };
}

/** The part of a source's text that is read, from where it says something: more than any distiller looks at. */
export const MOST_SOURCE_CHARS = 65_536;

/** All that a text may begin with and say nothing: the white space of JavaScript. */
export const BLANKS =
  '\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff';
