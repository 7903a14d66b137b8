import type { AskedDate, QueryIntent } from '../../ports/ranking.ts';
import { NO_ROW, NO_SPEAKER, type Signals } from '../../ports/storage-search.ts';
import { RETENTION_STEPS } from '../retention.ts';
import { MARKS } from '../text/traits.ts';
import { wordMatches, wordShares } from './bm25.ts';
import {
  type Matches,
  meaningOf,
  Passage,
  pooledSessions,
  relevanceAround,
  relevances,
  saidInConversation,
  tokensOf,
} from './conversation.ts';
import { shareOfDate, shareToldAbout } from './query-terms.ts';
import { type EvidenceColumns, emptyColumns, repeatsOf } from './standing.ts';
import { WEIGHTS } from './weights.ts';

/**
 * The evidence for each admitted row. A memory in no conversation is its own neighbour and passage, so that it stands even
 * with one in a session that nothing else speaks for; without a session, the passage stands for it.
 */
export function evidenceOf(signals: Signals, intent: QueryIntent = {}): EvidenceColumns {
  const isSaid = saidInConversation(signals);
  const matches = matchesOf(signals, intent, isSaid);
  const own = relevances(matches);
  const sessions = pooledSessions(matches, signals);
  const wishes = wishesFor(intent);
  const around = new Passage(matches);
  const evidence = emptyColumns(signals.admitted);
  for (let row = 0; row < signals.admitted; row += 1) {
    const relevance = own[row] as number;
    evidence.words[row] = relevance - (matches.likenesses[row] as number);
    evidence.meaning[row] = meaningOf(signals.cosines[row] as number);
    evidence.tokens[row] = tokensOf(signals.nearnesses[row]);
    evidence.neighbour[row] = isSaid[row] ? betterNeighbour(signals, own, row) : relevance;
    evidence.passage[row] = isSaid[row] ? relevanceAround(around, signals, row) : relevance;
    evidence.session[row] =
      sessions.get(signals.sessions[row] as number)?.relevanceWith(row) ?? (evidence.passage[row] as number);
    evidence.reply[row] = isSaid[row] ? reply(signals, own, row) : 0;
    evidence.date[row] = intent.date ? shareToldAbout(intent.date, signals.createdAts[row] as number) : 0;
    evidence.wish[row] = has(signals, row, wishes) ? relevance : 0;
    evidence.question[row] = asking(signals, row);
    evidence.brevity[row] = brevity(signals.lengths[row] as number);
    evidence.retention[row] = Math.round((signals.retentions[row] as number) * RETENTION_STEPS) / RETENTION_STEPS;
  }
  evidence.repeat = repeatsOf(evidence, signals);
  return evidence;
}

// An instruction governs whatever is asked, a preference what is advised, and neither tells what was.
function wishesFor({ looksBack, asksAdvice }: QueryIntent): number {
  if (looksBack) return 0;
  return asksAdvice ? MARKS.instruction | MARKS.preference : MARKS.instruction;
}

function matchesOf(signals: Signals, { date }: QueryIntent, isSaid: Uint8Array): Matches {
  const shares = wordShares(signals);
  const words = wordMatches(signals);
  addSpeakers(signals, shares, words, isSaid);
  if (date) addDate(signals, shares, words, date);
  takePersons(signals, shares, words, date ? new Uint8Array(isSaid.length) : isSaid);
  return {
    wordCount: shares.length,
    words,
    likenesses: new Float64Array(signals.cosines).map((cosine, row) => {
      const { meaning, tokens } = WEIGHTS.evidence;
      return meaning * meaningOf(cosine) + tokens * tokensOf(signals.nearnesses[row]);
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
function takePersons({ persons }: Signals, shares: Float64Array, words: Float64Array, isKept: Uint8Array): void {
  if (!persons.includes(1) || !persons.includes(0)) return;
  const rest = shares.reduce((sum, share, word) => (persons[word] ? sum : sum + share), 0);
  for (let row = 0, at = 0; row < isKept.length; row += 1) {
    for (let word = 0; word < shares.length; word += 1, at += 1) {
      if (!isKept[row]) words[at] = persons[word] ? 0 : (words[at] as number) / rest;
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
