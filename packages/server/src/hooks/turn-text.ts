import type { StoreRequest } from '@memoryd/contract';
import { cutText } from '../cut-text.ts';
import { toPersonText } from './person-text.ts';
import { type Project, toProjectTag } from './project.ts';

/** Maximum UTF-16 units of an answer that is stored. */
const MAX_ANSWER_CHARS = 4000;

/** A prompt or an answer of an agent program, as a hook or a transcript has it. */
export interface TurnText {
  program: string;
  role: 'user' | 'assistant';
  /** The text as it is stored. */
  text: string;
  /** From `createPromptKey` or `createAnswerKey`. */
  key: string;
  /** From `createSessionId`. */
  sessionId: string;
  project: Project | undefined;
}

/** Returns the request that stores a prompt or an answer: the same one for a hook and for an imported transcript. */
export function toTurnRequest({ program, role, text, key, sessionId, project }: TurnText): StoreRequest & {
  external_id: string;
} {
  return {
    content: text,
    tags: [`role:${role}`, ...(project ? [toProjectTag(project)] : [])],
    source: program,
    session_id: sessionId,
    external_id: key,
    metadata: project ? { project: project.id, ...(project.branch !== undefined && { branch: project.branch }) } : {},
  };
}

/** Returns an answer as it is stored: its first characters, without what memoryd or the program put into it. */
export function toAnswerText(answer: string): string {
  return cutText(toPersonText(answer), MAX_ANSWER_CHARS).trim();
}
