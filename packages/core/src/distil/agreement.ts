import { fold, getLabel, isEnglish, queryWords, readTraits, wordSequence } from '@memoryd/search';
import type { DistilSource } from '../ports/distiller.ts';
import { findQuotes } from './sentences.ts';

/** Maximum UTF-16 units of a source that are examined. */
const MAX_CHARS = 4096;
/**
 * Maximum sentences of a source that are compared. Every sentence is compared with every sentence of the other sources,
 * so this limit and `MAX_WORDS` bound the time.
 */
const MAX_SENTENCES = 8;
/** Maximum words of a sentence that are compared. */
const MAX_WORDS = 40;

/** Options for selecting sources, which depend on the embedder and the distiller. */
interface SelectionOptions {
  /**
   * Whether the embedder supports English only. If true, texts in other languages are excluded, since their vectors may
   * be similar without similar meanings.
   */
  onlyEnglish: boolean;
  /**
   * Whether the distiller quotes sources side by side. A language model distinguishes speakers and states
   * contradictions itself.
   */
  quoted: boolean;
}

/**
 * Returns the sources of a group that belong together, in their order. The returned sources are in a language that the
 * embedder supports, and share a subject: the content word that most sources contain. With `quoted`, the returned
 * sources also have the same speaker, or all have none, and do not contradict each other.
 */
export function selectAgreeing<Source extends DistilSource>(
  sources: readonly Source[],
  options: SelectionOptions,
): Source[] {
  const known = sources.filter(({ content }) => !options.onlyEnglish || isEnglish(content.slice(0, MAX_CHARS)));
  if (!options.quoted) return selectLargest(known, getSubjects);
  return withoutContradictions(selectLargest(selectLargest(known, getSpeaker), getSubjects));
}

/** Returns the sources that share the most frequent key; of equally frequent keys, the first. */
function selectLargest<Source>(sources: readonly Source[], getKeys: (source: Source) => Iterable<string>): Source[] {
  const byKey = new Map<string, Source[]>();
  for (const source of sources) {
    for (const key of new Set(getKeys(source))) {
      const holders = byKey.get(key);
      if (holders) holders.push(source);
      else byKey.set(key, [source]);
    }
  }
  let largest: Source[] = [];
  for (const holders of byKey.values()) if (holders.length > largest.length) largest = holders;
  return largest;
}

/**
 * Returns the terms of the content words of a text, or of all its words if it has no content words, without the speaker
 * label at its beginning.
 */
function getSubjects({ content }: DistilSource): string[] {
  return queryWords(withoutLabel(content)).flat();
}

function getSpeaker({ content, tags }: DistilSource): string[] {
  return [fold(readTraits(content, tags).speakerName)];
}

function withoutLabel(content: string): string {
  const text = content.slice(0, MAX_CHARS);
  return text.slice(getLabel(text).length);
}

function withoutContradictions<Source extends DistilSource>(sources: readonly Source[]): Source[] {
  const statements = sources.map(({ content }) => getStatements(content));
  return sources.filter((_, i) => {
    return !statements.some((others, j) => i !== j && contradict(statements[i] as Statement[], others));
  });
}

/** The compared parts of a sentence. */
interface Statement {
  /** The stemmed words of the sentence in order, with function words and without negations. */
  words: string[];
  isNegated: boolean;
}

function getStatements(content: string): Statement[] {
  const sentences = findQuotes(withoutLabel(content)).slice(0, MAX_SENTENCES);
  return sentences.map(({ text }) => {
    const words = wordSequence(text).slice(0, MAX_WORDS);
    const affirmed = words.filter(({ written }) => !isNegation(written));
    return { words: affirmed.map(({ stem }) => stem), isNegated: affirmed.length < words.length };
  });
}

function contradict(some: readonly Statement[], others: readonly Statement[]): boolean {
  return some.some((one) => others.some((other) => areOpposite(one, other)));
}

/**
 * Two sentences are about the same thing if they share at least this fraction of the longer sentence's words, in the
 * same order. If both or neither are negated, each sentence must also have at most `MAX_DIFFERENT` words that the other
 * sentence lacks. Sentences on one subject that differ by more are statements about different things ("Mara planted the
 * tomatoes", "Mara picked the first ripe tomatoes").
 */
const MIN_COMMON = 0.6;
/** See `MIN_COMMON`. */
const MAX_DIFFERENT = 2;

/**
 * Returns true if two sentences about the same thing (see `MIN_COMMON`) contradict each other: one is negated and the
 * other is not, or each sentence has one or two words that the other sentence lacks. A sentence that only adds words,
 * and no negation, agrees with the other sentence.
 */
function areOpposite(one: Statement, other: Statement): boolean {
  const common = countCommon(one.words, other.words);
  const [shorter = 0, longer = 0] = [one.words.length, other.words.length].sort((a, b) => a - b);
  if (longer === 0 || common < MIN_COMMON * longer) return false;
  return one.isNegated !== other.isNegated || (common < shorter && longer - common <= MAX_DIFFERENT);
}

/** Returns the length of the longest common subsequence of two lists of words. */
function countCommon(one: readonly string[], other: readonly string[]): number {
  let row = new Uint16Array(other.length + 1);
  for (const word of one) {
    const next = new Uint16Array(other.length + 1);
    for (const [i, otherWord] of other.entries()) {
      next[i + 1] = word === otherWord ? (row[i] as number) + 1 : Math.max(row[i + 1] as number, next[i] as number);
    }
    row = next;
  }
  return row[other.length] as number;
}

/**
 * Words that negate a sentence, in the languages with known function words. A word of the list may have another meaning
 * in another language. A sentence with such a word is wrongly treated as negated, and its source may be left out.
 */
const NEGATIONS = new Set(
  `not no never none nobody nothing neither nor cannot without dont doesnt didnt isnt arent wasnt werent wont wouldnt
  cant couldnt shouldnt hasnt havent hadnt aint nicht kein keine keinen keinem keiner nie niemals nichts ohne pas jamais
  aucun aucune rien sans nunca jamas nada sin non mai niente senza nao nem sem niet geen nooit niets zonder inte aldrig
  ingen inget ikke aldri ei emme ette eivat nem nincs soha nelkul nu niciodata nimic fara degil yok hayir asla
  tidak bukan tak jangan ni nil nach gan ne nera niekada не нет никогда ничего без δεν οχι μη ποτε χωρις لا لم لن ليس
  ليست بدون नही नहीं मत बिना இல்லை`
    .split(/\s+/)
    .map(fold),
);

const CONTRACTED = /n['’]t$/iu;

/** Returns true if a text contains a negation. */
export function hasNegation(text: string): boolean {
  return wordSequence(text).some(({ written }) => isNegation(written));
}

function isNegation(written: string): boolean {
  return CONTRACTED.test(written) || NEGATIONS.has(fold(written));
}
