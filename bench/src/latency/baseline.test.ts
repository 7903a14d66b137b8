import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { withTemporaryFolder } from '../temporary-folder.ts';
import { compareLines, formatComparison, readBaseline, type SizeLine } from './baseline.ts';
import type { Figures } from './figures.ts';

function lineWith(steps: Record<string, Figures>): SizeLine {
  const machine = { cpus: 2, cpu: 'A', memory_gb: 8, platform: 'linux x64', node: 'v20.19.0' };
  return { count: 1000, version: '0.1.0', steps, command: 'npm run bench:latency -- --count 1000', machine };
}

describe('compareLines', () => {
  it('corrects times and rates for the speed of the machine', () => {
    const before = lineWith({ recall: { p50_ms: 10, recalls_per_s: 100, unit_ms: 1 } });
    const now = lineWith({ recall: { p50_ms: 20, recalls_per_s: 50, unit_ms: 2 } });
    expect(compareLines(before, now)).toEqual([
      { step: 'recall', figure: 'p50_ms', before: 10, now: 20, ratio: 2, ratioInUnits: 1 },
      { step: 'recall', figure: 'recalls_per_s', before: 100, now: 50, ratio: 0.5, ratioInUnits: 1 },
    ]);
  });

  it('compareLines does not correct sizes for the speed of the machine', () => {
    const before = lineWith({ memory: { resident_mb: 100, unit_ms: 1 } });
    const now = lineWith({ memory: { resident_mb: 150, unit_ms: 2 } });
    expect(compareLines(before, now)[0]).toMatchObject({ ratio: 1.5, ratioInUnits: undefined });
  });

  it('ignores counts, null values and figures that only one line contains', () => {
    const before = lineWith({ recall: { p50_ms: null, queries: 10 }, store: { p50_ms: 1 } });
    const now = lineWith({ recall: { p50_ms: 1, queries: 20 }, disk: { p50_ms: 1 } });
    expect(compareLines(before, now)).toEqual([]);
  });
});

describe('a baseline', () => {
  it('a baseline can be read from the printed lines of a run and compared with another run', () =>
    withTemporaryFolder(async (folder) => {
      const path = join(folder, 'baseline.jsonl');
      const line = lineWith({ recall: { p50_ms: 10, unit_ms: 1 } });
      writeFileSync(path, `${JSON.stringify(line)}\n`);
      const [before] = readBaseline(path);
      expect(before).toEqual(line);
      expect(formatComparison(line, line)).toMatch(/recall +p50_ms +10 +10 +1\.00 +1\.00/);
    }));

  it('a baseline of this repository contains the command that created each line', () => {
    const lines = readBaseline(fileURLToPath(new URL('../../baselines/latency.jsonl', import.meta.url)));
    expect(lines.length).toBeGreaterThan(0);
    for (const { count, command } of lines) expect(command).toContain(`npm run bench:latency -- --count ${count} `);
  });

  it.each(['{"set":"locomo"}', '{"count":'])('a baseline is rejected if a line has an unknown format (%s)', (line) =>
    withTemporaryFolder(async (folder) => {
      const path = join(folder, 'baseline.jsonl');
      writeFileSync(path, `${line}\n`);
      expect(() => readBaseline(path)).toThrow(
        'baseline.jsonl:1 must be a JSON object with the number count and the object steps',
      );
    }),
  );
});
