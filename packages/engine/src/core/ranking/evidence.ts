import type { Evidence, Question } from '../../ports/ranking.ts';
import type { Signals } from '../../ports/storage.ts';
import { MARKS } from '../text/traits.ts';
import { wordMatches, wordShares } from './bm25.ts';
import { meaningOf } from './meaning.ts';
import { type Matches, passageAround, pooledSessions, relevanceOf } from './passage.ts';
import { isToldAbout } from './told-about.ts';
import { WEIGHTS } from './weights.ts';

const NONE = -1;

const RETENTION_STEPS = 1000;

/**
 * The evidence for each admitted row. A memory in no session is its own neighbour, passage and session, so that it
 * stands even with one in a session that nothing else speaks for.
 */
export function evidenceOf(signals: Signals, question: Question = {}): Evidence[] {
  const matches = matchesOf(signals);
  const own = Float64Array.from(signals.ordinals, (_, row) => relevanceOf(matches, row));
  const sessions = pooledSessions(matches, signals);
  const wishes = wishesFor(question);
  return Array.from({ length: signals.admitted }, (_, row) => {
    const meaning = matches.meanings[row] as number;
    const relevance = own[row] as number;
    const number = signals.sessions[row] as number;
    const inSession = number !== NONE;
    return {
      words: relevance - WEIGHTS.evidence.meaning * meaning,
      meaning,
      neighbour: inSession ? betterNeighbour(signals, own, row) : relevance,
      passage: inSession ? passageAround(matches, signals, row).relevance() : relevance,
      session: sessions.get(number)?.relevance(row) ?? relevance,
      reply: reply(signals, own, row),
      date: question.date && isToldAbout(question.date, signals.createdAts[row] as number) ? 1 : 0,
      wish: has(signals, row, wishes) ? relevance : 0,
      question: asking(signals, row),
      brevity: brevity(signals.lengths[row] as number),
      retention: Math.round((signals.retentions[row] as number) * RETENTION_STEPS) / RETENTION_STEPS,
    };
  });
}

// An instruction governs whatever is asked, a preference what is advised, and neither tells what was.
function wishesFor({ looksBack, asksAdvice }: Question): number {
  if (looksBack) return 0;
  return asksAdvice ? MARKS.instruction | MARKS.preference : MARKS.instruction;
}

function matchesOf(signals: Signals): Matches {
  return {
    wordCount: signals.documentFrequencies.length,
    words: withSpeakers(signals, wordMatches(signals)),
    meanings: Float64Array.from(signals.cosines, meaningOf),
  };
}

// Who speaks is a field of its own: the name stands once before the text, however long that is. Outside of a session
// nobody speaks: what stands before a colon there is the beginning of a title.
function withSpeakers(signals: Signals, words: Float64Array): Float64Array {
  const { speaks, sessions } = signals;
  const shares = wordShares(signals);
  for (let at = speaks.indexOf(1); at !== NONE; at = speaks.indexOf(1, at + 1)) {
    if (sessions[Math.floor(at / shares.length)] === NONE) continue;
    words[at] = Math.max(words[at] as number, WEIGHTS.speaker * (shares[at % shares.length] as number));
  }
  return words;
}

function betterNeighbour({ previous, next }: Signals, own: Float64Array, row: number): number {
  return Math.max(valueAt(own, previous[row]), valueAt(own, next[row]));
}

function reply(signals: Signals, own: Float64Array, row: number): number {
  const { previous, speakers, lengths } = signals;
  const before = previous[row] as number;
  if (before === NONE || !has(signals, before, MARKS.question) || speakers[before] === speakers[row]) return 0;
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
  return row === undefined || row === NONE ? 0 : (values[row] as number);
}
