import { estimateTokens, type TimeZone } from '@memoryd/contract';
import type { RecalledMemory } from '@memoryd/search';
import { formatContext, formatContextEntry } from './context-text.ts';

/** Why a memory is in a context; in the order of the text. */
const REASONS = ['standing', 'relevant', 'recent'] as const;
type Reason = (typeof REASONS)[number];

/** A memory in a context. `score` is absent for a memory that no recall has found. */
export interface Taken {
  memory: RecalledMemory;
  why: Reason;
  score?: number | undefined;
  /** The part of a long text that is shown. */
  highlight?: string;
}

interface Item extends Taken {
  entry: string;
  tokens: number;
}

export interface SelectionOptions {
  /** Maximum tokens of the text. */
  budget: number;
  zone: TimeZone;
  /** Texts that the prompt already contains. */
  knownTexts: readonly string[];
  /** Returns the part of a long text that is shown. */
  getExcerpt(content: string): string;
}

/** Tokens of the shortest memory in a text. */
export const MIN_MEMORY_TOKENS = 12;

/** Share of the budget above which a text is long, so that only an excerpt of it is shown. */
const MAX_TEXT_SHARE = 1 / 3;

/** Takes memories for a context while its text fits into the budget, each text once. */
export class ContextSelection {
  readonly #options: SelectionOptions;
  readonly #items: Item[] = [];
  readonly #ids = new Set<string>();
  readonly #omitted = new Set<string>();
  readonly #known: KnownTexts;
  #tokens: number;

  constructor(options: SelectionOptions) {
    this.#options = options;
    this.#known = new KnownTexts(options.knownTexts);
    // The lines around the entries.
    this.#tokens = estimateTokens(formatContext([''], options.zone));
  }

  /**
   * Takes memories, if all of them fit and the last says something new. Returns whether it took them.
   *
   * @param maxTokens maximum tokens of the text afterwards
   */
  take(taken: readonly Taken[], maxTokens = this.#options.budget): boolean {
    const last = taken.at(-1);
    if (!last || this.#ids.has(last.memory.id) || this.#known.has(last.memory)) return false;
    // Most memories come when the text is full, and an estimate takes a tenth of a millisecond.
    const isFull = this.#tokens + MIN_MEMORY_TOKENS > maxTokens;
    const fresh = isFull ? [] : taken.filter(({ memory }) => !this.#ids.has(memory.id));
    const items = fresh.map((each) => this.#toItem(each));
    const tokens = this.#tokens + items.reduce((sum, item) => sum + item.tokens, 0);
    if (isFull || tokens > maxTokens) {
      this.#omitted.add(last.memory.id);
      return false;
    }
    this.#tokens = tokens;
    for (const item of items) {
      this.#items.push(item);
      this.#ids.add(item.memory.id);
      this.#known.add(item.memory.content);
    }
    return true;
  }

  /** Returns the text of the context, the memories in its order, and the number of memories that did not fit. */
  finish(): { text: string; tokens: number; taken: Taken[]; omitted: number } {
    const items = this.#items.toSorted(compareItems);
    const text = formatContext(
      items.map(({ entry }) => entry),
      this.#options.zone,
    );
    const omitted = [...this.#omitted].filter((id) => !this.#ids.has(id)).length;
    return { text, tokens: estimateTokens(text), taken: items, omitted };
  }

  #toItem(taken: Taken): Item {
    const { memory, why } = taken;
    const { budget, zone, getExcerpt } = this.#options;
    const toEntry = (text: string) => formatContextEntry(memory, text, why === 'standing', zone);
    const whole = toEntry(memory.content);
    // One token for the line terminator.
    const tokens = estimateTokens(whole) + 1;
    if (tokens <= budget * MAX_TEXT_SHARE) return { ...taken, entry: whole, tokens };
    const highlight = getExcerpt(memory.content);
    const entry = toEntry(highlight);
    const isCut = highlight.length < memory.content.length;
    return { ...taken, ...(isCut && { highlight }), entry, tokens: estimateTokens(entry) + 1 };
  }
}

function compareItems(one: Item, other: Item): number {
  return (
    REASONS.indexOf(one.why) - REASONS.indexOf(other.why) ||
    one.memory.createdAt - other.memory.createdAt ||
    one.memory.ordinal - other.memory.ordinal
  );
}

/** Maximum UTF-16 units of known texts that are compared, the last texts first, and of one text. */
const MAX_KNOWN_CHARS = 200_000;
const MAX_COMPARED_CHARS = 20_000;

/** Texts that a reader already has. Case, punctuation, blanks and variants of characters do not matter. */
class KnownTexts {
  readonly #texts: string[] = [];

  constructor(texts: readonly string[]) {
    let chars = 0;
    for (const text of texts.toReversed()) {
      chars += Math.min(text.length, MAX_COMPARED_CHARS);
      if (chars > MAX_KNOWN_CHARS) return;
      this.add(text);
    }
  }

  add(text: string): void {
    this.#texts.push(toWords(text));
  }

  /**
   * Returns true if the text of a memory is part of a known text. A semantic memory consists of quotes, each of which may
   * be part of another text.
   */
  has({ content, tier }: RecalledMemory): boolean {
    const parts = (tier === 'semantic' ? content.split('\n') : [content]).map(toWords).filter((words) => words !== ' ');
    // A text of signs alone, such as an emoji, has no words.
    if (parts.length === 0) return false;
    return parts.every((part) => this.#texts.some((known) => known.includes(part)));
  }
}

/** Returns the words of a text in lower case, with a blank before and after each. */
function toWords(text: string): string {
  const plain = text.slice(0, MAX_COMPARED_CHARS).normalize('NFKC').toLowerCase();
  return ` ${plain.replace(/[\p{P}\p{Z}\p{C}]+/gu, ' ').trim()} `.replace('  ', ' ');
}
