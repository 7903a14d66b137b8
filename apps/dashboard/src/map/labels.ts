import type { MapPoint } from '@memoryd/client';
import type { Group } from './coloring.ts';
import { type Place, type Size, toPixel, type View } from './view.ts';

/** A name on the map, at the place of a memory in the middle of those that it names. */
export interface Label extends Place {
  text: string;
  /** Width of the text, in pixels. */
  width: number;
}

const HEIGHT_PX = 18;
const GAP_PX = 6;

/** Names cover a part of the map only, the most frequent groups first. */
const MAX_LABELS = 24;
/** Rows above and below its place at which a name is shown if another one is there. */
const SHIFTS = [0, -1, 1, -2, 2];

/** Returns the names of groups with the places at which they are shown. */
export function createLabels(
  groups: readonly Group[],
  points: readonly MapPoint[],
  measure: (text: string) => number,
): Label[] {
  return groups.slice(0, MAX_LABELS).map(({ label, points: members }) => {
    const text = label.split(' · ').slice(0, 2).join(' · ');
    return { ...getMiddle(members.map((index) => points[index] as MapPoint)), text, width: measure(text) };
  });
}

/** Returns the place that is nearest to the median of places: a mean may lie where there is nothing. */
function getMiddle(places: readonly Place[]): Place {
  const getMedian = (values: number[]) => Float64Array.from(values).sort()[values.length >> 1] ?? 0;
  const [x, y] = [getMedian(places.map((place) => place.x)), getMedian(places.map((place) => place.y))];
  let [nearest, shortest]: [Place, number] = [{ x, y }, Number.POSITIVE_INFINITY];
  for (const place of places) {
    const distance = (place.x - x) ** 2 + (place.y - y) ** 2;
    if (distance < shortest) [nearest, shortest] = [place, distance];
  }
  return { x: nearest.x, y: nearest.y };
}

/** Returns the names whose places are in the window, in pixels, so that none covers another. */
export function placeLabels(labels: readonly Label[], view: View, { width, height }: Size): Label[] {
  const shown: Label[] = [];
  for (const label of labels) {
    const at = toPixel(label, view);
    if (at.x < 0 || at.y < 0 || at.x > width || at.y > height) continue;
    const half = label.width / 2 + GAP_PX;
    const x = Math.min(Math.max(at.x, half), width - half);
    const isFree = (y: number) =>
      y >= HEIGHT_PX / 2 &&
      y <= height - HEIGHT_PX / 2 &&
      shown.every(
        (other) =>
          Math.abs(other.y - y) >= HEIGHT_PX || Math.abs(other.x - x) >= (other.width + label.width) / 2 + GAP_PX,
      );
    const y = SHIFTS.map((rows) => at.y + rows * HEIGHT_PX).find(isFree);
    if (y !== undefined) shown.push({ ...label, x, y });
  }
  return shown;
}
