import { readFileSync } from 'node:fs';
import { alignTable } from '../table.ts';
import type { Figures } from './figures.ts';
import type { Machine } from './machine.ts';

/** All measurements with one number of memories, as one line of standard output or of a baseline file. */
export interface SizeLine {
  count: number;
  version: string;
  steps: Record<string, Figures>;
  command: string;
  machine: Machine;
}

/** One figure in a baseline and in the current run. */
interface Comparison {
  step: string;
  figure: string;
  before: number;
  now: number;
  /** `now / before`. Lower is better for times, higher for rates. */
  ratio: number;
  /**
   * The ratio corrected for the machine's speed; undefined for sizes, and if the step has no `unit_ms` in one of the
   * lines.
   */
  ratioInUnits: number | undefined;
}

/** @throws if a line is not the JSON of a `SizeLine` */
export function readBaseline(path: string): SizeLine[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.flatMap((text, index) => {
    if (text === '') return [];
    const line = parseJson(text) as SizeLine | undefined;
    if (typeof line?.count === 'number' && typeof line.steps === 'object') return [line];
    throw new Error(
      `${path}:${index + 1} must be a JSON object with the number count and the object steps; create the file with bench:latency --save FILE`,
    );
  });
}

/** Returns undefined if the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Compares the times, rates and sizes that both lines have. */
export function compareLines(before: SizeLine, now: SizeLine): Comparison[] {
  return Object.entries(now.steps).flatMap(([step, figures]) => {
    const earlier = before.steps[step];
    return earlier === undefined ? [] : compareStep(step, earlier, figures);
  });
}

function compareStep(step: string, before: Figures, now: Figures): Comparison[] {
  return Object.entries(now).flatMap(([figure, value]) => {
    const earlier = before[figure];
    const kind = /_(ms|per_s|mb)$/.exec(figure)?.[1];
    if (
      figure === 'unit_ms' ||
      kind === undefined ||
      typeof value !== 'number' ||
      typeof earlier !== 'number' ||
      earlier === 0
    )
      return [];
    const ratio = value / earlier;
    return [{ step, figure, before: earlier, now: value, ratio, ratioInUnits: toUnitRatio(kind, ratio, before, now) }];
  });
}

/**
 * Corrects a ratio for the slowdown of the machine, which is the ratio of the two `unit_ms`. Divides a ratio of times
 * by the slowdown, and multiplies a ratio of rates by the slowdown.
 */
function toUnitRatio(kind: string, ratio: number, before: Figures, now: Figures): number | undefined {
  if (typeof before.unit_ms !== 'number' || typeof now.unit_ms !== 'number' || kind === 'mb') return undefined;
  const slowdown = now.unit_ms / before.unit_ms;
  return kind === 'ms' ? ratio / slowdown : ratio * slowdown;
}

/** Formats a comparison as a table. */
export function formatComparison(before: SizeLine, now: SizeLine): string {
  const rows = compareLines(before, now).map(({ step, figure, ratioInUnits, ...numbers }) => [
    step,
    figure,
    String(numbers.before),
    String(numbers.now),
    numbers.ratio.toFixed(2),
    ratioInUnits?.toFixed(2) ?? '–',
  ]);
  const table = alignTable(['step', 'figure', 'baseline', 'now', 'ratio', 'in units'], rows, 2);
  return `${now.count} memories against ${before.version} (${before.command}, ${before.machine.cpu})\n${table}\n`;
}
