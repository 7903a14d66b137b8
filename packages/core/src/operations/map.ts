import {
  assertValid,
  createCheck,
  LIMITS,
  MAX_TIME_MS,
  type MapCluster,
  type MapPoint,
  MapRequest,
  type MapResponse,
} from '@memoryd/contract';
import type { MemoryFilter, OwnerFilter } from '@memoryd/search';
import type { MemoryMap } from '../map/memory-maps.ts';
import type { MemoryOutline } from '../ports/storage-memories.ts';
import { toListFilter, toOwner, toOwnerFilter } from '../request-filter.ts';
import { toTimestamp } from '../time.ts';
import type { Core } from './core.ts';

/** Memories that are read at once, so that a response of many blocks no other request for long. */
const READ_AT_ONCE = 1000;

/** Digits of a position after the point: a tenth of a pixel on a map of 1,000. */
const PLACES = 1e4;

/** Bytes of a point without its texts, at most: the numbers and names are the longest. */
const POINT_BYTES = jsonBytes({
  ...{ id: '0'.repeat(36), x: -0.1111, y: -0.1111, cluster: -1_000_000, created_at: toTimestamp(MAX_TIME_MS) },
  ...{ tier: 'episodic', tag: '', session_id: null, user_id: '', agent_id: '' },
} satisfies MapPoint);

const check = createCheck(MapRequest, 'request');

/** See `MemoryApi.map`. */
export async function map(core: Core, namespace: string, request: MapRequest = {}): Promise<MapResponse> {
  assertValid(check, request);
  const now = core.clock.now();
  const filter = toListFilter(request);
  const of = toOwnerFilter(request);
  const { map, isChanging } = await core.maps.get(namespace, of);
  const { points, read } = map ? await readPoints(core, namespace, { filter, map, now }) : { points: [], read: 0 };
  const isCounted = read > 0 && read < LIMITS.mappedMemories;
  const one = { limit: 1, maxBytes: 1 };
  const total = isCounted ? read : (await core.storage.memories(namespace, filter, one, now)).total;
  if (!map) {
    return { state: 'computing', computed_at: null, points, clusters: [], total, is_changing: isChanging };
  }
  return {
    // Without memories there is nothing without vectors.
    state: map.ordinals.length === 0 && total > 0 ? 'unavailable' : 'ready',
    computed_at: toTimestamp(map.at),
    points,
    clusters: await getClusters(core, { namespace, of, now }, map, points),
    total,
    is_changing: isChanging,
  };
}

/**
 * Reads the newest memories that match a filter, and returns the places of those on the map, as many as fit into a
 * response. Each page is converted before the next is read, so that no other request waits for all.
 */
async function readPoints(
  { storage, maxAnswerBytes }: Core,
  namespace: string,
  { filter, map, now }: { filter: MemoryFilter; map: MemoryMap; now: number },
): Promise<{ points: MapPoint[]; read: number }> {
  const indexes = new Map<number, number>();
  map.ordinals.forEach((ordinal, i) => void indexes.set(ordinal, i));
  const points: MapPoint[] = [];
  let [read, bytes] = [0, 0];
  let after: MemoryOutline | undefined;
  const measure = createMeasure();
  while (indexes.size > 0 && read < LIMITS.mappedMemories) {
    const page = await storage.outlines(namespace, filter, { limit: READ_AT_ONCE, ...(after && { after }) }, now);
    for (const outline of page) {
      const i = indexes.get(outline.ordinal);
      if (i === undefined || bytes > maxAnswerBytes) continue;
      const point = toPoint(outline, map, i);
      bytes += measure(point);
      if (bytes <= maxAnswerBytes || points.length === 0) points.push(point);
    }
    read += page.length;
    after = page.at(-1);
    if (page.length < READ_AT_ONCE) break;
  }
  return { points, read };
}

function toPoint(outline: MemoryOutline, { x, y, clusters }: MemoryMap, i: number): MapPoint {
  return {
    ...{ id: outline.id, x: toPlace(x[i]), y: toPlace(y[i]), cluster: clusters[i] as number },
    ...{ created_at: toTimestamp(outline.createdAt), tier: outline.tier },
    ...(outline.tag !== undefined && { tag: outline.tag }),
    session_id: outline.sessionId,
    ...toOwner(outline),
  };
}

/** Returns a function for the bytes of a point in a response, at most. Measures each text once. */
function createMeasure(): (point: MapPoint) => number {
  const known = new Map<string | null | undefined, number>([[undefined, 0]]);
  const measure = (text: string | null | undefined): number => {
    const bytes = known.get(text) ?? jsonBytes(text);
    known.set(text, bytes);
    return bytes;
  };
  return ({ tag, session_id, user_id, agent_id }) =>
    POINT_BYTES + 1 + measure(tag) + measure(session_id) + measure(user_id) + measure(agent_id);
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function toPlace(position = 0): number {
  return Math.round(position * PLACES) / PLACES;
}

/**
 * Returns the clusters with the number of their points, and with those of their words that a memory of the scope has at
 * present: the words of a memory that was forgotten or changed must not outlast it.
 */
async function getClusters(
  { storage }: Core,
  { namespace, of, now }: { namespace: string; of: OwnerFilter; now: number },
  { groups }: MemoryMap,
  points: readonly MapPoint[],
): Promise<MapCluster[]> {
  const counts = new Int32Array(groups.length);
  for (const { cluster } of points) if (cluster >= 0) counts[cluster] = (counts[cluster] as number) + 1;
  const ids = groups.flatMap(({ words }) => words.flatMap(({ holders }) => holders.map(({ id }) => id)));
  const present = await storage.revisions(namespace, ids, of, now);
  return groups.map(({ words, x, y }, cluster) => ({
    words: words
      .filter(({ holders }) => holders.some(({ id, revision }) => present.get(id) === revision))
      .map(({ word }) => word),
    ...{ x: toPlace(x), y: toPlace(y), count: counts[cluster] as number },
  }));
}
