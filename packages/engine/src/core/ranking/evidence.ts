import type { AskedDate, QueryIntent } from '../../ports/ranking.ts';
import { NO_ROW, NO_SPEAKER, type Signals } from '../../ports/storage-search.ts';
import { RETENTION_STEPS } from '../retention.ts';
import { MARKS } from '../text/traits.ts';
import { getGainWithout, wordMatches, wordShares } from './bm25.ts';
import {
  getMeaning,
  getTokens,
  type Matches,
  Passage,
  pooledSessions,
  relevanceAround,
  relevances,
  saidInConversation,
} from './conversation.ts';
import { shareOfDate, shareToldAbout } from './query-terms.ts';
import { distilledAmong, type EvidenceColumns, emptyColumns, getCrowd, getRepeats, getSums } from './standing.ts';
import { WEIGHTS } from './weights.ts';

/**
 * The evidence for each admitted row. A memory in no conversation is its own neighbour and passage, so that it stands even
 * with one in a session that nothing else speaks for; without a session, the passage stands for it.
 */
export function getEvidence(signals: Signals, intent: QueryIntent = {}): EvidenceColumns {
  const isSaid = saidInConversation(signals);
  const shares = wordShares(signals);
  const factors = getFactors(intent);
  const matches = getMatches(signals, { shares, factors, date: intent.date }, isSaid);
  const own = relevances(matches);
  const sessions = pooledSessions(matches, signals);
  const wishes = wishesFor(intent);
  const distilled = distilledAmong(signals);
  const rarity = getRarity(signals, wishes, distilled);
  const around = new Passage(matches);
  const evidence = emptyColumns(signals.admitted);
  for (let row = 0; row < signals.admitted; row += 1) {
    const relevance = own[row] as number;
    evidence.words[row] = relevance - (matches.likenesses[row] as number);
    evidence.meaning[row] = factors.meaning * getMeaning(signals.cosines[row] as number);
    evidence.tokens[row] = factors.tokens * getTokens(signals.nearnesses[row]);
    evidence.neighbour[row] = isSaid[row] ? betterNeighbour(signals, own, row) : relevance;
    evidence.passage[row] = isSaid[row] ? relevanceAround(around, signals, row) : relevance;
    evidence.session[row] =
      sessions.get(signals.sessions[row] as number)?.relevanceWith(row) ?? (evidence.passage[row] as number);
    evidence.reply[row] = isSaid[row] ? reply(signals, own, row) : 0;
    evidence.date[row] = intent.date ? shareToldAbout(intent.date, signals.createdAts[row] as number) : 0;
    evidence.wish[row] = has(signals, row, wishes) ? rarity * relevance : 0;
    evidence.question[row] = asking(signals, row);
    evidence.brevity[row] = brevity(signals.lengths[row] as number);
    evidence.length[row] = getLength(signals.lengths[row] as number);
    evidence.age[row] = getAge(signals, row);
    evidence.retention[row] = Math.round((signals.retentions[row] as number) * RETENTION_STEPS) / RETENTION_STEPS;
  }
  evidence.missing.fill(getMissing(signals, shares));
  const sums = getSums(evidence);
  evidence.repeat = getRepeats(sums, signals, distilled);
  evidence.crowd.fill(getCrowd(sums, evidence.repeat, signals, distilled));
  return evidence;
}

// An instruction governs whatever is asked, a preference what is advised, and neither tells what was.
function wishesFor({ looksBack, asksAdvice }: QueryIntent): number {
  if (looksBack) return 0;
  return asksAdvice ? MARKS.instruction | MARKS.preference : MARKS.instruction;
}

/**
 * Returns 1 where at most one row of the pool has any of these marks, and less the more have, down to 0. Semantic memories
 * repeat what their sources say.
 */
function getRarity(signals: Signals, marks: number, distilled: ReadonlySet<number>): number {
  let marked = 0;
  let rows = 0;
  for (let row = 0; row < signals.pool; row += 1) {
    if (distilled.has(row)) continue;
    rows += 1;
    if (has(signals, row, marks)) marked += 1;
  }
  return marked <= 1 ? 1 : Math.max(0, 1 - (WEIGHTS.wish.rare * (marked - 1)) / rows);
}

/** Returns the share of the query's names and numbers that no memory holds, and by which none of the pool is said. */
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

/** As how much words, meaning and tokens count for a query. */
interface Factors {
  words: number;
  meaning: number;
  tokens: number;
}

function getFactors({ asksAdvice, looksBack }: QueryIntent): Factors {
  return asksAdvice && !looksBack ? WEIGHTS.advice : { words: 1, meaning: 1, tokens: 1 };
}

