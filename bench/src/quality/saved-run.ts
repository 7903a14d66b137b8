import { readFileSync, writeFileSync } from 'node:fs';
import { METRICS, type Scores } from './metrics.ts';

/** Scores of one question: one JSON line of a saved run. Contains no text of the data. */
export interface QuestionScores extends Scores {
  set: string;
  store: string;
  id: string;
  category: string;
}

/** Returns the unique key of a question. Set names are unique. */
export function getQuestionKey(question: QuestionScores): string {
  return JSON.stringify([question.set, question.store, question.id]);
}

export function saveRun(path: string, questions: readonly QuestionScores[]): void {
  writeFileSync(path, questions.map((question) => `${JSON.stringify(question)}\n`).join(''));
}

/** @throws if a line is not the JSON of a `QuestionScores` */
export function readSavedRun(path: string): QuestionScores[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.flatMap((line, index) => (line === '' ? [] : [parseLine(line, `${path}:${index + 1}`)]));
}

/** Returns an empty object if the text is not a JSON object. */
function parseObject(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

function parseLine(line: string, place: string): QuestionScores {
  const fields = parseObject(line);
  const isNamed = ['set', 'store', 'id', 'category'].every((field) => typeof fields[field] === 'string');
  const isScored = METRICS.every((metric) => Number.isFinite(fields[metric]));
  if (!isNamed || !isScored)
    throw new Error(`${place} must be a line that --save of this version wrote; create the file again with --save`);
  return fields as unknown as QuestionScores;
}
