import { createRandom, drawIndex, drawItem, type Random } from '../random.ts';
import type { Dialogue } from './dialogue.ts';

const MAX_ATTEMPTS = 1000;
const MIN_WORDS = 2;
const MAX_WORDS = 5;
const MAX_WORD_CHARS = 40;

const TEMPLATES = [
  'What did {speaker} say about {words}?',
  'When was it that {words}?',
  'Who told {speaker} of {words}?',
  'Do you remember {words}?',
  '{words}',
  'Why did {speaker} mention {words}?',
];

/** Returns a different question on each call. */
export type QuestionSource = () => string;

/**
 * Creates a source of questions about stored turns: a few words of a turn in a sentence template. The source throws if
 * it finds no further question.
 *
 * @param count number of stored turns
 */
export function createQuestionSource(dialogue: Dialogue, count: number, seed: number): QuestionSource {
  const random = createRandom(seed, 3);
  const asked = new Set<string>();
  return () => {
    for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
      const question = askAbout(dialogue.turn(drawIndex(random, count)).content, random);
      if (asked.has(question)) continue;
      asked.add(question);
      return question;
    }
    throw new Error(
      `the number of different questions about the texts must exceed ${asked.size}; use more --data or fewer --queries`,
    );
  };
}

function askAbout(content: string, random: Random): string {
  const speaker = /^([^:\n]{1,40}): /.exec(content)?.[1] ?? 'anybody';
  const words = new Set<string>();
  const candidates = content.slice(content.indexOf(': ') + 1).match(/[\p{L}\p{N}]{4,}/gu) ?? [content];
  const wordCount = Math.min(MIN_WORDS + drawIndex(random, MAX_WORDS - MIN_WORDS + 1), candidates.length);
  for (let draw = 0; draw < wordCount; draw++) words.add(drawItem(random, candidates).slice(0, MAX_WORD_CHARS));
  return drawItem(random, TEMPLATES)
    .replace('{speaker}', () => speaker)
    .replace('{words}', () => [...words].join(' '));
}
