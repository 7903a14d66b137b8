/** One turn as it is stored. */
interface DialogueTurn {
  /** `speaker: text`, as in `getContent` of a data set. */
  content: string;
  sessionId: string;
}

/** An endless dialogue: any turn can be asked for in any order, and is always the same. */
export interface Dialogue {
  turn(index: number): DialogueTurn;
}

const TURNS_PER_SESSION = 20;
export const MIN_WORDS = 12;
export const MAX_WORDS = 40;

/** Which session a turn is in. */
export function getSession(index: number): number {
  return Math.floor(index / TURNS_PER_SESSION);
}
