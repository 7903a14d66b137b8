import {
  DISTIL_LIMITS,
  type DistilSearch,
  getBackgroundCosine,
  type Storage,
  distilCandidates as selectCandidates,
} from '@memoryd/core';
import {
  dotInt8,
  getModel,
  getTerms,
  getVectors,
  type IndexQuery,
  type Int8Vector,
  namespaceDigest,
  type Owner,
  type RecallIndex,
  toFloats,
} from '@memoryd/search';
import { type Connection, modelInUse, sql } from '../connection.ts';
import type { FileQueries } from '../dialect.ts';
import { readEntry } from '../recall-entry.ts';
import { ownerLabels } from './search.ts';

type DistilRequest = Parameters<Storage['distilCandidates']>[0];

/**
 * Number of indexed memories from which the search for a candidate's neighbors takes several milliseconds. From this
 * size, each call processes only one candidate, so that recall is not delayed.
 */
const LARGE_INDEX = 250_000;

/** See `Storage.distilCandidates`. Must run in a snapshot, with the index updated to it. */
export async function distilCandidates(
  queries: FileQueries,
  index: RecallIndex,
  request: DistilRequest,
): ReturnType<Storage['distilCandidates']> {
  if (!index.model) return { candidates: [] };
  const limit = index.size < LARGE_INDEX ? request.limit : 1;
  return selectCandidates(queries, createDistilSearch(queries.connection, index, request), { ...request, limit });
}

function createDistilSearch(
  connection: Connection,
  index: RecallIndex,
  request: Pick<DistilRequest, 'namespace' | 'now'>,
): DistilSearch {
  // Each entry is needed for its vectors, and again for its terms.
  const entries = new Map<number, Buffer>();
  const getEntry = (ordinal: number): Buffer => {
    const entry = entries.get(ordinal) ?? (readEntry(connection, ordinal) as Buffer);
    entries.set(ordinal, entry);
    return entry;
  };
  return {
    async findEmbedded(ordinals) {
      const isEmbedded = (entry?: Buffer) => entry !== undefined && getModel(entry) === index.model?.number;
      return new Set(ordinals.filter((ordinal) => isEmbedded(readEntry(connection, ordinal))));
    },
    async ofOwner(owner) {
      const indexQuery = beginOwnerQuery(index, request, owner);
      const nearOne = (candidate: number) => {
        const vectors = getVectors(getEntry(candidate)).slice(0, DISTIL_LIMITS.vectors);
        const values = vectors.map(toFloats);
        return [...nearestTo(index, indexQuery, vectors)]
          .filter((ordinal) => ordinal !== candidate)
          .map((ordinal) => ({ candidate, ordinal, cosine: nearestCosine(values, getVectors(getEntry(ordinal))) }));
      };
      return {
        findNearest: async (candidates) => candidates.flatMap(nearOne),
        async findRareHolders(words, examined, getMaxHolders) {
          const max = getMaxHolders(indexQuery.countMemories());
          const counts = indexQuery.countInScope(words, max + 1);
          const terms = examined.map((ordinal) => ({ ordinal, terms: new Set(getTerms(getEntry(ordinal))) }));
          return words.map((forms, i) => {
            if ((counts[i] as number) > max) return undefined;
            const holders = terms.filter((one) => forms.some((form) => one.terms.has(form)));
            return new Set(holders.map(({ ordinal }) => ordinal));
          });
        },
      };
    },
  };
}

function beginOwnerQuery(
  index: RecallIndex,
  { namespace, now }: Pick<DistilRequest, 'namespace' | 'now'>,
  { userId, agentId }: Owner,
): IndexQuery {
  const labels = ownerLabels(namespace, { userIds: [userId], agentIds: [agentId] });
  return index.beginQuery({ namespace: namespaceDigest(namespace), now, ...labels, labels: [], filter: {} });
}

function nearestTo(index: RecallIndex, indexQuery: IndexQuery, vectors: readonly Int8Vector[]): Set<number> {
  const near = new Set<number>();
  for (const vector of vectors) {
    for (const { row } of indexQuery.nearest(vector, { count: DISTIL_LIMITS.nearest })) near.add(index.ordinal(row));
  }
  return near;
}

function nearestCosine(values: readonly Float32Array[], vectors: readonly Int8Vector[]): number {
  return Math.max(...values.flatMap((one) => vectors.map((other) => dotInt8(one, other))));
}

/** See `Storage.backgroundCosine`. Must run in a snapshot, with the index updated to it. */
export function backgroundCosine(
  connection: Connection,
  index: RecallIndex,
  request: Parameters<Storage['backgroundCosine']>[0],
): number {
  const indexQuery = beginOwnerQuery(index, request, request.owner);
  const digest = sql(connection, 'SELECT hex(text_digest) FROM memory WHERE ordinal = ?').pluck();
  // The index takes equal texts with different tags for different texts.
  const ordinalByDigest = new Map<string, number>();
  for (const row of indexQuery.sampleTexts(DISTIL_LIMITS.sampled)) {
    const ordinal = index.ordinal(row);
    ordinalByDigest.set(digest.get(ordinal) as string, ordinal);
  }
  const vectors = [...ordinalByDigest.values()].map(
    (ordinal) => getVectors(readEntry(connection, ordinal) as Buffer)[0] as Int8Vector,
  );
  const values = vectors.map(toFloats);
  const getCosine = (one: number, other: number) => dotInt8(values[one] as Float32Array, vectors[other] as Int8Vector);
  return getBackgroundCosine(vectors.length, getCosine, modelInUse(connection));
}
