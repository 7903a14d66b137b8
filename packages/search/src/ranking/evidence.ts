import { MARKS, NO_SPEAKER } from '../text/traits.ts';
import { getGainWithout, getWordMatches, getWordShares } from './bm25.ts';
import {
  getConversationRows,
  getExpectedContext,
  getMeaning,
  getPassageRelevance,
  getRelevances,
  getSessionPassages,
  getTokens,
  type Matches,
  Passage,
} from './conversation.ts';
import { type CosineScale, toUsualCosine } from './cosine-scale.ts';
import { getDateMatch, getMentionMatch } from './query-terms.ts';
import type { QueryIntent, QueryPeriod } from './ranking.ts';
import { RETENTION_STEPS } from './retention.ts';
import {
  createColumns,
  EVIDENCE,
  type EvidenceColumns,
  getCrowd,
  getDistilledRows,
  getRepeats,
  getSums,
} from './scores.ts';
import { NO_ROW, type Signals } from './signals.ts';
import { WEIGHTS } from './weights.ts';

/**
 * Returns the evidence for each candidate row. If no pool row is in the same session, `session` equals `passage`. See
 * `getExpectedContext` for a memory outside conversations.
 */
export function getEvidence(signals: Signals, intent: QueryIntent = {}, scale?: CosineScale): EvidenceColumns {
  const distilled = getDistilledRows(signals);
  const isInConversation = getConversationRows(signals, distilled);
  const shares = getWordShares(signals);
  const factors = getFactors(signals, intent, distilled);
  const meanings = new Float64Array(signals.cosines).map(
    (cosine) => factors.meaning * getMeaning(toUsualCosine(cosine, scale)),
  );
  const matches = getMatches(signals, { shares, factors, meanings, date: intent.date }, isInConversation);
  const own = getRelevances(matches);
  const sessions = getSessionPassages(matches, signals, isInConversation);
  const wishes = getRelevantMarks(intent);
  const rarity = getRarity(signals, wishes, distilled);
  const passages = new Passage(matches, new Float64Array(matches.wordCount));
  const evidence = createColumns(signals.candidateCount);
  for (let row = 0; row < signals.candidateCount; row += 1) {
    const relevance = own[row] as number;
    evidence.words[row] = relevance - (matches.likenesses[row] as number);
    evidence.meaning[row] = meanings[row] as number;
    evidence.tokens[row] = factors.tokens * getTokens(signals.nearnesses[row]);
    evidence.neighbor[row] = isInConversation[row] ? getBetterNeighbor(signals, own, row) : relevance;
    evidence.passage[row] = isInConversation[row] ? getPassageRelevance(passages, signals, row) : relevance;
    evidence.session[row] =
      sessions.get(signals.sessions[row] as number)?.relevanceWith(row) ?? (evidence.passage[row] as number);
    evidence.reply[row] = isInConversation[row] ? getReply(signals, own, row) : 0;
    evidence.date[row] = intent.date ? getMentionMatch(intent.date, signals.createdAts[row] as number) : 0;
    evidence.wish[row] = hasMark(signals, row, wishes) ? rarity * relevance : 0;
    evidence.question[row] = getQuestion(signals, row);
    evidence.silent[row] = Number(hasMark(signals, row, MARKS.noStatement));
    evidence.brevity[row] = getBrevity(signals.lengths[row] as number);
    evidence.length[row] = getLength(signals.lengths[row] as number);
    evidence.age[row] = getAge(signals, row);
    evidence.retention[row] = Math.round((signals.retentions[row] as number) * RETENTION_STEPS) / RETENTION_STEPS;
  }
  if (signals.reranks) evidence.rerank = getReranks(signals.reranks);
  addExpectedContext(evidence, own, isInConversation, signals.pool);
  if (intent.date?.isWholeQuery) return toDateEvidence(evidence, signals, intent.date, distilled);
  evidence.missing.fill(getMissing(signals, shares));
  const sums = getSums(evidence);
  evidence.repeat = getRepeats(sums, signals, distilled);
  evidence.crowd.fill(getCrowd(sums, evidence.repeat, signals, distilled));
  return evidence;
}

