import { fold, getSentences, queryWords } from '@memoryd/search';
import type { ComparedMemory, CorrectionReason } from '../ports/storage-corrections.ts';
import { hasNegation } from './agreement.ts';
import { ANECDOTE, CHANGE, END, EVENT } from './change-words.ts';

/** A memory near a candidate. `cosine`: that of their nearest parts, from -1 to 1. */
interface Near {
  ordinal: number;
  cosine: number;
  /** Number of rare words of the owner that both memories contain. */
  sharedRareWords: number;
}

/** A new or changed memory, with its nearest memories. */
export interface CorrectionCandidate {
  ordinal: number;
  /** Nearest first. */
  neighbors: readonly Near[];
}

/** A pair of which the later memory seems to correct the earlier one. */
export interface FoundCorrection {
  earlier: ComparedMemory;
  later: ComparedMemory;
  reason: CorrectionReason;
}

/** Number of the nearest earlier memories of a new memory that it may correct. */
const MAX_RANK = 2;

/** Minimum cosine of a pair. Statements about one subject in other words have cosines from about .4. */
const MIN_COSINE = 0.4;

/** Minimum cosine of texts that say nearly the same. */
const MIN_CLOSE_COSINE = 0.65;

/** Minimum words for the subject that both texts have; one suffices for close texts. */
const MIN_SHARED = 2;

/**
 * Finds the corrections between candidates and their neighbors. A pair is a correction if the texts are among the
 * nearest of their owner, share a rare word and at least two words that name their subject, and if the later text names
 * a change, or has another value of the same kind.
 */
export function findCorrections(
  candidates: readonly CorrectionCandidate[],
  compared: readonly ComparedMemory[],
): FoundCorrection[] {
  const memories = new Map(compared.map((memory) => [memory.ordinal, memory]));
  const statements = new Map<ComparedMemory, Statement>();
  const getStatement = (memory: ComparedMemory) => {
    const statement = statements.get(memory) ?? readStatement(memory);
    statements.set(memory, statement);
    return statement;
  };
  const found = new Map<string, FoundCorrection>();
  for (const candidate of candidates) {
    for (const { earlier, later, cosine, rank } of getPairs(candidate, memories)) {
      const reason = getReason({ earlier: getStatement(earlier), later: getStatement(later), cosine, rank });
      if (reason) found.set(`${earlier.ordinal} ${later.ordinal}`, { earlier, later, reason });
    }
  }
  return [...found.values()];
}

/** Two memories to compare. */
interface Pair<Side> {
  earlier: Side;
  later: Side;
  cosine: number;
  /** 0 for the nearest earlier memory of the later one; 1 for the second nearest, or if this is unknown. */
  rank: number;
}

/** Returns the pairs of a candidate that are near enough. Most pairs are not, and their texts need not be read. */
function getPairs(
  { ordinal, neighbors }: CorrectionCandidate,
  memories: ReadonlyMap<number, ComparedMemory>,
): Pair<ComparedMemory>[] {
  const candidate = memories.get(ordinal);
  if (!candidate) return [];
  const ranks = { earlier: 0, later: 0 };
  return neighbors.flatMap(({ ordinal: near, cosine, sharedRareWords }) => {
    const other = memories.get(near);
    if (!other) return [];
    const isEarlier = isBefore(other, candidate);
    const rank = isEarlier ? ranks.earlier++ : ranks.later++;
    if (cosine < MIN_COSINE || sharedRareWords === 0 || rank >= (isEarlier ? MAX_RANK : 1)) return [];
    return isEarlier
      ? { earlier: other, later: candidate, cosine, rank }
      : { earlier: candidate, later: other, cosine, rank: 1 };
  });
}

function isBefore(one: ComparedMemory, other: ComparedMemory): boolean {
  return one.beginsAt < other.beginsAt || (one.beginsAt === other.beginsAt && one.ordinal < other.ordinal);
}

