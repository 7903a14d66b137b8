import type { DistilSource } from '../../ports/distiller.ts';
import { isEnglish, queryWords, wordSequence } from '../text/analyze.ts';
import { fold } from '../text/fold.ts';
import { getLabel, readTraits } from '../text/traits.ts';
import { findQuotes } from './sentences.ts';

/** A group is read and compared with itself, so no more of each source is looked at. */
const MAX_CHARS = 4096;
const MAX_SENTENCES = 8;
const MAX_WORDS = 40;

/** How a group is to be distilled. */
interface Use {
  /** Whether the embedder knows English only, so that near vectors of other texts say nothing. */
  onlyEnglish: boolean;
  /** Whether the sources are quoted side by side. A language model tells speakers apart and states contradictions. */
  quoted: boolean;
}

/**
 * Returns the sources of a group that belong together, in their order: they are in a language that the embedder knows
 * and share a subject, which is the word that most of them have. If they are quoted, they are all by one speaker too,
 * and no two of them contradict each other.
 */
export function selectAgreeing<Source extends DistilSource>(sources: readonly Source[], use: Use): Source[] {
  const known = sources.filter(({ content }) => !use.onlyEnglish || isEnglish(content.slice(0, MAX_CHARS)));
  if (!use.quoted) return selectLargest(known, getSubjects);
  return withoutContradictions(selectLargest(selectLargest(known, getSpeaker), getSubjects));
}

/** Returns the sources that have the key which most of them have; of several such keys, the first. */
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

/** Returns every form of the words that count in a text, without the name of its speaker. */
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

/** What a sentence says, as far as it is compared. */
interface Statement {
  /** Its words in order, stemmed, function words included and negations left out. */
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
 * Part of the longer of two sentences that both must have in common, in the same order, and most words that each may have
 * beside it, to be about the same thing. Sentences about one subject that differ by more say different things of it
 * ("Mara planted the tomatoes", "Mara picked the first ripe tomatoes").
 */
const MIN_COMMON = 0.6;
const MAX_DIFFERENT = 2;

/**
 * Whether two sentences say the same but for a negation, or but for a value: each has a word or two that the other lacks.
 * A sentence that only says more than the other one agrees with it.
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
 * Words that negate a sentence, in the languages whose function words are known. Some mean another thing in another of
 * these languages: two sentences of which one has such a word are then taken for opposites, and are not distilled.
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

function isNegation(written: string): boolean {
  return CONTRACTED.test(written) || NEGATIONS.has(fold(written));
}