/** Sets the context of memories outside conversations in a pool that also has memories in conversations. */
function addExpectedContext(
  evidence: EvidenceColumns,
  own: Float64Array,
  isInConversation: Uint8Array,
  pool: number,
): void {
  if (!isInConversation.includes(0)) return;
  for (const name of ['neighbor', 'passage', 'session'] as const) {
    const column = evidence[name];
    const getExpected = getExpectedContext(own, column, isInConversation, pool);
    for (let row = 0; row < column.length; row += 1) {
      if (isInConversation[row]) continue;
      const expected = getExpected(own[row] as number);
      // A passage and a session include the memory itself.
      column[row] = name === 'neighbor' ? expected : Math.max(own[row] as number, expected);
    }
  }
}

/** Returns the evidence for a query that consists of a date; see `Evidence`. */
function toDateEvidence(
  evidence: EvidenceColumns,
  signals: Signals,
  date: QueryPeriod,
  distilled: ReadonlySet<number>,
): EvidenceColumns {
  for (const name of EVIDENCE) {
    const column = evidence[name];
    for (let row = 0; row < column.length; row += 1) column[row] = WEIGHTS.ofDateQuestion * (column[row] as number);
  }
  for (let row = 0; row < signals.candidateCount; row += 1) {
    evidence.period[row] = getDateMatch(date, signals.createdAts[row] as number, WEIGHTS.fringe);
  }
  evidence.repeat = getRepeats(getSums(evidence), signals, distilled).map((repeat) => WEIGHTS.ofDateQuestion * repeat);
  return evidence;
}

/** Replaces unknown probabilities (NaN) by the mean of the known ones, so that a row loses nothing for being unknown. */
function getReranks(reranks: Float64Array): Float64Array {
  const known = reranks.filter((probability) => !Number.isNaN(probability));
  const mean = known.reduce((sum, probability) => sum + probability, 0) / Math.max(1, known.length);
  return reranks.map((probability) => (Number.isNaN(probability) ? mean : probability));
}

// An instruction applies to any question, a preference only to a question for advice; neither applies to a question
// about the past.
function getRelevantMarks({ looksBack, asksAdvice }: QueryIntent): number {
  if (looksBack) return 0;
  return asksAdvice ? MARKS.instruction | MARKS.preference : MARKS.instruction;
}

/**
 * Returns a factor from 1 to 0 that decreases with the share of pool rows that have any of these marks; 1 if at most
 * one row has such a mark. Semantic memories with sources among the candidates are excluded, since they repeat their
 * sources.
 */
function getRarity(signals: Signals, marks: number, distilled: ReadonlySet<number>): number {
  let marked = 0;
  let rows = 0;
  for (let row = 0; row < signals.pool; row += 1) {
    if (distilled.has(row)) continue;
    rows += 1;
    if (hasMark(signals, row, marks)) marked += 1;
  }
  return marked <= 1 ? 1 : Math.max(0, 1 - (WEIGHTS.wish.rare * (marked - 1)) / rows);
}

/**
 * Returns the total share of the query's names and numbers that occur in no memory and are not the speaker of any row
 * in the pool.
 */
function getMissing({ pool, named, documentFrequencies, speaks }: Signals, shares: Float64Array): number {
  let missing = 0;
  for (const [word, share] of shares.entries()) {
    if (named[word] !== 1 || documentFrequencies[word] !== 0) continue;
    let row = 0;
    while (row < pool && speaks[row * shares.length + word] !== 1) row += 1;
    if (row === pool) missing += share;
  }
  return missing;
}

/** Factors for the evidence of words, vectors and tokens. */
interface Factors {
  words: number;
  meaning: number;
  tokens: number;
}

function getFactors(signals: Signals, { asksAdvice, looksBack }: QueryIntent, distilled: ReadonlySet<number>): Factors {
  const factors = asksAdvice && !looksBack ? WEIGHTS.advice : { words: 1, meaning: 1, tokens: 1 };
  return haveVectorsAlone(signals, distilled)
    ? { ...factors, meaning: WEIGHTS.meaningAlone * factors.meaning }
    : factors;
}

/**
 * Returns true if some row of the pool has a cosine, and none a nearness of tokens. Excludes semantic memories with
 * sources among the candidates, so that such memories do not change scores.
 */
