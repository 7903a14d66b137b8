import type { QueryIntent } from '../../ports/ranking.ts';
import { askedDate } from './asked-date.ts';

// In English alone. Auxiliaries, and the verbs of telling:
const PAST = /\b(?:did|was|were|have|has|had|been|said|told|mentioned|discussed|talked|brought)\b|['’](?:ve|d)\b/i;

const ADVICE = /\b(?:suggest|recommend|advi[cs]e|should|would you)\b/i;

/** What ranking knows of a query that is asked `now`. */
export async function queryIntentOf(query: string, now: number): Promise<QueryIntent> {
  return { date: await askedDate(query, now), looksBack: PAST.test(query), asksAdvice: ADVICE.test(query) };
}
