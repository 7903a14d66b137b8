import { isTyped } from './input.ts';

/** The person ended the input, or pressed Ctrl+C, instead of answering. */
class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** Returns whether a person can answer questions: standard input and output are a terminal. */
export function canAsk(): boolean {
  return isTyped() && process.stdout.isTTY === true;
}

/** Asks a question on the terminal, and returns the answer without white space at its ends. */
export async function ask(question: string): Promise<string> {
  const { createInterface } = await import('node:readline/promises');
  const reader = createInterface({ input: process.stdin, output: process.stdout });
  const end = new AbortController();
  reader.once('close', () => end.abort());
  try {
    return (await reader.question(question, { signal: end.signal })).trim();
  } catch (cause) {
    throw new Interrupted('interrupted', { cause });
  } finally {
    reader.close();
  }
}

/** Asks a question that Enter confirms. */
export async function confirm(question: string): Promise<boolean> {
  return /^(y|yes|)$/i.test(await ask(`${question} [Y/n] `));
}