function haveVectorsAlone({ pool, cosines, nearnesses }: Signals, distilled: ReadonlySet<number>): boolean {
  const isKnown = (value: number, row: number) => !Number.isNaN(value) && !distilled.has(row);
  return cosines.subarray(0, pool).some(isKnown) && !nearnesses.subarray(0, pool).some(isKnown);
}

interface MatchBasis {
  shares: Float64Array;
  factors: Factors;
  /** The evidence `meaning` of each row. */
  meanings: Float64Array;
  date: QueryPeriod | undefined;
}

function getMatches(
  signals: Signals,
  { shares, factors, meanings, date }: MatchBasis,
  isInConversation: Uint8Array,
): Matches {
  const words = getWordMatches(signals, shares);
  multiply(words, factors.words);
  addSpeakers(signals, shares, words, isInConversation);
  if (date?.isWholeQuery) removeDated(signals, words);
  else if (date) addDate(signals, shares, words, date);
  const isIndistinct = getIndistinct(signals);
  removeIndistinct(signals, words, { isInConversation, isIndistinct, keepsPersons: !date });
  raiseWholeMatches(words, isIndistinct, isInConversation);
  return {
    wordCount: shares.length,
    words,
    likenesses: meanings.map((meaning, row) => {
      // Used for pool rows only: the nearness of a context row is known only if a request with a higher limit makes the
      // row a candidate, and scores must not depend on the limit.
      const nearness = row < signals.pool ? signals.nearnesses[row] : undefined;
      return WEIGHTS.evidence.meaning * meaning + WEIGHTS.evidence.tokens * factors.tokens * getTokens(nearness);
    }),
  };
}

/** Multiplies numbers in place. Several times faster than a map. */
function multiply(numbers: Float64Array, factor: number): void {
  if (factor === 1) return;
  for (let at = 0; at < numbers.length; at += 1) numbers[at] = factor * (numbers[at] as number);
}

// The speaker is a separate field: the name occurs once before the text, regardless of the length of the text. Outside
// conversations, the text before a colon is the beginning of a title.
function addSpeakers(
  { speaks }: Signals,
  shares: Float64Array,
  words: Float64Array,
  isInConversation: Uint8Array,
): void {
  for (let at = speaks.indexOf(1); at >= 0; at = speaks.indexOf(1, at + 1)) {
    if (!isInConversation[Math.floor(at / shares.length)]) continue;
    words[at] = Math.max(words[at] as number, WEIGHTS.speaker * (shares[at % shares.length] as number));
  }
}

// A memory of the requested date matches the words that name the date, regardless of its text.
function addDate({ createdAts, dated }: Signals, shares: Float64Array, words: Float64Array, date: QueryPeriod): void {
  for (let row = 0; row < createdAts.length; row += 1) {
    const share = getDateMatch(date, createdAts[row] as number);
    if (share === 0) continue;
    for (let word = 0, at = row * shares.length; word < shares.length; word += 1, at += 1) {
      if (dated[word]) words[at] = Math.max(words[at] as number, share * WEIGHTS.dated * (shares[word] as number));
    }
  }
}

// The period answers the query, and not a text that names a date.
function removeDated({ dated }: Signals, words: Float64Array): void {
  for (let at = 0; at < words.length; at += 1) if (dated[at % dated.length]) words[at] = 0;
}

// Outside conversations, words such as "my" do not distinguish memories, even if few notes of one person contain them.
// The same applies to a question about a date, such as "What did I do yesterday?". Neither does a word that many of the
// notes contain, such as the name of the person that they are about; in a conversation, it tells who speaks. The other
// query words then make up the whole match.
function removeIndistinct(
  signals: Signals,
  words: Float64Array,
  of: { isInConversation: Uint8Array; isIndistinct: Uint8Array; keepsPersons: boolean },
): void {
  const { persons } = signals;
  const { isInConversation, isIndistinct: inNotes } = of;
  if (!inNotes.includes(1)) return;
  const inTurns = of.keepsPersons ? new Uint8Array(persons.length) : persons;
  const gains = { notes: getGainWithout(signals, persons), turns: getGainWithout(signals, inTurns) };
  for (let row = 0, at = 0; row < isInConversation.length; row += 1) {
    const [removed, gain] = isInConversation[row] ? [inTurns, gains.turns] : [inNotes, gains.notes];
    for (let word = 0; word < persons.length; word += 1, at += 1) {
      words[at] = removed[word] ? 0 : (words[at] as number) * gain;
    }
  }
}

