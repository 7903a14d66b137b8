import type { QuestionSource } from '../latency/question-source.ts';

/** Minimum length of a prompt, in words and columns, of which the service stores the text and gives a context. */
const MIN_WORDS = 3;
const MIN_COLUMNS = 12;

/** Creates a source of questions that are long enough to be stored and to get a context. */
export function createPromptSource(ask: QuestionSource): QuestionSource {
  return () => {
    while (true) {
      const text = ask();
      if (text.split(' ').length >= MIN_WORDS && text.length >= MIN_COLUMNS) return text;
    }
  };
}
