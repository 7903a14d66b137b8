import type { Dataset } from '../dataset.ts';
import { randomItem, seededRandom } from '../random.ts';
import { type Dialogue, getSession, MAX_WORDS, MIN_WORDS } from './dialogue.ts';

const MAX_SENTENCES = 500_000;

/**
 * A dialogue of real words: each turn joins sentences that were drawn from all turns of the data, until it is long
 * enough. It is as long as one likes, and words are as frequent as in the data.
 *
 * @throws when the data hold no text
 */
export function recombinedDialogue(sets: readonly Dataset[], seed: number): Dialogue {
  const turns = sets.flatMap((set) => set.stores.flatMap((store) => store.turns));
  const sentences = turns.flatMap(({ text }) => splitIntoSentences(text)).slice(0, MAX_SENTENCES);
  const speakers = [...new Set(turns.flatMap(({ speaker }) => speaker ?? []))];
  if (sentences.length === 0) throw new Error('the data hold no text');
  return {
    turn(index) {
      const session = getSession(index);
      const random = seededRandom(seed, index);
      const words: string[] = [];
      while (words.length < MIN_WORDS) words.push(...randomItem(random, sentences));
      const text = words.slice(0, MAX_WORDS).join(' ');
      const speaker = speakers[(session * 7 + (index % 2)) % speakers.length];
      return { content: speaker === undefined ? text : `${speaker}: ${text}`, sessionId: `session-${session}` };
    },
  };
}

function splitIntoSentences(text: string): string[][] {
  return text
    .split(/(?<=[.!?])\s+|\n+/)
    .map((sentence) => sentence.split(/\s+/).filter((word) => word !== ''))
    .filter((words) => words.length > 0);
}
