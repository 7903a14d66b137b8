/** Something that may go into a context. */
export interface Candidate {
  id: string;
  content: string;
  /** Null where it was distilled from others. */
  session_id?: string | null;
}

/** What a context has room for. */
export interface Room<Item> {
  /** Most tokens of all that is chosen. */
  tokens: number;
  /** Tokens of one item, with what stands around it. */
  getCost(item: Item): number;
  /** So many of the newest turns go before anything recalled. */
  recentTurns: number;
  /** Texts that the reader has anyway. */
  said?: readonly string[];
}

/** What was chosen. */
export interface Selection<Turn, Recalled> {
  /** The newest turns without one left out between them, oldest first. */
  turns: Turn[];
  /** Best first; none is among the turns, and none says what another or a turn says, or quotes others alone. */
  recalled: Recalled[];
  tokens: number;
}

/**
 * Chooses what goes into a context: the newest turns first, then what was recalled, best first, then earlier turns. A
 * turn that does not fit ends the turns, so that a conversation has no holes; a recalled memory that does not fit makes
 * room for the next, and so does what the reader has anyway: texts that are equal after Unicode NFC and trimming, and
 * distilled ones of which every line is quoted from what was chosen.
 *
 * @param turns oldest first
 * @param recalled best first
 */
export function select<Turn extends Candidate, Recalled extends Candidate>(
  turns: readonly Turn[],
  recalled: readonly Recalled[],
  { tokens: most, getCost, recentTurns, said: known = [] }: Room<Turn | Recalled>,
): Selection<Turn, Recalled> {
  const chosen = new Map<string, { memory: Recalled; cost: number }>();
  const said = new Set(known.map(canonical));
  let tokens = 0;
  let first = turns.length;

  const takeTurns = (count: number) => {
    for (let turn = turns[first - 1]; turn && turns.length - first < count; turn = turns[first - 1]) {
      const text = canonical(turn.content);
      // The turn stands for what was recalled with its text, which it may be itself.
      const spared = chosen.get(text)?.cost ?? 0;
      const cost = getCost(turn) - spared;
      if (tokens + cost > most) return;
      chosen.delete(text);
      said.add(text);
      tokens += cost;
      first--;
    }
  };

  takeTurns(recentTurns);
  for (const memory of recalled) {
    const text = canonical(memory.content);
    const cost = getCost(memory);
    if (said.has(text) || chosen.has(text) || tokens + cost > most) continue;
    if (memory.session_id === null && quotes(text, [...said, ...chosen.keys()])) continue;
    chosen.set(text, { memory, cost });
    tokens += cost;
  }
  takeTurns(turns.length);
  return { turns: turns.slice(first), recalled: [...chosen.values()].map(({ memory }) => memory), tokens };
}

function quotes(text: string, texts: readonly string[]): boolean {
  return text.split('\n').every((line) => texts.some((other) => other.includes(line.trim())));
}

function canonical(text: string): string {
  return text.normalize('NFC').trim();
}
