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
