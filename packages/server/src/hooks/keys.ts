import { hash } from 'node:crypto';
import { LIMITS } from '@memoryd/contract';

const MINUTE_MS = 60_000;

/** A prompt as a program reports it. */
export interface PromptReport {
  /** The program's id of its session. */
  session: string;
  promptId?: string | undefined;
  text: string;
  /** When the prompt was sent, in ms since 1970. */
  at: number;
}

/** Returns the number of the minute of a time, counted from 1970. */
export function getMinute(at: number): number {
  return Math.floor(at / MINUTE_MS);
}

/**
 * Returns the external id of a prompt: a digest of the session, the text, and the program's id of the prompt or the
 * minute. The name of the program is not part of it, since two programs may report the same prompt. The text is, since
 * the prompts of one turn may have the same id.
 */
export function createPromptKey({ session, promptId, text, at }: PromptReport): string {
  return digest('prompt', session, text, promptId ?? getMinute(at));
}

/** Maximum time between the report of a prompt by a hook and its time in a transcript, in ms. Usually it is 0.1 s. */
const MAX_CLOCK_GAP_MS = 15_000;

/**
 * Returns the external ids that a hook may have stored for a prompt of a transcript besides `createPromptKey`: those of
 * other minutes, if the program has no id of the prompt. At most one.
 */
export function createNeighborKeys(prompt: PromptReport): string[] {
  if (prompt.promptId !== undefined) return [];
  return [-MAX_CLOCK_GAP_MS, MAX_CLOCK_GAP_MS]
    .map((gap) => prompt.at + gap)
    .filter((at) => getMinute(at) !== getMinute(prompt.at))
    .map((at) => createPromptKey({ ...prompt, at }));
}

/** Returns the external id of the answer to a prompt. */
export function createAnswerKey(promptKey: string): string {
  return digest('answer', promptKey);
}

/** Returns the session of the memories of a program's session: a readable id, unless that would be too long. */
export function createSessionId(program: string, session: string): string {
  const id = `${program}:${session.replaceAll('\0', '').toWellFormed()}`;
  return id.length <= LIMITS.sessionIdChars ? id : `${program}:${digest('session', session)}`;
}

/** Returns a digest of values as 43 characters. */
export function digest(...parts: (string | number)[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url');
}
