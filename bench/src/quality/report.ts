import { alignedTable } from '../table.ts';
import { type Difference, pairedBootstrap } from './bootstrap.ts';
import { METRICS, meanScores, type Scores } from './metrics.ts';
import { getKey, type QuestionScores } from './saved-run.ts';

/** Categories of BEAM whose questions do not name what they want, so that recall alone cannot know it. */
const UNNAMED_CATEGORIES: ReadonlySet<string> = new Set(['event_ordering', 'instruction_following', 'summarization']);

/** Questions of one set that could not be scored, since the corpus lacks what they ask for. */
interface Skipped {
  category: string;
}

export interface SetRun {
  scored: QuestionScores[];
  skipped: Skipped[];
  /** For each scored question, the scores of simple orders by name; empty where they were not asked for. */
  reordered: Record<string, Scores>[];
}

/** One line of the report: a category, those that can be named, or all questions of a set. */
export interface ReportLine {
  category: string;
  questions: number;
  skipped: number;
  scores: Scores;
  /** Against a saved run, over the questions that both scored. */
  against?: { questions: number; difference: Difference };
}

/**
 * Lines by category, then `nameable` where the set has categories that are not, then `all`, and after it a line for each
 * simple order of the same results.
 */
export function reportLines(run: SetRun, savedRun?: readonly QuestionScores[]): ReportLine[] {
  const saved = savedRun && new Map(savedRun.map((question) => [getKey(question), question['nDCG@10']]));
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

function orderLines({ reordered }: SetRun): ReportLine[] {
  // A question without results has no orders of them, and scores nothing in any.
  const found = reordered.filter((orders) => Object.keys(orders).length > 0);
  return Object.keys(found[0] ?? {}).map((name) => {
    const sums = meanScores(found.map((orders) => orders[name] as Scores));
    const scores = mapScores(sums, (mean) => (mean * found.length) / reordered.length);
    return { category: `by ${name}`, questions: reordered.length, skipped: 0, scores };
  });
}

function mapScores(scores: Scores, map: (score: number) => number): Scores {
  return Object.fromEntries(METRICS.map((metric) => [metric, map(scores[metric])])) as Scores;
}

function compare(scored: QuestionScores[], saved: Map<string, number> | undefined): Pick<ReportLine, 'against'> {
  if (saved === undefined) return {};
  const differences = scored.flatMap((question) => {
    const before = saved.get(getKey(question));
    return before === undefined ? [] : [question['nDCG@10'] - before];
  });
  if (differences.length === 0) return {};
  return { against: { questions: differences.length, difference: pairedBootstrap(differences) } };
}

/** The lines as a table for people: scores times 100. */
export function formatTable(set: string, lines: readonly ReportLine[]): string {
  const isCompared = lines.some(({ against }) => against !== undefined);
  const header = [set, 'questions', 'skipped', ...METRICS];
  const rows = lines.map(({ category, questions, skipped, scores }) => [
    category,
    String(questions),
    String(skipped),
    ...METRICS.map((metric) => (questions > 0 ? hundredfold(scores[metric]) : '–')),
  ]);
  if (!isCompared) return alignedTable(header, rows);
  const compared = lines.map(({ against }) =>
    against ? [signed(against.difference.mean), interval(against)] : ['–', '–'],
  );
  return alignedTable(
    [...header, 'nDCG@10 +/-', '95 % interval'],
    rows.map((row, index) => [...row, ...(compared[index] ?? [])]),
  );
}

/** One line as an object for programs: scores from 0 to 1, null where there is no question. */
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

function hundredfold(score: number): string {
  return (100 * score).toFixed(1);
}

function signed(difference: number): string {
  return `${difference >= 0 ? '+' : ''}${hundredfold(difference)}`;
}

function interval({ difference }: { difference: Difference }): string {
  return `[${hundredfold(difference.low)}, ${hundredfold(difference.high)}]`;
}
