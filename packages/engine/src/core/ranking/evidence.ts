import type { AskedDate, Evidence, Question } from '../../ports/ranking.ts';
import { NO_ROW, NO_SESSION, NO_SPEAKER, type Signals } from '../../ports/storage.ts';
import { MARKS } from '../text/traits.ts';
import { wordMatches, wordShares } from './bm25.ts';
import { isOf, isToldAbout } from './dated.ts';
import { meaningOf } from './meaning.ts';
import { type Matches, Passage, pooledSessions, relevanceAround, relevances } from './passage.ts';

import { WEIGHTS } from './weights.ts';

const RETENTION_STEPS = 1000;

/** The evidence for rows, in columns. */
export type EvidenceColumns = Record<keyof Evidence, Float64Array>;

/**
 * The evidence for each admitted row. A memory in no session is its own neighbour, passage and session, so that it
 * stands even with one in a session that nothing else speaks for.
 */
export function evidenceOf(signals: Signals, question: Question = {}): EvidenceColumns {
  const matches = matchesOf(signals, question);
  const own = relevances(matches);
  const sessions = pooledSessions(matches, signals);
  const wishes = wishesFor(question);
  const around = new Passage(matches);
  const evidence = emptyColumns(signals.admitted);
  for (let row = 0; row < signals.admitted; row += 1) {
    const meaning = matches.meanings[row] as number;
    const relevance = own[row] as number;
    const session = signals.sessions[row] as number;
    const inSession = session !== NO_SESSION;
    evidence.words[row] = relevance - WEIGHTS.evidence.meaning * meaning;
    evidence.meaning[row] = meaning;
    evidence.neighbour[row] = inSession ? betterNeighbour(signals, own, row) : relevance;
    evidence.passage[row] = inSession ? relevanceAround(around, signals, row) : relevance;
    evidence.session[row] = sessions.get(session)?.relevanceWith(row) ?? relevance;
    evidence.reply[row] = reply(signals, own, row);
    evidence.date[row] = question.date && isToldAbout(question.date, signals.createdAts[row] as number) ? 1 : 0;
    evidence.wish[row] = has(signals, row, wishes) ? relevance : 0;
    evidence.question[row] = asking(signals, row);
    evidence.brevity[row] = brevity(signals.lengths[row] as number);
    evidence.retention[row] = Math.round((signals.retentions[row] as number) * RETENTION_STEPS) / RETENTION_STEPS;
  }
  return evidence;
}

function emptyColumns(rows: number): EvidenceColumns {
  return {
    words: new Float64Array(rows),
    meaning: new Float64Array(rows),
    neighbour: new Float64Array(rows),
    passage: new Float64Array(rows),
    session: new Float64Array(rows),
    reply: new Float64Array(rows),
    date: new Float64Array(rows),
    wish: new Float64Array(rows),
    question: new Float64Array(rows),
    brevity: new Float64Array(rows),
    retention: new Float64Array(rows),
  };
}

// An instruction governs whatever is asked, a preference what is advised, and neither tells what was.
function wishesFor({ looksBack, asksAdvice }: Question): number {
  if (looksBack) return 0;
  return asksAdvice ? MARKS.instruction | MARKS.preference : MARKS.instruction;
}

function matchesOf(signals: Signals, { date }: Question): Matches {
  const shares = wordShares(signals);
  const said = withSpeakers(signals, shares, wordMatches(signals));
  return {
    wordCount: shares.length,
    words: withoutPersons(signals, shares, date ? withDate(signals, shares, said, date) : said, date),
    meanings: new Float64Array(signals.cosines).map(meaningOf),
  };
}

// Who speaks is a field of its own: the name stands once before the text, however long that is. Outside of a session
// nobody speaks: what stands before a colon there is the beginning of a title.
function withSpeakers({ speaks, sessions }: Signals, shares: Float64Array, words: Float64Array): Float64Array {
  for (let at = speaks.indexOf(1); at >= 0; at = speaks.indexOf(1, at + 1)) {
    if (sessions[Math.floor(at / shares.length)] === NO_SESSION) continue;
    words[at] = Math.max(words[at] as number, WEIGHTS.speaker * (shares[at % shares.length] as number));
  }
  return words;
}

// A memory of the date that is asked about answers to the words that name it, whatever it says.
function withDate(signals: Signals, shares: Float64Array, words: Float64Array, date: AskedDate): Float64Array {
  const { createdAts, dated } = signals;
  for (let row = 0; row < createdAts.length; row += 1) {
    if (!isOf(date, createdAts[row] as number)) continue;
    for (let word = 0, at = row * shares.length; word < shares.length; word += 1, at += 1) {
      if (dated[word]) words[at] = Math.max(words[at] as number, WEIGHTS.dated * (shares[word] as number));
    }
  }
  return words;
}

// Where nobody speaks, "my" tells nothing of what is asked for, though few of the notes of one person may hold it, nor
// does it in "What did I do yesterday?": the other words of the query then make all of a match.
function withoutPersons(
  { persons, sessions }: Signals,
  shares: Float64Array,
  words: Float64Array,
  date: AskedDate | undefined,
): Float64Array {
  if (!persons.includes(1) || !persons.includes(0)) return words;
  const rest = shares.reduce((sum, share, word) => (persons[word] ? sum : sum + share), 0);
  for (let row = 0, at = 0; row < sessions.length; row += 1) {
    for (let word = 0; word < shares.length; word += 1, at += 1) {
      if (date || sessions[row] === NO_SESSION) words[at] = persons[word] ? 0 : (words[at] as number) / rest;
    }
  }
  return words;
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
