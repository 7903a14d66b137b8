import { readFileSync, writeFileSync } from 'node:fs';
import { METRICS, type Scores } from './metrics.ts';

/** The scores of one question, as a saved run keeps them: one JSON object a line. Holds no text of the data. */
export interface QuestionScores extends Scores {
  set: string;
  store: string;
  id: string;
  category: string;
}

/** What tells a question from all others; a set may be spread over folders but is named once. */
export function getKey(question: QuestionScores): string {
  return JSON.stringify([question.set, question.store, question.id]);
}

export function saveRun(path: string, questions: readonly QuestionScores[]): void {
  writeFileSync(path, questions.map((question) => `${JSON.stringify(question)}\n`).join(''));
}

/** @throws when a line is not one that `saveRun` wrote */
export function readSavedRun(path: string): QuestionScores[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.flatMap((line, index) => (line === '' ? [] : [parseLine(line, `${path}:${index + 1}`)]));
}

function parseLine(line: string, place: string): QuestionScores {
  const fields = JSON.parse(line) as Record<string, unknown>;
  const isNamed = ['set', 'store', 'id', 'category'].every((field) => typeof fields[field] === 'string');
  const isScored = METRICS.every((metric) => Number.isFinite(fields[metric]));
  if (!isNamed || !isScored) throw new Error(`${place} is not a line of a saved run`);
  return fields as unknown as QuestionScores;
}
