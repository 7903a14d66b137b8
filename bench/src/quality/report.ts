import { alignTable } from '../table.ts';
import { type Difference, pairedBootstrap } from './bootstrap.ts';
import { METRICS, meanScores, type Scores } from './metrics.ts';
import { getQuestionKey, type QuestionScores } from './saved-run.ts';

/** BEAM categories whose questions do not name their topic, so that recall alone cannot find the answer. */
const UNNAMED_CATEGORIES: ReadonlySet<string> = new Set(['event_ordering', 'instruction_following', 'summarization']);

/** A question that cannot be scored because the corpus contains no relevant memory. */
interface Skipped {
  category: string;
}

export interface SetRun {
  scored: QuestionScores[];
  skipped: Skipped[];
  /** Scores of simple orders by name, for each scored question; empty if not requested. */
  getOrders: Record<string, Scores>[];
}

/**
 * One line of the report: the questions of one category, of all categories outside `UNNAMED_CATEGORIES`, or of the set;
 * or one simple order of the results.
 */
export interface ReportLine {
  category: string;
  questions: number;
  skipped: number;
  scores: Scores;
  /** Comparison with a saved run, over the questions that both runs scored. */
  against?: { questions: number; difference: Difference };
}

/**
 * Returns the lines of a report: one for each category, one for all questions (`all`), and one for each simple order.
 * If the set has any of `UNNAMED_CATEGORIES`, the line `nameable` covers the other categories.
 */
export function reportLines(run: SetRun, savedRun?: readonly QuestionScores[]): ReportLine[] {
  const saved = savedRun && new Map(savedRun.map((question) => [getQuestionKey(question), question['nDCG@10']]));
  const categories = [...new Set([...run.scored, ...run.skipped].map(({ category }) => category))].sort();
  const line = (name: string, includes: (category: string) => boolean): ReportLine => {
    const scored = run.scored.filter(({ category }) => includes(category));
    const skipped = run.skipped.filter(({ category }) => includes(category)).length;
    return { category: name, questions: scored.length, skipped, scores: meanScores(scored), ...compare(scored, saved) };
  };
  return [
    ...categories.map((name) => line(name, (category) => category === name)),
    ...(categories.some((category) => UNNAMED_CATEGORIES.has(category))
      ? [line('nameable', (category) => !UNNAMED_CATEGORIES.has(category))]
      : []),
    line('all', () => true),
    ...orderLines(run),
  ];
}

function orderLines({ getOrders }: SetRun): ReportLine[] {
  // A question without results has no orders. Its score is 0 in every order.
  const found = getOrders.filter((orders) => Object.keys(orders).length > 0);
  return Object.keys(found[0] ?? {}).map((name) => {
    const sums = meanScores(found.map((orders) => orders[name] as Scores));
    const scores = mapScores(sums, (mean) => (mean * found.length) / getOrders.length);
    return { category: `by ${name}`, questions: getOrders.length, skipped: 0, scores };
  });
}

function mapScores(scores: Scores, map: (score: number) => number): Scores {
  return Object.fromEntries(METRICS.map((metric) => [metric, map(scores[metric])])) as Scores;
}

function compare(scored: QuestionScores[], saved: Map<string, number> | undefined): Pick<ReportLine, 'against'> {
  if (saved === undefined) return {};
  const differences = scored.flatMap((question) => {
    const before = saved.get(getQuestionKey(question));
    return before === undefined ? [] : [question['nDCG@10'] - before];
  });
  if (differences.length === 0) return {};
  return { against: { questions: differences.length, difference: pairedBootstrap(differences) } };
}

/** Formats lines as a table with scores times 100. */
export function formatTable(set: string, lines: readonly ReportLine[]): string {
  const isCompared = lines.some(({ against }) => against !== undefined);
  const header = [set, 'questions', 'skipped', ...METRICS];
  const rows = lines.map(({ category, questions, skipped, scores }) => [
    category,
    String(questions),
    String(skipped),
    ...METRICS.map((metric) => (questions > 0 ? toHundred(scores[metric]) : '–')),
  ]);
  if (!isCompared) return alignTable(header, rows);
  const compared = lines.map(({ against }) =>
    against ? [formatSigned(against.difference.mean), interval(against)] : ['–', '–'],
  );
  return alignTable(
    [...header, 'nDCG@10 +/-', '95 % interval'],
    rows.map((row, index) => [...row, ...(compared[index] ?? [])]),
  );
}

/** Converts a line to JSON fields: scores from 0 to 1, null without questions. */
export function toJson(line: ReportLine): Record<string, unknown> {
  const { category, questions, skipped, scores, against } = line;
  const rounded = METRICS.map((metric) => [metric, questions > 0 ? round(scores[metric]) : null]);
  const difference = against && {
    questions: against.questions,
    'nDCG@10': round(against.difference.mean),
    low: round(against.difference.low),
    high: round(against.difference.high),
  };
  return { category, questions, skipped, ...Object.fromEntries(rounded), ...(difference && { against: difference }) };
}

function round(score: number): number {
  return Number(score.toFixed(4));
}

function toHundred(score: number): string {
  return (100 * score).toFixed(1);
}

function formatSigned(difference: number): string {
  return `${difference >= 0 ? '+' : ''}${toHundred(difference)}`;
}

function interval({ difference }: { difference: Difference }): string {
  return `[${toHundred(difference.low)}, ${toHundred(difference.high)}]`;
}
