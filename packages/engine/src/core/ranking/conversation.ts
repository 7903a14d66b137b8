import { NO_ROW, NO_SESSION, NO_SPEAKER, type Signals } from '../../ports/storage-search.ts';

/**
 * For each row, 1 where it is said in a conversation: in a session, or, of what was given none, by somebody who is named,
 * where most of that in the pool are turns. Elsewhere a name before a colon is a title, such as that of a paper.
 */
export function saidInConversation(signals: Signals): Uint8Array {
  const { sessions, speakers } = signals;
  const isTalk = isMostlyTurns(signals);
  const isSaid = new Uint8Array(sessions.length);
  for (let row = 0; row < isSaid.length; row += 1) {
    if (sessions[row] !== NO_SESSION || (isTalk && speakers[row] !== NO_SPEAKER)) isSaid[row] = 1;
  }
  return isSaid;
}

function isMostlyTurns(signals: Signals): boolean {
  const { pool, sessions, speakers } = signals;
  let named = 0;
  let turns = 0;
  for (let row = 0; row < pool; row += 1) {
    if (sessions[row] !== NO_SESSION || speakers[row] === NO_SPEAKER) continue;
    named += 1;
    if (isTurn(signals, row)) turns += 1;
  }
  return 2 * turns > named;
}

/** Of a turn and those beside it, two are by the same speaker and one by another. */
function isTurn({ previous, next, speakers }: Signals, row: number): boolean {
  const [before, after] = [previous[row] as number, next[row] as number];
  if (before === NO_ROW || after === NO_ROW) return false;
  return new Set([speakers[before], speakers[row], speakers[after]]).size === 2;
}
