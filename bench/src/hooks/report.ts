import { percentilesMs, roundFigure } from '../latency/figures.ts';
import { describeMachine } from '../latency/machine.ts';
import { alignTable } from '../table.ts';
import type { CheckResult } from './check.ts';
import { type Gift, scoreGifts } from './gift-scores.ts';
import { compareHooks, MAX_RATIO } from './hook-ratios.ts';
import { KINDS, type MeasuredLatency } from './latency.ts';
import type { Variant } from './quality.ts';

/** Prints the scores of each variant as JSON lines on standard output, and as a table on standard error. */
export function reportQuality(gifts: ReadonlyMap<Variant, readonly Gift[]>): void {
  const measured = [...gifts].map(([variant, each]) => ({ ...variant, ...scoreGifts(each) }));
  for (const scores of measured) process.stdout.write(`${JSON.stringify(scores)}\n`);
  const toPercent = (share: number | null) => (share === null ? '–' : (100 * share).toFixed(1));
  const header = [
    ...['sessions', 'capture', 'prompts', 'o200k, mean', 'p95', 'estimate, mean', 'p95', '% nothing', 'memories'],
    ...['% evidence', '% prompts', '% with evidence', 'in session', 'crossings', 'repeated', 'unknown'],
  ];
  const rows = measured.map((scores) => [
    ...[scores.sessions, scores.capture, String(scores.prompts)],
    ...[scores.o200k_mean, scores.o200k_p95, scores.estimate_mean, scores.estimate_p95].map((tokens) =>
      tokens.toFixed(0),
    ),
    ...[toPercent(scores.nothing), scores.memories_mean.toFixed(1)],
    ...[scores.evidence_of_given, scores.prompts_of_given].map(toPercent),
    ...[scores.with_evidence, scores.with_evidence_in_session].map(toPercent),
    ...[scores.crossings, scores.repeated, scores.unknown].map(String),
  ]);
  process.stderr.write(`${alignTable(header, rows, 2)}\n`);
}

/**
 * Prints the counts of the check.
 *
 * @throws if a count is wrong
 */
export function reportCheck(result: CheckResult): void {
  process.stdout.write(`${JSON.stringify(result)}\n`);
  process.stderr.write(
    `${alignTable(
      ['check', 'count'],
      Object.entries(result).map(([name, count]) => [name, String(count)]),
    )}\n`,
  );
  const { stored_once, prompts, crossings, own_text_stored, given_twice, unknown_given } = result;
  if (stored_once !== prompts || crossings + own_text_stored + given_twice + unknown_given > 0)
    throw new Error('stored_once must equal prompts, and the counts after it must be 0');
}

/** Prints the times and ratios as a JSON line on standard output, and as tables on standard error. */
export function reportLatency(command: string, { rounds, withContext }: MeasuredLatency): void {
  const times = Object.fromEntries(
    KINDS.map((kind) => [
      kind,
      percentilesMs(
        rounds.map((round) => round[kind]),
        [50, 99],
      ),
    ]),
  );
  const ratios = compareHooks(rounds);
  const line = { command, with_context: roundFigure(withContext), times, ratios, machine: describeMachine() };
  process.stdout.write(`${JSON.stringify(line)}\n`);
  const timeRows = KINDS.map((kind) => [kind, String(times[kind]?.p50_ms), String(times[kind]?.p99_ms)]);
  process.stderr.write(`${alignTable(['', 'p50, ms', 'p99, ms'], timeRows)}\n`);
  const header = ['', 'at', 'ratio', '95 % interval', 'halves', 'target'];
  const rows = ratios.map(({ what, percent, ratio, low, high, halves }) => [
    ...[what === 'hook' ? 'hook / recall' : '(file − 2 × node) / recall', `p${percent}`, ratio.toFixed(2)],
    `${low.toFixed(2)} to ${high.toFixed(2)}`,
    ...[halves.map((half) => half.toFixed(2)).join(', '), `≤ ${MAX_RATIO}`],
  ]);
  process.stderr.write(
    `${alignTable(header, rows)}\n${(100 * withContext).toFixed(0)} % of the prompts got a context\n`,
  );
}
