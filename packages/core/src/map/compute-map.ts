import { type ClusterText, getClusterWords } from './cluster-words.ts';
import { getClusters } from './clusters.ts';
import { getCoordinates, getPrincipalAxes } from './principal-axes.ts';
import { toVectorRows } from './vector-rows.ts';

/** Memories from which the axes are computed. All memories have positions on them. */
const MAX_SAMPLE = 4000;

/** Memories whose texts name the clusters. */
const MAX_NAMED = 4000;

/** The scale of the map before stays unless the memories reach less far than this share of it, or farther. */
const MIN_FILLED = 0.7;

/** Memories with vectors: for each, its fields at one place of every list. `vectors`: see `FirstVectors`. */
export interface MapSlice {
  ordinals: number[];
  ids: string[];
  revisions: number[];
  texts: string[];
  vectors: Uint8Array;
}

/** A word of a cluster, with memories that have it, by id and revision of the text. */
interface MapWord {
  word: string;
  holders: { id: string; revision: number }[];
}

/** The places of memories, from -1 to 1, and their clusters. `axes` and `scale` are where the next map starts. */
export interface ComputedMap {
  ordinals: Float64Array;
  x: Float32Array;
  y: Float32Array;
  clusters: Int8Array;
  groups: { words: MapWord[]; x: number; y: number }[];
  axes: Float64Array;
  scale: number;
}

/** Computes the map of memories, as near to the map before as possible. The same memories always have the same map. */
export function computeMap(slices: readonly MapSlice[], before?: ComputedMap): ComputedMap {
  const ordinals = Float64Array.from(slices.flatMap((slice) => slice.ordinals));
  const count = ordinals.length;
  const rows = toVectorRows(concatenate(slices.map(({ vectors }) => vectors)), count);
  if (count === 0) return { ...emptyMap(), ordinals };
  const principal = getPrincipalAxes(rows, takeSample(ordinals, MAX_SAMPLE), before?.axes);
  const coordinates = getCoordinates(rows, principal);
  const axes = principal.count;
  const getAt = (point: number, axis: number) => (axis < axes ? (coordinates[point * axes + axis] as number) : 0);
  const scale = getScale(coordinates, axes, before?.scale);
  const toPlaces = (axis: number) =>
    Float32Array.from({ length: count }, (_, point) => Math.max(-1, Math.min(1, getAt(point, axis) / scale)));
  const [x, y] = [toPlaces(0), toPlaces(1)];
  const grouped = getClusters({ count, axes, coordinates }, getEarlierClusters(ordinals, before));
  const words = nameClusters(slices, ordinals, grouped);
  const groups = words.map((words, cluster) => ({ words, ...getCenter(x, y, grouped.clusters, cluster) }));
  return { ordinals, x, y, clusters: grouped.clusters, groups, axes: principal.axes, scale };
}

export function emptyMap(): ComputedMap {
  return {
    ...{ ordinals: new Float64Array(), x: new Float32Array(), y: new Float32Array(), clusters: new Int8Array() },
    ...{ groups: [], axes: new Float64Array(), scale: 0 },
  };
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * Returns the indexes of about `max` memories, or of all. A memory is in the sample by its ordinal alone, so that further
 * memories change it little.
 */
function takeSample(ordinals: Float64Array, max: number): number[] {
  const all = Array.from(ordinals.keys());
  if (ordinals.length <= max) return all;
  const share = (max / ordinals.length) * 2 ** 32;
  // Multiplicative hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4).
  return all.filter((i) => Math.imul(ordinals[i] as number, 2_654_435_769) >>> 0 < share);
}

/** Returns the distance from the center that is 1 on the map. */
function getScale(coordinates: Float64Array, axes: number, before = 0): number {
  let farthest = 0;
  for (let at = 0; at < coordinates.length; at += axes) {
    for (let axis = 0; axis < Math.min(2, axes); axis++) {
      farthest = Math.max(farthest, Math.abs(coordinates[at + axis] as number));
    }
  }
  const isFilled = farthest <= before && farthest >= MIN_FILLED * before;
  // Without any distance, all memories are in the middle.
  return (isFilled ? before : farthest) || 1;
}

function getEarlierClusters(ordinals: Float64Array, before: ComputedMap | undefined): Int8Array {
  const earlier = new Map<number, number>();
  before?.ordinals.forEach((ordinal, i) => void earlier.set(ordinal, before.clusters[i] as number));
  return Int8Array.from(ordinals, (ordinal) => earlier.get(ordinal) ?? -1);
}

function nameClusters(
  slices: readonly MapSlice[],
  ordinals: Float64Array,
  { count, clusters }: { count: number; clusters: Int8Array },
): MapWord[][] {
  const memories = slices.flatMap(({ ids, revisions, texts }) =>
    ids.map((id, i) => ({ id, revision: revisions[i] as number, text: texts[i] as string })),
  );
  const named = takeSample(ordinals, MAX_NAMED).map(
    (index): ClusterText => ({ index, cluster: clusters[index] as number, text: memories[index]?.text ?? '' }),
  );
  return getClusterWords(
    named.filter(({ cluster }) => cluster >= 0),
    count,
  ).map((words) =>
    words.map(({ word, holders }) => ({
      word,
      holders: holders.flatMap((index) => {
        const { id, revision } = memories[index] ?? {};
        return id !== undefined && revision !== undefined ? [{ id, revision }] : [];
      }),
    })),
  );
}

function getCenter(x: Float32Array, y: Float32Array, clusters: Int8Array, cluster: number): { x: number; y: number } {
  let [sumX, sumY, count] = [0, 0, 0];
  clusters.forEach((of, point) => {
    if (of !== cluster) return;
    sumX += x[point] as number;
    sumY += y[point] as number;
    count++;
  });
  return { x: sumX / Math.max(1, count), y: sumY / Math.max(1, count) };
}
