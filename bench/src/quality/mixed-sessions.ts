import type { Store } from '../dataset.ts';

/** Returns the session of the nth turn without a session, or null. */
const MIXES = {
  one: (place: number) => (place % 2 === 1 ? 'mixed' : null),
  hundreds: (place: number) => (place % 100 < 30 ? `mixed ${Math.floor(place / 100)}` : null),
};

/** A way to put some turns into sessions: every second turn into one session, or 30 of each 100 into their own. */
export type Mix = keyof typeof MIXES;

/** The names of all ways. */
export const MIX_NAMES = Object.keys(MIXES) as Mix[];

/** Returns a store some of whose turns without a session have a session. */
export function putIntoSessions(store: Store, mix: Mix): Store {
  let place = 0;
  const turns = store.turns.map((turn) => {
    if (turn.session !== null) return turn;
    const session = MIXES[mix](place);
    place += 1;
    return { ...turn, session };
  });
  return { ...store, turns };
}