/** The parts of a memory that are compared. */
interface Statement {
  text: string;
  /** The content words, each with its alternative terms, without numbers, dates and units. */
  subject: string[][];
  /** Words that begin with a capital letter within a sentence, folded, without dates. */
  names: Set<string>;
  /** Numbers by unit: the word or sign beside a number. */
  amounts: Map<string, Set<string>>;
  /** From 0 for Sunday. */
  weekdays: Set<number>;
  /** Whether the text has a day of a month. */
  hasDate: boolean;
  /** All words, folded. */
  words: Set<string>;
}

function readStatement({ content }: ComparedMemory): Statement {
  const amounts = readAmounts(content);
  const words = readWords(content);
  return {
    text: content,
    subject: readSubject(content, amounts.keys()),
    amounts,
    names: readNames(content),
    weekdays: new Set(words.flatMap((word) => WEEKDAYS.get(word) ?? [])),
    words: new Set(words),
    hasDate: words.some((word) => MONTHS.has(word)) && /\d/.test(content),
  };
}

/** Returns the content words of a text without numbers, dates and units, each with its alternative terms. */
function readSubject(text: string, units: Iterable<string> = []): string[][] {
  const left = new Set([...units].flatMap((unit) => queryWords(unit).flat()));
  return queryWords(text).filter(
    (forms) =>
      forms.some((form) => /.\p{L}|\p{L}./u.test(form)) && !forms.some((form) => left.has(form) || isDateWord(form)),
  );
}

/** Returns the reason why the later memory seems to correct the earlier one, if it does. */
function getReason({ earlier, later, cosine, rank }: Pair<Statement>): CorrectionReason | undefined {
  const isClose = cosine >= MIN_CLOSE_COSINE;
  const shared = countShared(earlier.subject, later.subject) + Number(isClose);
  if (shared < MIN_SHARED || !areStatements(earlier.text, later.text)) return undefined;
  // A memory that is not the nearest one is often about another subject of the same kind.
  const isNearest = shared >= MIN_SHARED + rank;
  if (CHANGE.test(later.text)) return isNearest && changesSubject(earlier, later) ? 'change' : undefined;
  if (EVENT.test(earlier.text) || EVENT.test(later.text)) return undefined;
  const hasNewName = [...later.names].some((name) => !earlier.names.has(name));
  if (hasNewName && isEnded(earlier, later)) return 'name';
  const hasManyShared = isClose && shared >= MIN_SHARED + 2;
  return getOtherValue(earlier, later, isNearest) ?? (hasNewName && hasManyShared ? 'name' : undefined);
}

/**
 * Returns true if the later text says of the earlier subject that something changed: a sentence with a word of change, or
 * the next one, has a word of the subject, and so is the first content word of the clause before the word of change. "The
 * chemist now opens at nine" is no news of the bakery that opens at eight.
 */
function changesSubject(earlier: Statement, later: Statement): boolean {
  const subject = new Set(earlier.subject.flat());
  const isOfSubject = (forms: readonly string[]) => forms.some((form) => subject.has(form));
  const sentences = [...getSentences(later.text)].map(({ segment }) => segment);
  return sentences.some((sentence, i) => {
    const { index } = CHANGE.exec(sentence) ?? {};
    if (index === undefined) return false;
    const clauseStart = sentence.slice(0, index).search(/[^,;:]*$/);
    const [first = []] = queryWords(sentence.slice(clauseStart));
    // Of a clause without content words, such as "We now", the first content word comes later.
    const isFirst = queryWords(sentence.slice(clauseStart, index)).some(([form]) => form === first[0]);
    if (isFirst && !isOfSubject(first)) return false;
    return queryWords(`${sentence} ${sentences[i + 1] ?? ''}`).some(isOfSubject);
  });
}

/** Returns true if the later text says that something is no longer there which the earlier text names. */
function isEnded(earlier: Statement, later: Statement): boolean {
  return END.test(later.text) && [...earlier.names].some((name) => later.words.has(name));
}

