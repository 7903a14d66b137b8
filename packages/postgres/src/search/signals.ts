import { DEFAULTS } from '@memoryd/contract/limits';
import {
  type Digest,
  type Found,
  firstEqual,
  gather,
  NO_SESSION,
  type Queries,
  type Signals,
} from '@memoryd/engine/storage-kit';
import { type Facts, readFacts } from './facts.ts';
import type { QueryVector } from './nearest.ts';
import type { Scope } from './scope.ts';
import { readSurroundings } from './surroundings.ts';
import type { Asked } from './words.ts';

/** What has been asked, and what is known of it as a whole. */
interface SearchContext {
  scope: Scope;
  now: number;
  asked: Asked;
  vector: QueryVector | undefined;
}

/** Gathers the columns of all that was found, of what corrects it, and of its neighbours. */
export async function collectSignals(
  queries: Queries,
  { scope, now, asked, vector }: SearchContext,
  found: Found,
): Promise<Omit<Signals, 'stagesMs'>> {
  const around = await readSurroundings(queries, scope, found);
  const terms = [...asked.words.flat(), ...asked.synonyms.map(({ term }) => term)];
  const facts = await readFacts(queries, scope.namespace, around.ordinals, { terms, vector, now });
  const words = wordsByTerm(asked.words);
  const relevant = (ordinals: readonly number[]) =>
    ordinals.filter((ordinal) => isRelevant(words, getFacts(facts, ordinal)));
  const { rows: ordinals, getPlaces, ...gathered } = gather({ ...around, relevant }, found);
  const rows = ordinals.map((ordinal) => getFacts(facts, ordinal));
  return {
    ...gathered,
    memoryCount: scope.memoryCount,
    documentFrequencies: asked.frequencies,
    ordinals: Float64Array.from(ordinals),
    createdAts: Float64Array.from(rows, (row) => row.createdAt),
    lengths: Uint32Array.from(rows, (row) => row.length),
    frequencies: frequencies(words, rows),
    synonyms: asked.synonyms.map(({ word, weight }) => ({ word, weight })),
    synonymFrequencies: frequencies(wordsByTerm(asked.synonyms.map(({ term }) => [term])), rows),
    cosines: Float32Array.from(rows, (row) => row.cosine ?? Number.NaN),
    nearnesses: Float32Array.from(rows.slice(0, gathered.admitted), (row) => row.nearness),
    texts: firstEqual(rows.slice(0, gathered.admitted).map((row) => row.textDigest)),
    retentions: Float32Array.from(rows.slice(0, gathered.admitted), (row) => row.retention),
    sessions: sessions(rows),
    previous: getPlaces(ordinals.map(around.previous)),
    next: getPlaces(ordinals.map(around.next)),
    speakers: Uint32Array.from(rows, (row) => row.speaker),
    marks: Uint16Array.from(rows, (row) => row.marks),
    speaks: speaks(wordsByTerm(asked.speakers), rows),
    ...asked.kinds,
    now,
  };
}

function getFacts(facts: ReadonlyMap<number, Facts>, ordinal: number): Facts {
  const found = facts.get(ordinal);
  if (!found) throw new Error(`memory ${ordinal} is in recall without an entry`);
  return found;
}

function isRelevant({ byTerm }: WordsByTerm, { terms, cosine }: Facts): boolean {
  return terms.some((term) => byTerm.has(term)) || (cosine ?? 0) > 0;
}

/** How often each word occurs: as often as the one of its terms that occurs most. */
function frequencies({ count, byTerm }: WordsByTerm, rows: readonly Facts[]): Uint16Array {
  const all = new Uint16Array(rows.length * count);
  rows.forEach(({ terms, frequencies }, row) => {
    terms.forEach((term, i) => {
      for (const word of byTerm.get(term) ?? []) {
        const at = row * count + word;
        all[at] = Math.max(all[at] as number, frequencies[i] as number);
      }
    });
  });
  return all;
}

function speaks({ count, byTerm }: WordsByTerm, rows: readonly Facts[]): Uint8Array {
  const all = new Uint8Array(rows.length * count);
  rows.forEach(({ speakerTerms }, row) => {
    for (const term of speakerTerms) {
      for (const word of byTerm.get(term) ?? []) all[row * count + word] = 1;
    }
  });
  return all;
}

/** The words of a query: how many, and the places of those that a term stands for. */
interface WordsByTerm {
  count: number;
  byTerm: ReadonlyMap<Digest, number[]>;
}

function wordsByTerm(words: readonly Digest[][]): WordsByTerm {
  const byTerm = new Map<Digest, number[]>();
  words.forEach((terms, place) => {
    for (const term of terms) byTerm.set(term, [...(byTerm.get(term) ?? []), place]);
  });
  return { count: words.length, byTerm };
}

function sessions(rows: readonly Facts[]): Int32Array {
  const numbers = new Map<string, number>();
  return Int32Array.from(rows, ({ sessionId, userId }) => {
    if (sessionId === null || sessionId === DEFAULTS.sessionId) return NO_SESSION;
    const session = `${userId}\0${sessionId}`;
    const number = numbers.get(session) ?? numbers.size;
    numbers.set(session, number);
    return number;
  });
}