function getMatches(
  signals: Signals,
  { shares, factors, date }: { shares: Float64Array; factors: Factors; date: AskedDate | undefined },
  isSaid: Uint8Array,
): Matches {
  const words = wordMatches(signals).map((match) => factors.words * match);
  addSpeakers(signals, shares, words, isSaid);
  if (date) addDate(signals, shares, words, date);
  takePersons(signals, words, date ? new Uint8Array(isSaid.length) : isSaid);
  return {
    wordCount: shares.length,
    words,
    likenesses: new Float64Array(signals.cosines).map((cosine, row) => {
      const { meaning, tokens } = WEIGHTS.evidence;
      // Only of the pool, as nearnesses of what stands around are known just where a longer answer has it too.
      const nearness = row < signals.pool ? signals.nearnesses[row] : undefined;
      return meaning * factors.meaning * getMeaning(cosine) + tokens * factors.tokens * getTokens(nearness);
    }),
  };
}

// Who speaks is a field of its own: the name stands once before the text, however long that is. Outside of a conversation
// nobody speaks: what stands before a colon there is the beginning of a title.
function addSpeakers({ speaks }: Signals, shares: Float64Array, words: Float64Array, isSaid: Uint8Array): void {
  for (let at = speaks.indexOf(1); at >= 0; at = speaks.indexOf(1, at + 1)) {
    if (!isSaid[Math.floor(at / shares.length)]) continue;
    words[at] = Math.max(words[at] as number, WEIGHTS.speaker * (shares[at % shares.length] as number));
  }
}

// A memory of the date that is asked about answers to the words that name it, whatever it says.
function addDate({ createdAts, dated }: Signals, shares: Float64Array, words: Float64Array, date: AskedDate): void {
  for (let row = 0; row < createdAts.length; row += 1) {
    const share = shareOfDate(date, createdAts[row] as number);
    if (share === 0) continue;
    for (let word = 0, at = row * shares.length; word < shares.length; word += 1, at += 1) {
      if (dated[word]) words[at] = Math.max(words[at] as number, share * WEIGHTS.dated * (shares[word] as number));
    }
  }
}

// Where nobody speaks, "my" tells nothing of what is asked for, though few of the notes of one person may hold it, nor
// does it in "What did I do yesterday?": the other words of the query then make all of a match.
function takePersons(signals: Signals, words: Float64Array, isKept: Uint8Array): void {
  const { persons } = signals;
  if (!persons.includes(1)) return;
  const more = getGainWithout(signals, persons);
  for (let row = 0, at = 0; row < isKept.length; row += 1) {
    for (let word = 0; word < persons.length; word += 1, at += 1) {
      if (!isKept[row]) words[at] = persons[word] ? 0 : (words[at] as number) * more;
    }
  }
}

function betterNeighbour({ previous, next }: Signals, own: Float64Array, row: number): number {
  return Math.max(valueAt(own, previous[row]), valueAt(own, next[row]));
}

function reply(signals: Signals, own: Float64Array, row: number): number {
  const { previous, speakers, lengths } = signals;
  const before = previous[row] as number;
  if (before === NO_ROW || !has(signals, before, MARKS.question)) return 0;
  // Where nobody is named, another may well have answered.
  if (speakers[before] === speakers[row] && speakers[row] !== NO_SPEAKER) return 0;
  const { longestQuestion, longReply } = WEIGHTS.reply;
  const asked = (own[before] as number) * falling(lengths[before] as number, longestQuestion);
  return asked * Math.min(1, longReply / ((lengths[row] as number) + 1));
}

function asking(signals: Signals, row: number): number {
  return has(signals, row, MARKS.question) ? falling(signals.lengths[row] as number, WEIGHTS.question.longest) : 0;
}

function has({ marks }: Signals, row: number, any: number): boolean {
  return ((marks[row] as number) & any) !== 0;
}

function getLength(length: number): number {
  const { above, most } = WEIGHTS.length;
  return Math.max(0, Math.log((Math.min(length, most) + 1) / above));
}

const DAY_MS = 86_400_000;
const YEAR_DAYS = 365.25;

// By whole days, so that no score hangs on the moment of a recall.
function getAge({ now, createdAts }: Signals, row: number): number {
  const days = Math.floor((now - (createdAts[row] as number)) / DAY_MS);
  return Math.log1p(Math.max(0, days) / YEAR_DAYS);
}

function brevity(length: number): number {
  return Math.max(0, Math.log(WEIGHTS.brevity.below / (length + 1)));
}

/** From 1 down to 0 at `end`. */
function falling(value: number, end: number): number {
  return Math.max(0, 1 - value / end);
}

function valueAt(values: Float64Array, row: number | undefined): number {
  return row === undefined || row === NO_ROW ? 0 : (values[row] as number);
}
