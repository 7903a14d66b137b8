import { type AskedDate, askedDate } from './asked-date.ts';

/** What ranking knows of a query besides its words and its vector. */
export interface Question {
  /** The date that it names, if it names just one. */
  date?: AskedDate | undefined;
  /** Whether it asks what was, which is answered by what was said and not by what somebody wants from now on. */
  looksBack?: boolean;
  /** Whether it asks for advice, which hangs on what somebody likes better. */
  asksAdvice?: boolean;
}

// In English alone. Auxiliaries, and the verbs of telling:
const PAST = /\b(?:did|was|were|have|has|had|been|said|told|mentioned|discussed|talked|brought)\b|['’](?:ve|d)\b/i;

const ADVICE = /\b(?:suggest|recommend|advi[cs]e|should|would you)\b/i;

export function questionOf(query: string): Question {
  return { date: askedDate(query), looksBack: PAST.test(query), asksAdvice: ADVICE.test(query) };
}
