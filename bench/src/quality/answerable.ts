import type { RecallResult } from '@memoryd/contract';
import { alignedTable } from '../table.ts';

/** How many results of a recall are looked through for one that is not right. */
export const LOOKED_THROUGH = 50;

/** Among so many first results a right one counts as found. */
const FOUND_WITHIN = 5;

/** The ways to leave out what is unlikely, as parameters of a recall. */
export const FILTERS: Readonly<Record<string, Record<string, string>>> = {
  'min_score=.2': { min_score: '0.2' },
  only_relevant: { only_relevant: 'true' },
};

/** What a recall with a filter returned: anything at all, and a right memory among the first five. */
interface Filtered {
  isAnswered: boolean;
  isRight: boolean;
}

/** The scores of a question; `first` is that of the first result, 0 where there is none. */
export interface AskedScores {
  first: number;
  isFirstRight: boolean;
  isFound: boolean;
  /** The first score once right memories are taken out of the results. */
  withoutRight: number;
  /** By the names of `FILTERS`. */
  filtered: Record<string, Filtered>;
}

/**
 * Returns what the scores of a question say.
 *
 * @param isRight tells which memories answer the question; none does in another person's store
 */
export function readScores(
  results: readonly RecallResult[],
  filtered: Readonly<Record<string, readonly RecallResult[]>>,
  isRight: (id: string) => boolean,
): AskedScores {
  const [first] = results;
  const isFoundIn = (some: readonly RecallResult[]) => some.slice(0, FOUND_WITHIN).some(({ id }) => isRight(id));
  const names = Object.keys(filtered);
  const toFiltered = (some: readonly RecallResult[] = []) => ({
    isAnswered: some.length > 0,
    isRight: isFoundIn(some),
  });
  return {
    first: first?.score ?? 0,
    isFirstRight: first !== undefined && isRight(first.id),
    isFound: isFoundIn(results),
    withoutRight: results.find(({ id }) => !isRight(id))?.score ?? 0,
    filtered: Object.fromEntries(names.map((name) => [name, toFiltered(filtered[name])])),
  };
}

/** The scores of the questions of a set: asked of their own stores, and each of the next store. */
export interface SetScores {
  own: AskedScores[];
  ofAnother: AskedScores[];
}

/** How well scores tell what is answered; figures are from 0 to 1, and NaN where there is nothing to tell apart. */
export interface ScoreReport {
  /** Of ten equal ranges of the first score: how many questions are there, and of which part the first result is right. */
  calibration: { questions: number; right: number }[];
  /** Area under the ROC curve of the first score of found answers, against the same questions without right memories. */
  withoutRight: number;
  /** The same against the questions of another store. */
  ofAnother: number;
  /**
   * With each filter: which part of the questions of both kinds that are answered is answered right, and which part of its
   * own questions is.
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
    const all = [...own, ...ofAnother].map(({ filtered }) => filtered[name] as Filtered);
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
 * Returns the area under the ROC curve: how likely one of the scores that should be higher is higher than one of the others,
 * where equal ones count half (Hanley and McNeil 1982).
 */
export function getAreaUnderCurve(higher: readonly number[], lower: readonly number[]): number {
  let wins = 0;
  for (const one of higher) for (const other of lower) wins += one > other ? 1 : one === other ? 0.5 : 0;
  return wins / (higher.length * lower.length);
}

/** Returns the report as tables for people. */
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
    alignedTable([`${set}, first score`, 'questions', 'first is right'], ranges),
    alignedTable(
      ['answered or not, by the first score', 'area under the ROC curve'],
      [
        ['the same questions without their right memories', format(withoutRight)],
        ['questions of another store', format(ofAnother)],
      ],
    ),
    alignedTable(['answers with', 'precision', 'recall'], kept),
  ].join('\n\n');
}

function format(figure: number): string {
  return Number.isNaN(figure) ? '–' : figure.toFixed(3);
}
