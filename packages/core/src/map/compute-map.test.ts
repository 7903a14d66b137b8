import { toInt8 } from '@memoryd/search';
import { describe, expect, it } from 'vitest';
import { type ComputedMap, computeMap, type MapSlice } from './compute-map.ts';
import { createRandom } from './principal-axes.ts';

const DIMENSIONS = 32;
const TOPICS = [
  ['Hazelnuts', 'Maria is allergic to hazelnuts and walnuts'],
  ['ferry', 'the ferry leaves the pier at nine'],
  ['Garten', 'ich habe heute im Garten die Tomaten gegossen'],
] as const;

/** Returns memories near one direction for each topic, with texts of the topic. */
function createSlice(count: number, first = 1): MapSlice {
  const getRandom = createRandom();
  const all = Array.from({ length: count }, (_, i) => {
    const topic = i % TOPICS.length;
    const vector = Float32Array.from(
      { length: DIMENSIONS },
      (_, at) => 0.3 * (getRandom() - 0.5) + Number(at === topic),
    );
    return { ordinal: first + i, vector, text: `${TOPICS[topic]?.[1]}, note ${first + i}` };
  });
  return {
    ordinals: all.map(({ ordinal }) => ordinal),
    ids: all.map(({ ordinal }) => `m${ordinal}`),
    revisions: all.map(() => 1),
    texts: all.map(({ text }) => text),
    vectors: new Uint8Array(Buffer.concat(all.map(({ vector }) => toInt8(vector)))),
  };
}

function getMoves(before: ComputedMap, after: ComputedMap): number[] {
  const places = new Map(Array.from(after.ordinals, (ordinal, i) => [ordinal, i]));
  return Array.from(before.ordinals, (ordinal, i) => {
    const at = places.get(ordinal) as number;
    return Math.hypot(
      (before.x[i] as number) - (after.x[at] as number),
      (before.y[i] as number) - (after.y[at] as number),
    );
  });
}

describe('computeMap', () => {
  it('places memories from -1 to 1, and those of one topic nearer to each other than to others', () => {
    const map = computeMap([createSlice(300)]);
    expect(Math.max(...map.x.map(Math.abs), ...map.y.map(Math.abs))).toBeCloseTo(1, 5);
    const getMean = (topic: number, places: Float32Array) =>
      places.filter((_, i) => i % 3 === topic).reduce((sum, place) => sum + place, 0) / 100;
    const getDistance = (one: number, other: number) =>
      Math.hypot(getMean(one, map.x) - getMean(other, map.x), getMean(one, map.y) - getMean(other, map.y));
    for (const [one, other] of [
      [0, 1],
      [0, 2],
      [1, 2],
    ] as const)
      expect(getDistance(one, other)).toBeGreaterThan(0.5);
  });

  it('moves memories little when others are added', () => {
    const slice = createSlice(300);
    const before = computeMap([slice]);
    const after = computeMap([createSlice(30, 301), slice], before);
    expect(after.ordinals).toHaveLength(330);
    expect(Math.max(...getMoves(before, after))).toBeLessThan(0.1);
  });

  it('keeps the numbers of clusters when memories are added', () => {
    const slice = createSlice(300);
    const before = computeMap([slice]);
    const after = computeMap([slice, createSlice(30, 301)], before);
    const stayed = before.clusters.filter((cluster, i) => after.clusters[i] === cluster).length;
    expect(stayed).toBeGreaterThan(290);
  });

  it('names clusters by words as people wrote them, without function words of any language', () => {
    const { groups } = computeMap([createSlice(300)]);
    const words = groups.flatMap((group) => group.words.map(({ word }) => word));
    expect(words).toEqual(expect.arrayContaining(['hazelnuts', 'ferry', 'Garten']));
    for (const word of ['is', 'the', 'at', 'ich', 'im', 'die', 'note']) expect(words).not.toContain(word);
  });

  it('keeps with each word some memories that have it', () => {
    const slice = createSlice(300);
    for (const { word, holders } of computeMap([slice]).groups.flatMap(({ words }) => words)) {
      expect(holders.length).toBeGreaterThan(0);
      for (const { id } of holders) expect(slice.texts[slice.ids.indexOf(id)]).toContain(word);
    }
  });

  it('returns no clusters for few memories, and a place for a single one', () => {
    const few = computeMap([createSlice(5)]);
    expect([...few.clusters]).toEqual([-1, -1, -1, -1, -1]);
    expect(few.groups).toEqual([]);
    const one = computeMap([createSlice(1)]);
    expect([one.x[0], one.y[0]]).toEqual([0, 0]);
    expect(computeMap([]).ordinals).toHaveLength(0);
  });
});
