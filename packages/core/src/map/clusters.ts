import { createRandom } from './principal-axes.ts';

const MAX_CLUSTERS = 24;

/** Fewer points have no clusters. */
const MIN_POINTS = 12;

/** Average points of a cluster grow with the square root of the points: 10 clusters of 3,000, 24 of 17,000 or more. */
const POINTS_PER_SQUARE = 30;

const MAX_STEPS = 25;

/** Points by their coordinates: coordinate `axis` of point `point` is at `point * axes + axis`. */
export interface Points {
  count: number;
  axes: number;
  coordinates: Float64Array;
}

/**
 * Returns the cluster of each point by k-means (Lloyd 1982), which starts from the clusters of earlier points, so that
 * clusters keep their numbers, and otherwise from k-means++ (Arthur and Vassilvitskii 2007). -1 if there are few points.
 *
 * @param before the earlier cluster of each point, or -1
 */
export function getClusters(points: Points, before: Int8Array): { count: number; clusters: Int8Array } {
  const count = getClusterCount(points.count);
  const clusters = Int8Array.from(before, (cluster) => (cluster < count ? cluster : -1));
  if (count === 0) return { count, clusters: clusters.fill(-1) };
  const centers = getCenters(points, clusters, count);
  addCenters(points, centers);
  for (let step = 0; step < MAX_STEPS; step++) {
    if (!assign(points, centers, clusters)) break;
    for (const [cluster, center] of getCenters(points, clusters, count).entries()) {
      // An empty cluster stays where it is.
      if (center) centers[cluster] = center;
    }
  }
  return { count, clusters };
}

function getClusterCount(points: number): number {
  if (points < MIN_POINTS) return 0;
  return Math.min(MAX_CLUSTERS, Math.max(2, Math.round(Math.sqrt(points / POINTS_PER_SQUARE))));
}

/** Returns the mean of the points of each cluster; undefined for an empty cluster. */
function getCenters({ count, axes, coordinates }: Points, clusters: Int8Array, size: number) {
  const sizes = new Float64Array(size);
  const centers = Array.from({ length: size }, () => new Float64Array(axes));
  for (let point = 0; point < count; point++) {
    const cluster = clusters[point] as number;
    const center = centers[cluster];
    if (!center) continue;
    sizes[cluster] = (sizes[cluster] as number) + 1;
    for (let axis = 0; axis < axes; axis++) {
      center[axis] = (center[axis] as number) + (coordinates[point * axes + axis] as number);
    }
  }
  return centers.map((center, cluster): Float64Array | undefined => {
    const total = sizes[cluster] as number;
    return total === 0 ? undefined : center.map((sum) => sum / total);
  });
}

/** Fills missing centers with points that are far from the others. */
function addCenters(points: Points, centers: (Float64Array | undefined)[]): void {
  const { count, axes, coordinates } = points;
  const getRandom = createRandom();
  const getPoint = (point: number) => coordinates.slice(point * axes, (point + 1) * axes);
  const nearest = new Float64Array(count).fill(Number.POSITIVE_INFINITY);
  const approach = (center: Float64Array) => {
    for (let point = 0; point < count; point++) {
      nearest[point] = Math.min(nearest[point] as number, getDistance(points, point, center));
    }
  };
  for (const center of centers) if (center) approach(center);
  for (const [cluster, known] of centers.entries()) {
    if (known) continue;
    const total = nearest.reduce((sum, distance) => sum + distance, 0);
    let left = getRandom() * total;
    const chosen = Number.isFinite(total) ? nearest.findIndex((distance) => (left -= distance) < 0) : 0;
    const center = getPoint(Math.max(0, chosen));
    centers[cluster] = center;
    approach(center);
  }
}

function getDistance({ axes, coordinates }: Points, point: number, center: Float64Array): number {
  let squares = 0;
  for (let axis = 0; axis < axes; axis++) {
    squares += ((coordinates[point * axes + axis] as number) - (center[axis] as number)) ** 2;
  }
  return squares;
}

/** Assigns each point to the nearest center. Returns whether any point has changed its cluster. */
function assign(points: Points, centers: readonly (Float64Array | undefined)[], clusters: Int8Array): boolean {
  let hasChanged = false;
  for (let point = 0; point < points.count; point++) {
    let [nearest, shortest] = [-1, Number.POSITIVE_INFINITY];
    for (const [cluster, center] of centers.entries()) {
      const distance = center ? getDistance(points, point, center) : Number.POSITIVE_INFINITY;
      if (distance < shortest) [nearest, shortest] = [cluster, distance];
    }
    hasChanged ||= clusters[point] !== nearest;
    clusters[point] = nearest;
  }
  return hasChanged;
}
