import { type Random, randomIndex, randomItem, seededRandom } from '../random.ts';
import type { Dialogue } from './dialogue.ts';

const MAX_TRIES = 1000;
const MIN_WORDS = 2;
const MAX_WORDS = 5;
const MAX_WORD_CHARS = 40;

const FRAMES = [
  'What did {speaker} say about {words}?',
  'When was it that {words}?',
  'Who told {speaker} of {words}?',
  'Do you remember {words}?',
  '{words}',
  'Why did {speaker} mention {words}?',
];

/** Gives questions that it never gave before. */
export type NewQuestions = () => string;

/**
 * Questions about turns that are stored: a few of a turn's words, in a frame.
 *
 * @param count how many turns of the dialogue are stored
 */
export function newQuestions(dialogue: Dialogue, count: number, seed: number): NewQuestions {
  const random = seededRandom(seed, 3);
  const asked = new Set<string>();
  return () => {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const question = askAbout(dialogue.turn(randomIndex(random, count)).content, random);
      if (asked.has(question)) continue;
      asked.add(question);
      return question;
    }
    throw new Error(`the texts are too few for more than ${asked.size} different questions`);
  };
}

function askAbout(content: string, random: Random): string {
  const speaker = /^([^:\n]{1,40}): /.exec(content)?.[1] ?? 'anybody';
  const words = new Set<string>();
  const candidates = content.slice(content.indexOf(': ') + 1).match(/[\p{L}\p{N}]{4,}/gu) ?? [content];
  const wanted = Math.min(MIN_WORDS + randomIndex(random, MAX_WORDS - MIN_WORDS + 1), candidates.length);
  for (let draw = 0; draw < wanted; draw++) words.add(randomItem(random, candidates).slice(0, MAX_WORD_CHARS));
  return randomItem(random, FRAMES)
    .replace('{speaker}', () => speaker)
    .replace('{words}', () => [...words].join(' '));
}