/** Returns true if the texts differ, neither is a question, and the later one does not tell of an earlier time. */
function areStatements(earlier: string, later: string): boolean {
  return earlier !== later && !QUESTION.test(earlier) && !QUESTION.test(later) && !ANECDOTE.test(later);
}

const QUESTION = /[?？](?:\s|$)|¿/u;

function getOtherValue(earlier: Statement, later: Statement, isNearest: boolean): CorrectionReason | undefined {
  // Appointments do not correct one another, nor do texts that begin with something else.
  if (earlier.hasDate || later.hasDate || countShared(later.subject.slice(0, 1), earlier.subject) === 0)
    return undefined;
  if (earlier.weekdays.size > 0 && [...later.weekdays].some((day) => !earlier.weekdays.has(day))) return 'date';
  if (!isNearest) return undefined;
  if (haveOtherAmounts(earlier.amounts, later.amounts)) return 'number';
  // The other way round, the later text often denies something else.
  const isLifted = hasNegation(earlier.text) && !CHANGE.test(earlier.text) && !hasNegation(later.text);
  return isLifted ? 'negation' : undefined;
}

function countShared(some: readonly string[][], others: readonly string[][]): number {
  const forms = new Set(others.flat());
  return some.filter((word) => word.some((form) => forms.has(form))).length;
}

const AMOUNT =
  /(?<![\p{L}\p{N}.,:])([£$€¥]?)\s?(\d{1,3}(?:[\s\u00a0\u202f]\d{3})+|\d+(?:[.,:]\d+)*)\s?([£$€¥%]|\p{L}+)?/gu;

function readAmounts(text: string): Map<string, Set<string>> {
  const amounts = new Map<string, Set<string>>();
  for (const [, before = '', value = '', after = ''] of text.matchAll(AMOUNT)) {
    const unit = before || (/^\d{1,2}:\d{2}$/.test(value) ? ':' : fold(after));
    if (isDateWord(unit) || unit === '') continue;
    amounts.set(unit, (amounts.get(unit) ?? new Set()).add(value));
  }
  return amounts;
}

/** Returns true if exactly one unit of both texts has other values: texts with several are about different events. */
function haveOtherAmounts(earlier: ReadonlyMap<string, Set<string>>, later: ReadonlyMap<string, Set<string>>): boolean {
  const common = [...earlier].filter(([unit]) => later.has(unit));
  const differing = common.filter(([unit, values]) => ![...values].some((value) => later.get(unit)?.has(value)));
  return differing.length === 1;
}

const NAME = /(?<=[\p{L}\p{N},;:)]\s)\p{Lu}[\p{L}\p{N}-]+/gu;

function readNames(text: string): Set<string> {
  return new Set((text.match(NAME) ?? []).map(fold).filter((word) => !isDateWord(word)));
}

const LOCALES = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl'];

const WEEKDAYS = getNames({ weekday: 'long' }, 'weekday', (day) => Date.UTC(2026, 1, day + 1), 7);
const MONTHS = getNames({ month: 'long', day: 'numeric' }, 'month', (month) => Date.UTC(2026, month, 15), 12);

/** Returns names of a calendar in the known languages, and their plural in -s, with their numbers from 0. */
function getNames(
  format: Intl.DateTimeFormatOptions,
  type: Intl.DateTimeFormatPartTypes,
  toTime: (number: number) => number,
  count: number,
): Map<string, number> {
  const names = new Map<string, number>();
  for (const locale of LOCALES) {
    const formatter = new Intl.DateTimeFormat(locale, { ...format, timeZone: 'UTC' });
    for (let number = 0; number < count; number++) {
      const { value = '' } = formatter.formatToParts(toTime(number)).find((part) => part.type === type) ?? {};
      for (const name of [fold(value), `${fold(value)}s`]) names.set(name, number);
    }
  }
  return names;
}

function isDateWord(word: string): boolean {
  return WEEKDAYS.has(word) || MONTHS.has(word);
}

function readWords(text: string): string[] {
  return (text.match(/[\p{L}\p{N}]+/gu) ?? []).map(fold);
}
