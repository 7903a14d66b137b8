import type { RecallResult } from '@memoryd/contract';
import { alignTable } from '../table.ts';

/** Maximum results to request per question; usually enough to include the first irrelevant result. */
export const MAX_ANSWER_RESULTS = 50;

/** Maximum rank at which a relevant memory is regarded as found. */
const MAX_FOUND_RANK = 5;

/** Recall parameters that filter out unlikely results, by name. */
export const FILTERS: Readonly<Record<string, Record<string, string>>> = {
  'min_score=.2': { min_score: '0.2' },
  only_relevant: { only_relevant: 'true' },
};

/**
 * Outcome of a recall with a filter. `isAnswered`: there is any result. `isRight`: a relevant memory is among the first
 * five results.
 */
interface FilterOutcome {
  isAnswered: boolean;
  isRight: boolean;
}

/** Scores of one question. */
export interface AnswerScores {
  /** The score of the first result; 0 without results. */
  first: number;
  /** Whether the first result is relevant. */
  isFirstRight: boolean;
  /** Whether a relevant memory is among the first five results. */
  isFound: boolean;
  /** The score of the first irrelevant result; 0 if there is none. */
  withoutRight: number;
  /** Outcome of the recall with each filter, by the name of the filter in `FILTERS`. */
  filtered: Record<string, FilterOutcome>;
}

/**
 * Reads the scores of one question from its results.
 *
 * @param isRight returns whether a memory answers the question; always false for questions of another store
 */
export function getAnswerScores(
  results: readonly RecallResult[],
  filtered: Readonly<Record<string, readonly RecallResult[]>>,
  isRight: (id: string) => boolean,
): AnswerScores {
  const [first] = results;
  const isFoundIn = (some: readonly RecallResult[]) => some.slice(0, MAX_FOUND_RANK).some(({ id }) => isRight(id));
  const names = Object.keys(filtered);
  const toOutcome = (some: readonly RecallResult[] = []) => ({
    isAnswered: some.length > 0,
    isRight: isFoundIn(some),
  });
  return {
    first: first?.score ?? 0,
    isFirstRight: first !== undefined && isRight(first.id),
    isFound: isFoundIn(results),
    withoutRight: results.find(({ id }) => !isRight(id))?.score ?? 0,
    filtered: Object.fromEntries(names.map((name) => [name, toOutcome(filtered[name])])),
  };
}

/** Scores of a set's questions, each asked in its own store and in another store. */
export interface SetScores {
  own: AnswerScores[];
  ofAnother: AnswerScores[];
}

/**
 * Figures that show how well scores separate answered from unanswered questions. Fractions and areas are from 0 to 1,
 * or NaN without questions.
 */
export interface ScoreReport {
  /** For ten equal ranges of the first score: the number of questions and the fraction with a relevant first result. */
  calibration: { questions: number; right: number }[];
  /**
   * Area under the ROC curve. Positives: the first score of each question with `isFound`. Negatives: the score of the
   * first irrelevant result of each question.
   */
  withoutRight: number;
  /** Area under the ROC curve with the same positives. Negatives: the first scores of questions of another store. */
  ofAnother: number;
  /**
   * Quality of each filter, by name. `precision`: fraction of the questions with any result, including questions of
   * another store, that have `isRight`. `recall`: fraction of the questions of the store itself that have `isRight`.
   */
  filters: Record<string, { precision: number; recall: number }>;
}

const RANGES = 10;

export function reportScores({ own, ofAnother }: SetScores): ScoreReport {
  const found = own.filter(({ isFound }) => isFound).map(({ first }) => first);
  const calibration = Array.from({ length: RANGES }, (_, range) => {
    const inRange = own.filter(({ first }) => Math.min(RANGES - 1, Math.floor(first * RANGES)) === range);
    const right = inRange.filter(({ isFirstRight }) => isFirstRight).length;
    return { questions: inRange.length, right: right / inRange.length };
  });
  const filters = Object.keys(FILTERS).map((name) => {
    const all = [...own, ...ofAnother].map(({ filtered }) => filtered[name] as FilterOutcome);
    const answered = all.filter(({ isAnswered }) => isAnswered).length;
    const right = all.filter(({ isRight }) => isRight).length;
    return [name, { precision: right / answered, recall: right / own.length }];
  });
  return {
    calibration,
    withoutRight: getAreaUnderCurve(
      found,
      own.map((asked) => asked.withoutRight),
    ),
    ofAnother: getAreaUnderCurve(
      found,
      ofAnother.map(({ first }) => first),
    ),
    filters: Object.fromEntries(filters),
  };
}

/**
 * Returns the area under the ROC curve: the probability that a score of `higher` exceeds a score of `lower`, where ties
 * count half (Hanley and McNeil 1982).
 */
export function getAreaUnderCurve(higher: readonly number[], lower: readonly number[]): number {
  let wins = 0;
  for (const one of higher) for (const other of lower) wins += one > other ? 1 : one === other ? 0.5 : 0;
  return wins / (higher.length * lower.length);
}

/** Formats the report as tables. */
export function formatScores(set: string, { calibration, withoutRight, ofAnother, filters }: ScoreReport): string {
  const ranges = calibration.map(({ questions, right }, range) => [
    `${format(range / RANGES)} to ${format((range + 1) / RANGES)}`,
    String(questions),
    questions > 0 ? format(right) : '–',
  ]);
  const kept = Object.entries(filters).map(([name, { precision, recall }]) => [
    name,
    format(precision),
    format(recall),
  ]);
  return [
    alignTable([`${set}, first score`, 'questions', 'first is relevant'], ranges),
    alignTable(
      ['answered against not answered, by the first score', 'area under the ROC curve'],
      [
        ['the same questions without their relevant memories', format(withoutRight)],
        ['questions of another store', format(ofAnother)],
      ],
    ),
    alignTable(['answers with', 'precision', 'recall'], kept),
  ].join('\n\n');
}

function format(figure: number): string {
  return Number.isNaN(figure) ? '–' : figure.toFixed(3);
}
