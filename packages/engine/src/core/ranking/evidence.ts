import type { Signals } from '../../ports/storage.ts';
import { MARKS } from '../text/traits.ts';
import { wordMatches, wordShares } from './bm25.ts';
import { meaningOf } from './meaning.ts';
import { type Matches, Passage, passageAround, pooledSessions, relevanceOf } from './passage.ts';
import { WEIGHTS } from './weights.ts';

const NONE = -1;

/** What speaks for a memory as an answer, or against it, each from 0 to about 2. */
export interface Evidence {
  /** How well its own words match. */
  words: number;
  /** How near its own meaning is. */
  meaning: number;
  /** How relevant the better of the memories before and after it in its session is. */
  neighbour: number;
  /** How relevant it and two on each side are together. */
  passage: number;
  /** How relevant all memories of its session that were found are together. */
  session: number;
  /** How relevant the question is that another asked just before it; less the longer question and reply are. */
  reply: number;
  /** That it asks itself; less the longer it is. */
  question: number;
  /** That it is short. */
  brevity: number;
}

/** The evidence for each admitted row. */
export function evidenceOf(signals: Signals): Evidence[] {
  const matches = matchesOf(signals);
  const own = Float64Array.from(signals.ordinals, (_, row) => relevanceOf(matches, row));
  const sessions = pooledSessions(matches, signals);
  return Array.from({ length: signals.admitted }, (_, row) => {
    const meaning = matches.meanings[row] as number;
    const relevance = own[row] as number;
    const session = sessions.get(signals.sessions[row] as number) ?? new Passage(matches);
    return {
      words: relevance - WEIGHTS.evidence.meaning * meaning,
      meaning,
      neighbour: Math.max(valueAt(own, signals.previous[row]), valueAt(own, signals.next[row])),
      passage: passageAround(matches, signals, row).relevance(),
      session: session.relevance(row),
      reply: reply(signals, own, row),
      question: question(signals, row),
      brevity: brevity(signals.lengths[row] as number),
    };
  });
}

function matchesOf(signals: Signals): Matches {
  const { cosines, parts } = signals;
  return {
    wordCount: signals.documentFrequencies.length,
    words: withSpeakers(signals, wordMatches(signals)),
    meanings: Float64Array.from(cosines, (cosine, row) => meaningOf(cosine, parts[row] as number)),
  };
}

// A name in a query most often asks for what they said, and their turns hold it as who speaks. How often a text names
// them tells little.
function withSpeakers(signals: Signals, words: Float64Array): Float64Array {
  const { speakerWords, speaks } = signals;
  const shares = wordShares(signals);
  for (const [word, count] of speakerWords.entries()) {
    if (count === 0) continue;
    for (let at = word; at < words.length; at += speakerWords.length) {
      const part = speaks[at] ? WEIGHTS.speaker.speaks : words[at] ? WEIGHTS.speaker.named : 0;
      words[at] = part * (shares[word] as number);
    }
  }
  return words;
}

function reply(signals: Signals, own: Float64Array, row: number): number {
  const { previous, speakers, lengths } = signals;
  const before = previous[row] as number;
  if (before === NONE || !asks(signals, before) || speakers[before] === speakers[row]) return 0;
  const { longestQuestion, longAnswer } = WEIGHTS.reply;
  const asked = (own[before] as number) * falling(lengths[before] as number, longestQuestion);
  return asked * Math.min(1, longAnswer / ((lengths[row] as number) + 1));
}

function question(signals: Signals, row: number): number {
  return asks(signals, row) ? falling(signals.lengths[row] as number, WEIGHTS.question.longest) : 0;
}

function asks({ marks }: Signals, row: number): boolean {
  return ((marks[row] as number) & MARKS.question) !== 0;
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
