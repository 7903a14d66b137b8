import {
  assertValid,
  createCheck,
  invalidRequest,
  LIMITS,
  type SimilarMemory,
  SimilarRequest,
  type StoreOptions,
} from '@memoryd/contract';
import {
  canonicalText,
  type MemoryFilter,
  type QueryVector,
  type RecalledMemory,
  type SearchResult,
  WEIGHTS,
} from '@memoryd/search';
import { findResults, Stages } from '../find.ts';
import type { NewMemory } from '../ports/storage-memories.ts';
import { toTimestamp } from '../time.ts';
import type { Core } from './core.ts';

/** Search results that are compared with a stored text. Copies of the text are among them. */
const MAX_COMPARED = 30;

const { words, meaning, tokens } = WEIGHTS.evidence;

/** The relevance of a short text to itself: all words, the same vector, the same tokens. Without a vector: all words. */
const OWN_RELEVANCE = { withVector: words + meaning + tokens * (1 - WEIGHTS.usualNearness), byWords: words };

/**
 * Minimum relevance of a text to itself, as a share of that of a short one. The words of a long text count for less, and
 * some texts, such as a row of symbols, have no words: their similarity to others must not be a quotient of small numbers.
 */
const MIN_OWN_SHARE = 0.25;

/**
 * Minimum similarity of a text about the same thing. Chosen on 240 notes of eight people and projects in four languages:
 * of 63 corrections, 53 have the note that they correct among the first three. A note shows on average .3 notes of its
 * owner where none is a correction or looks like one, and .03 notes of an owner to whom it does not belong. On 229 other
 * notes: 49 of 56, .55 and .00. By words alone: 39 of 63, .05 and .03.
 */
const MIN_SIMILARITY = 0.29;

const check = createCheck(SimilarRequest, 'request');

/** Returns the number of similar memories that a store asks for. Throws INVALID_REQUEST unless it is from 1 to 10. */
export function getSimilarCount({ similar }: StoreOptions): number | undefined {
  if (similar === undefined) return undefined;
  assertValid(check, { similar });
  return similar;
}

/** Throws INVALID_REQUEST for a batch that is too long for a search for each of its memories. */
export function assertBatchSearchable(requests: readonly unknown[]): void {
  if (requests.length <= LIMITS.similarBatchItems) return;
  const message = `body must be an array of at most ${LIMITS.similarBatchItems} memories with similar; send the others in further batches`;
  throw invalidRequest([{ path: '', message }]);
}

/** A memory that a store has stored, changed or left unchanged. */
export interface SimilarTo {
  id: string;
  memory: NewMemory;
  /** The vector of its text; undefined if it could not be computed in time. If the field is absent, it is computed. */
  vector?: QueryVector | undefined;
  /** If the request repeats an earlier one, the time of that one, in ms. */
  repeats?: number;
}

/**
 * Returns the memories of the owner of a memory that hold now, or held at the time of the repeated request, and speak of
 * the same thing, best first. Leaves out equal texts, further copies of a text, and semantic memories of which a source is
 * similar itself. Returns undefined if the search fails: the store has already been acknowledged by the database.
 */
export async function findSimilar(core: Core, to: SimilarTo, limit: number): Promise<SimilarMemory[] | undefined> {
  try {
    const { namespace, content, userId, agentId } = to.memory;
    const { repeats: at } = to;
    const near = await searchSimilar(core, {
      ...{ namespace, id: to.id, content, limit: MAX_COMPARED },
      filter: {
        ...{ userIds: [userId], agentIds: [agentId], holding: true },
        ...(at !== undefined && { at, known: at }),
      },
      ...('vector' in to && { vector: to.vector }),
    });
    const similar = near.filter(({ score }) => score >= MIN_SIMILARITY);
    const found = await withoutSummaries(core, to, similar);
    return found.slice(0, limit).map(({ memory: { id, content, createdAt }, score }) => {
      return { id, content, created_at: toTimestamp(createdAt), score };
    });
  } catch (error) {
    core.telemetry.report({ level: 'warn', component: 'retrieval', event: 'similar_search_failed', error });
    return undefined;
  }
}

/** A text that is compared with the memories that match a filter. */
export interface ComparedText {
  namespace: string;
  /** The memory that has the text. */
  id: string;
  content: string;
  filter: MemoryFilter;
  /** Maximum number of memories that are compared, copies of the text among them. */
  limit: number;
  /** See `SimilarTo`. */
  vector?: QueryVector | undefined;
}

interface Found {
  memory: RecalledMemory;
  score: number;
}

/**
 * Returns other memories with other texts, one of each text, the most similar first. The similarity is the relevance of a
 * memory to the text, as a share of the relevance of the text to itself.
 */
export async function searchSimilar(core: Core, to: ComparedText): Promise<Found[]> {
  const { storage, clock, embedding, maxAnswerBytes } = core;
  const { namespace, content, filter, limit } = to;
  const text = canonicalText(content);
  // A long text is compared by its beginning.
  const query = text.slice(0, LIMITS.queryChars).toWellFormed();
  const request = {
    ...{ namespace, query, filter, limit },
    explain: true,
    isStatement: true,
    isPoolOnly: true,
    vector: 'vector' in to ? to.vector : await embedding?.queryVector(query),
  };
  const { results } = await findResults({ storage, clock }, request, maxAnswerBytes, new Stages());
  const getRelevance = request.vector ? getWholeRelevance : getWordRelevance;
  const own = request.vector ? OWN_RELEVANCE.withVector : OWN_RELEVANCE.byWords;
  const equal = results.find(({ memory }) => canonicalText(memory.content) === text);
  const whole = Math.min(own, Math.max(MIN_OWN_SHARE * own, equal ? getRelevance(equal) : own));
  const seen = new Set([text]);
  const isNew = (content: string) => seen.size < seen.add(canonicalText(content)).size;
  return results
    .filter(({ memory }) => memory.id !== to.id && isNew(memory.content))
    .map((result) => ({ memory: result.memory, score: toScore(getRelevance(result) / whole) }))
    .sort((one, other) => other.score - one.score);
}

function getWordRelevance({ ranked }: SearchResult): number {
  return words * (ranked?.evidence.words ?? 0);
}

function getWholeRelevance(result: SearchResult): number {
  const { meaning: cosine = 0, tokens: nearness = 0 } = result.ranked?.evidence ?? {};
  return getWordRelevance(result) + meaning * cosine + tokens * nearness;
}

function toScore(share: number): number {
  return Math.round(Math.min(1, Math.max(0, share)) * 1e5) / 1e5;
}

/** Leaves out semantic memories of which a source is in the list or is the memory of the request. */
async function withoutSummaries(
  core: Core,
  { id, memory: { namespace } }: SimilarTo,
  found: Found[],
): Promise<Found[]> {
  const ids = new Set([id, ...found.map(({ memory }) => memory.id)]);
  const kept: Found[] = [];
  for (const each of found) {
    if (each.memory.tier === 'semantic') {
      const summary = await core.storage.memory(namespace, each.memory.id, core.clock.now());
      if (!summary || summary.derivedFrom.some((source) => ids.has(source))) continue;
    }
    kept.push(each);
  }
  return kept;
}
