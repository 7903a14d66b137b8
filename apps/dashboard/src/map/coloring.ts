import type { MapPoint } from '@memoryd/client';
import { capitalize, formatCount } from '../format.ts';

/** Properties of a memory that its color on the map can show. */
export const COLORINGS = ['cluster', 'tag', 'session', 'user', 'tier', 'age'] as const;
export type Coloring = (typeof COLORINGS)[number];

/** CSS custom properties: the colors of the most frequent values, of which people with any color vision tell two apart. */
const COLORS = Array.from({ length: 8 }, (_, i) => `--map-${i + 1}`);
const OTHER_COLOR = '--map-other';

/** Groups that are listed. All further values are one group. */
const MAX_GROUPS = 24;

/** Memories with the same value. */
export interface Group {
  /** Identifies the group among those of the same coloring, also after the map has changed. */
  key: string;
  label: string;
  /** Name of a CSS custom property. */
  color: string;
  /** Indexes of the points. */
  points: number[];
}

type Value = Pick<Group, 'key' | 'label'>;

const DAY_MS = 86_400_000;
const AGES = [
  { label: 'Last 30 days', days: 30 },
  { label: 'Last 90 days', days: 90 },
  { label: 'Last year', days: 365 },
  { label: 'Older', days: Number.POSITIVE_INFINITY },
] as const;

/**
 * Groups points by the value that the color shows, the most frequent first, ages from new to old. The first values have a
 * color of their own, all others share one.
 *
 * @param clusterNames the names of the clusters, in their order
 */
export function groupByColor(
  points: readonly MapPoint[],
  coloring: Coloring,
  clusterNames: readonly string[],
  now: number,
): Group[] {
  const byKey = new Map<string, Value & { points: number[] }>();
  points.forEach((point, index) => {
    const value = getValue(point, coloring, clusterNames, now);
    const group = byKey.get(value.key);
    if (group) group.points.push(index);
    else byKey.set(value.key, { ...value, points: [index] });
  });
  const groups = [...byKey.values()].sort((a, b) =>
    coloring === 'age' ? Number(a.key) - Number(b.key) : b.points.length - a.points.length || (a.key < b.key ? -1 : 1),
  );
  const others = groups.splice(groups.length > MAX_GROUPS + 1 ? MAX_GROUPS : groups.length);
  const listed = groups.map((group, rank) => ({ ...group, color: getColor(group.key, coloring, rank) }));
  if (others.length === 0) return listed;
  const rest = others.flatMap((group) => group.points);
  return [...listed, { key: OTHERS, label: formatCount(others.length, 'other'), color: OTHER_COLOR, points: rest }];
}

/** The keys of the group of all further values, and of the group of the points without a value. Values start with `=`. */
const OTHERS = 'others';
const NONE = 'none';

function getColor(key: string, coloring: Coloring, rank: number): string {
  if (coloring === 'tier') return `--${key.slice(1)}`;
  if (coloring === 'age') return `--map-age-${key}`;
  return key === NONE ? OTHER_COLOR : (COLORS[rank] ?? OTHER_COLOR);
}

function getValue(point: MapPoint, coloring: Coloring, clusterNames: readonly string[], now: number): Value {
  switch (coloring) {
    case 'cluster':
      return toValue(point.cluster < 0 ? undefined : String(point.cluster), 'No cluster', clusterNames[point.cluster]);
    case 'tag':
      return toValue(point.tag, 'No tag');
    case 'session':
      return toValue(point.session_id ?? undefined, 'No session');
    case 'user':
      return toValue(point.user_id, 'No user');
    case 'tier':
      return toValue(point.tier, '', capitalize(point.tier));
    case 'age': {
      const days = (now - Date.parse(point.created_at)) / DAY_MS;
      const age = AGES.findIndex((one) => days <= one.days);
      return { key: String(age), label: AGES[age]?.label ?? '' };
    }
  }
}

function toValue(value: string | undefined, missing: string, label = value): Value {
  return value === undefined ? { key: NONE, label: missing } : { key: `=${value}`, label: label ?? value };
}
