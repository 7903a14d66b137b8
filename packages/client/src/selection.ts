/** An item that may be selected for a context. */
export interface Candidate {
  /** Absent for a turn that waits to be stored. */
  id?: string;
  content: string;
  /** Null for a distilled memory, which belongs to no session. */
  session_id?: string | null;
}

/** Token budget and priorities of a selection. */
export interface Budget<Item> {
  /** Maximum tokens of all selected items together. */
  tokens: number;
  /** Returns the tokens of one item, including its overhead in the prompt. */
  getCost(item: Item): number;
  /** Number of newest turns that take precedence over recalled memories. */
  recentTurns: number;
  /** Texts that the prompt already contains. */
  knownTexts?: readonly string[];
}

/** Items that `select` has chosen within the token budget. */
export interface Selection<Turn, Recalled> {
  /** The newest turns without gaps, oldest first. */
  turns: Turn[];
  /**
   * Best first. Without memories whose text equals that of a turn or of another memory, and without distilled memories
   * that only quote other items.
   */
  recalled: Recalled[];
  tokens: number;
}

/**
 * Selects the items of a context: first the newest turns, then recalled memories, best first, then earlier turns. Turns
 * are added from the newest to the oldest, up to the first turn that exceeds the budget, so that the conversation has
 * no gaps. A recalled memory is skipped if it exceeds the budget, if its text is already present (equal after Unicode
 * NFC and trimming), or if it is a distilled memory and every line is part of a selected or known text.
 *
 * @param turns oldest first
 * @param recalled best first
 */
export function select<Turn extends Candidate, Recalled extends Candidate>(
  turns: readonly Turn[],
  recalled: readonly Recalled[],
  { tokens: maxTokens, getCost, recentTurns, knownTexts = [] }: Budget<Turn | Recalled>,
): Selection<Turn, Recalled> {
  const selected = new Map<string, { memory: Recalled; cost: number }>();
  const known = new Set(knownTexts.map(canonicalize));
  let tokens = 0;
  let first = turns.length;

  const selectTurns = (count: number) => {
    for (let turn = turns[first - 1]; turn && turns.length - first < count; turn = turns[first - 1]) {
      const text = canonicalize(turn.content);
      // The turn replaces a recalled memory with the same text, which may be the turn itself.
      const replacedCost = selected.get(text)?.cost ?? 0;
      const cost = getCost(turn) - replacedCost;
      if (tokens + cost > maxTokens) return;
      selected.delete(text);
      known.add(text);
      tokens += cost;
      first--;
    }
  };

  selectTurns(recentTurns);
  for (const memory of recalled) {
    const text = canonicalize(memory.content);
    const cost = getCost(memory);
    if (known.has(text) || selected.has(text) || tokens + cost > maxTokens) continue;
    if (memory.session_id === null && onlyQuotes(text, [...known, ...selected.keys()])) continue;
    selected.set(text, { memory, cost });
    tokens += cost;
  }
  selectTurns(turns.length);
  return { turns: turns.slice(first), recalled: [...selected.values()].map(({ memory }) => memory), tokens };
}

function onlyQuotes(text: string, texts: readonly string[]): boolean {
  return text.split('\n').every((line) => texts.some((other) => other.includes(line.trim())));
}

function canonicalize(text: string): string {
  return text.normalize('NFC').trim();
}
