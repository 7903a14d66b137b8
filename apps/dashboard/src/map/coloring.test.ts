import type { MapPoint } from '@memoryd/client';
import { describe, expect, it } from 'vitest';
import { groupByColor } from './coloring.ts';

const NOW = Date.parse('2026-11-01T00:00:00Z');

function createPoint(id: string, fields: Partial<MapPoint> = {}): MapPoint {
  const created_at = new Date(NOW).toISOString();
  return { id, x: 0, y: 0, cluster: -1, created_at, tier: 'working', session_id: null, ...fields };
}

const describeGroups = (points: MapPoint[], ...rest: [Parameters<typeof groupByColor>[1], string[]?]) =>
  groupByColor(points, rest[0], rest[1] ?? [], NOW).map(({ label, points: members }) => [label, members]);

describe('groupByColor', () => {
  it('lists the most frequent values first, and gives memories without a value their own group', () => {
    const points = [createPoint('a', { tag: 'trip' }), createPoint('b'), createPoint('c', { tag: 'trip' })];
    expect(describeGroups(points, 'tag')).toEqual([
      ['trip', [0, 2]],
      ['No tag', [1]],
    ]);
  });

  it('gives rare values one color, and makes the rarest values one group', () => {
    const sessions = Array.from({ length: 30 }, (_, i) => createPoint(`${i}`, { session_id: `s${10 + i}` }));
    const groups = groupByColor(sessions, 'session', [], NOW);
    expect(groups.map(({ label }) => label)).toEqual([
      ...Array.from({ length: 24 }, (_, i) => `s${10 + i}`),
      '6 others',
    ]);
    const colors = groups.map(({ color }) => color);
    expect(new Set(colors.slice(0, 9)).size).toBe(9);
    expect(new Set(colors.slice(8)).size).toBe(1);
    expect(groups.flatMap(({ points }) => points).sort((a, b) => a - b)).toEqual(sessions.map((_, i) => i));
  });

  it('keeps a value apart from the points without a value, whatever it is called', () => {
    const groups = groupByColor([createPoint('a', { tag: 'No tag' }), createPoint('b')], 'tag', [], NOW);
    expect(groups.map(({ label }) => label)).toEqual(['No tag', 'No tag']);
    expect(new Set(groups.map(({ key }) => key)).size).toBe(2);
  });

  it('lists ages from new to old', () => {
    const ago = (days: number) => ({ created_at: new Date(NOW - days * 86_400_000).toISOString() });
    const points = [createPoint('a', ago(800)), createPoint('b', ago(1)), createPoint('c', ago(100))];
    expect(describeGroups(points, 'age')).toEqual([
      ['Last 30 days', [1]],
      ['Last year', [2]],
      ['Older', [0]],
    ]);
  });

  it('names the groups of clusters like the clusters', () => {
    const points = [createPoint('a', { cluster: 1 }), createPoint('b')];
    expect(describeGroups(points, 'cluster', ['garden', 'trips'])).toEqual([
      ['trips', [0]],
      ['No cluster', [1]],
    ]);
  });
});
