import type { Dataset } from '../dataset.ts';
import { createRandom, drawItem } from '../random.ts';
import { type Dialogue, getSession, MAX_WORDS, MIN_WORDS } from './dialogue.ts';

const MAX_SENTENCES = 500_000;

/**
 * Creates an endless dialogue from real text: each turn joins random sentences of the data and has 12 to 40 words.
 * Words are about as frequent as in the data.
 *
 * @throws if the data contain no text
 */
export function createRecombinedDialogue(sets: readonly Dataset[], seed: number): Dialogue {
  const turns = sets.flatMap((set) => set.stores.flatMap((store) => store.turns));
  const sentences = turns.flatMap(({ text }) => splitIntoSentences(text)).slice(0, MAX_SENTENCES);
  const speakers = [...new Set(turns.flatMap(({ speaker }) => speaker ?? []))];
  if (sentences.length === 0) throw new Error('the data must contain text; choose another --data folder');
  return {
    turn(index) {
      const session = getSession(index);
      const random = createRandom(seed, index);
      const words: string[] = [];
      while (words.length < MIN_WORDS) words.push(...drawItem(random, sentences));
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