/** Returns 1 for each query word that does not distinguish notes: a word for a person, or a word of many notes. */
export function getIndistinct({ persons, named, documentFrequencies, memoryCount }: Signals): Uint8Array {
  const { share, minMemories, minStore } = WEIGHTS.indistinct;
  return persons.map((person, word) => {
    const frequency = documentFrequencies[word] as number;
    const isFrequent = frequency >= minMemories && frequency >= share * memoryCount;
    // In a store of few memories, other words than names are frequent by chance.
    return person || (isFrequent && (named[word] || memoryCount >= minStore)) ? 1 : 0;
  });
}

// A note that contains all words of the query, or their synonyms, is more than the sum of its words: a tag
// "deployment-checklist" answers "deployment checklist", and a text about another checklist does not.
function raiseWholeMatches(words: Float64Array, isIndistinct: Uint8Array, isInConversation: Uint8Array): void {
  const count = isIndistinct.length;
  if (isIndistinct.filter((is) => !is).length < 2) return;
  for (let row = 0; row < isInConversation.length; row += 1) {
    if (isInConversation[row]) continue;
    const start = row * count;
    let word = 0;
    while (word < count && (isIndistinct[word] === 1 || (words[start + word] as number) > 0)) word += 1;
    if (word === count) {
      for (let at = start; at < start + count; at += 1) words[at] = WEIGHTS.wholeMatch * (words[at] as number);
    }
  }
}

function getBetterNeighbor({ previous, next }: Signals, own: Float64Array, row: number): number {
  return Math.max(getValue(own, previous[row]), getValue(own, next[row]));
}

function getReply(signals: Signals, own: Float64Array, row: number): number {
  const { previous, speakers, lengths } = signals;
  const before = previous[row] as number;
  if (before === NO_ROW || !hasMark(signals, before, MARKS.question)) return 0;
  // If speakers are unknown, another person may have answered.
  if (speakers[before] === speakers[row] && speakers[row] !== NO_SPEAKER) return 0;
  const { longestQuestion, longReply } = WEIGHTS.reply;
  const questionRelevance = (own[before] as number) * getDecreasing(lengths[before] as number, longestQuestion);
  return questionRelevance * Math.min(1, longReply / ((lengths[row] as number) + 1));
}

function getQuestion(signals: Signals, row: number): number {
  return hasMark(signals, row, MARKS.question)
    ? getDecreasing(signals.lengths[row] as number, WEIGHTS.question.longest)
    : 0;
}

export function hasMark({ marks }: Signals, row: number, any: number): boolean {
  return ((marks[row] as number) & any) !== 0;
}

/** Returns true for a row that is no question and states something. */
export function isStatement(signals: Signals, row: number): boolean {
  return !hasMark(signals, row, MARKS.question | MARKS.noStatement);
}

function getLength(length: number): number {
  const { above, max } = WEIGHTS.length;
  return length < above ? 0 : Math.log((Math.min(length, max) + 1) / above);
}

const DAY_MS = 86_400_000;
const YEAR_DAYS = 365.25;

// In whole days, so that scores do not depend on the time of day.
function getAge({ now, createdAts }: Signals, row: number): number {
  const days = Math.floor((now - (createdAts[row] as number)) / DAY_MS);
  return Math.log1p(Math.max(0, days) / YEAR_DAYS);
}

function getBrevity(length: number): number {
  const { below } = WEIGHTS.brevity;
  return length >= below ? 0 : Math.log(below / (length + 1));
}

/** Returns a value that decreases linearly from 1 at 0 to 0 at `end`. */
function getDecreasing(value: number, end: number): number {
  return Math.max(0, 1 - value / end);
}

function getValue(values: Float64Array, row: number | undefined): number {
  return row === undefined || row === NO_ROW ? 0 : (values[row] as number);
}
