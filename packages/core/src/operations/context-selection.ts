import { type ContextReason, estimateTokens, type TimeZone } from '@memoryd/contract';
import type { RecalledMemory } from '@memoryd/search';
import { formatContext, formatContextEntry } from './context-text.ts';

/** Why a memory is in a context; in the order of the text. */
const REASONS: readonly ContextReason[] = ['standing', 'relevant', 'recent'];

/** A memory in a context. `score` is absent for a memory that no recall has found. */
export interface Taken {
  memory: RecalledMemory;
  why: ContextReason;
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
  /** Maximum UTF-16 units of the text. */
  maxChars: number;
  /** Maximum bytes of the contents of all memories together, for the response. */
  maxBytes: number;
  zone: TimeZone;
  /** Texts that the prompt already contains. */
  knownTexts: readonly string[];
  /** Creates a function that returns the part of a long text that is shown. Called for the first long text. */
  createExcerpts(): (content: string) => string;
}

/** Tokens of the shortest memory in a text. */
export const MIN_MEMORY_TOKENS = 12;

/** Share of the budget above which a text is long, so that only an excerpt of it is shown. */
const MAX_TEXT_SHARE = 1 / 3;

/** UTF-16 units per token above which a text is long without an estimate; prose of all languages has fewer. */
const MAX_UNITS_PER_TOKEN = 8;

/**
 * Maximum work of a selection, in characters that are compared: about .1 s on a slow machine, in which the process serves
 * no other request. Memories after that do not fit.
 */
const MAX_WORK = 100_000_000;
/** The work of a character whose tokens are estimated, and of one that is normalized for a comparison. */
const WORK = { estimated: 500, normalized: 50 };

/** Takes memories for a context while its text fits into the budget, each text once. */
export class ContextSelection {
  readonly #options: SelectionOptions;
  readonly #items: Item[] = [];
  readonly #ids = new Set<string>();
  readonly #omitted = new Set<string>();
  /** The texts of the prompt, and these with the taken texts. */
  readonly #inPrompt: KnownTexts;
  readonly #known: KnownTexts;
  readonly #frameTokens: number;
  #tokens: number;
  #chars: number;
  #bytes = 0;
  #work = 0;
  /** Tokens of the shortest memory that was not known. */
  #shortest = Number.POSITIVE_INFINITY;
  #getExcerpt: ((content: string) => string) | undefined;

  constructor(options: SelectionOptions, inPrompt: KnownTexts = KnownTexts.of(options.knownTexts)) {
    this.#options = options;
    this.#inPrompt = inPrompt;
    this.#known = new KnownTexts(inPrompt);
    // The lines around the entries.
    const frame = formatContext([''], options.zone);
    this.#frameTokens = estimateTokens(frame);
    this.#tokens = this.#frameTokens;
    this.#chars = frame.length;
  }

  /** Returns a selection with the same options that has taken nothing. */
  restart(): ContextSelection {
    return new ContextSelection(this.#options, this.#inPrompt);
  }

  /** Returns whether the shortest memory so far would fit again. */
  hasRoom(): boolean {
    const shortest = Number.isFinite(this.#shortest) ? this.#shortest : MIN_MEMORY_TOKENS;
    return this.#tokens + shortest <= this.#options.budget && this.#work <= MAX_WORK;
  }

  /**
   * Takes memories, without those that the reader already has, if all of them fit and the last is new. Returns whether
   * it took them.
   *
   * @param maxEntryTokens maximum tokens of all entries afterwards, without the lines around them
   */
  take(taken: readonly Taken[], maxEntryTokens = this.#options.budget): boolean {
    const last = taken.at(-1);
    if (!last || this.#ids.has(last.memory.id)) return false;
    const { budget, maxChars, maxBytes } = this.#options;
    const maxTokens = Math.min(budget, this.#frameTokens + maxEntryTokens);
    // Most memories come when the text is full.
    const isFull = this.#tokens + MIN_MEMORY_TOKENS > maxTokens || this.#work > MAX_WORK;
    if (!isFull && this.#isKnown(last)) return false;
    const fresh = isFull ? [] : taken.filter((each) => each === last || !this.#isKnown(each));
    const items = fresh.map((each) => this.#toItem(each));
    const tokens = this.#tokens + items.reduce((sum, item) => sum + item.tokens, 0);
    this.#shortest = Math.min(this.#shortest, ...items.map((item) => item.tokens));
    const bytes = this.#bytes + items.reduce((sum, { memory }) => sum + Buffer.byteLength(memory.content), 0);
    const chars = this.#chars + items.reduce((sum, { entry }) => sum + entry.length + 1, 0);
    if (isFull || tokens > maxTokens || chars > maxChars || bytes > maxBytes) {
      this.#omitted.add(last.memory.id);
      return false;
    }
    this.#tokens = tokens;
    this.#chars = chars;
    this.#bytes = bytes;
    for (const item of items) {
      this.#items.push(item);
      this.#ids.add(item.memory.id);
      // The rest of a long text is not shown.
      this.#known.add(item.highlight ?? item.memory.content);
    }
    return true;
  }

  /** Returns whether the text, or the prompt, already has a memory. */
  #isKnown({ memory }: Taken): boolean {
    this.#work += memory.content.length * WORK.normalized + this.#known.chars;
    return this.#ids.has(memory.id) || this.#known.has(memory);
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
    const { budget, zone, createExcerpts } = this.#options;
    const toEntry = (text: string) => formatContextEntry(memory, text, why === 'standing', zone);
    const maxTextTokens = budget * MAX_TEXT_SHARE;
    if (memory.content.length <= maxTextTokens * MAX_UNITS_PER_TOKEN) {
      const entry = toEntry(memory.content);
      const tokens = this.#estimate(entry);
      if (tokens <= maxTextTokens) return { ...taken, entry, tokens };
    }
    this.#getExcerpt ??= createExcerpts();
    const highlight = this.#getExcerpt(memory.content);
    const entry = toEntry(highlight);
    const isCut = highlight.length < memory.content.length;
    return { ...taken, ...(isCut && { highlight }), entry, tokens: this.#estimate(entry) };
  }

  /** Returns the tokens of an entry and of its line terminator. */
  #estimate(entry: string): number {
    this.#work += entry.length * WORK.estimated;
    return estimateTokens(entry) + 1;
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
/** Maximum quotes of a semantic memory that are compared. A memory with more is new. */
const MAX_QUOTES = 100;

/** Texts that a reader already has. Case, punctuation, blanks and variants of characters do not matter. */
class KnownTexts {
  readonly #texts: string[];
  /** Characters of all texts. */
  chars: number;

  /** Copies known texts. */
  constructor(of?: KnownTexts) {
    this.#texts = [...(of ? of.#texts : [])];
    this.chars = of?.chars ?? 0;
  }

  static of(texts: readonly string[]): KnownTexts {
    const known = new KnownTexts();
    let chars = 0;
    for (const text of texts.toReversed()) {
      chars += Math.min(text.length, MAX_COMPARED_CHARS);
      if (chars > MAX_KNOWN_CHARS) break;
      known.add(text);
    }
    return known;
  }

  add(text: string): void {
    const words = toWords(text);
    this.#texts.push(words);
    this.chars += words.length;
  }

  /**
   * Returns true if the text of a memory is part of a known text. A semantic memory consists of quotes, each of which may
   * be part of another text.
   */
  has({ content, tier }: RecalledMemory): boolean {
    const texts = tier === 'semantic' ? content.split('\n', MAX_QUOTES + 1) : [content];
    if (texts.length > MAX_QUOTES) return false;
    const parts = texts.map(toWords).filter((words) => words !== ' ');
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
