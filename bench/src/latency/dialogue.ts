/** One turn to store. */
interface DialogueTurn {
  /** Text in the form `speaker: text`, as `getContent` returns for a turn of a data set. */
  content: string;
  sessionId: string;
}

/** An endless dialogue. The same index always returns the same turn, in any order of calls. */
export interface Dialogue {
  turn(index: number): DialogueTurn;
}

const TURNS_PER_SESSION = 20;
export const MIN_WORDS = 12;
export const MAX_WORDS = 40;

/** Returns the number of the session that contains a turn. */
export function getSession(index: number): number {
  return Math.floor(index / TURNS_PER_SESSION);
}
