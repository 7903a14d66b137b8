import { describe, expect, it } from 'vitest';
import type { Dataset } from '../dataset.ts';
import type { Dialogue } from './dialogue.ts';
import { createGeneratedDialogue } from './generated-dialogue.ts';
import { createQuestionSource } from './question-source.ts';
import { createRecombinedDialogue } from './recombined-dialogue.ts';
import { getInventedName } from './vocabulary.ts';

const indexes = Array.from({ length: 2000 }, (_, index) => index);

function getWords(dialogue: Dialogue, index: number): string[] {
  return dialogue.turn(index).content.split(': ').slice(1).join(': ').split(' ');
}

describe('createGeneratedDialogue', () => {
  const dialogue = createGeneratedDialogue(1);

  it('creates turns of 12 to 40 words', () => {
    const lengths = indexes.map((index) => getWords(dialogue, index).length);
    expect(Math.min(...lengths)).toBe(12);
    expect(Math.max(...lengths)).toBe(40);
  });

  it('creates the same turn for the same seed, and a different turn for another seed', () => {
    expect(createGeneratedDialogue(1).turn(1234)).toEqual(dialogue.turn(1234));
    expect(createGeneratedDialogue(2).turn(1234)).not.toEqual(dialogue.turn(1234));
  });

  it('creates sessions of 20 turns between two speakers', () => {
    const session = indexes.slice(20, 40).map((index) => dialogue.turn(index));
    expect(new Set(session.map(({ sessionId }) => sessionId))).toEqual(new Set(['session-1']));
    expect(new Set(session.map(({ content }) => content.split(':')[0])).size).toBe(2);
    expect(dialogue.turn(40).sessionId).toBe('session-2');
  });

  it('creates no turn twice, and uses common words much more often than rare words', () => {
    expect(new Set(indexes.map((index) => dialogue.turn(index).content)).size).toBe(indexes.length);
    const counts = new Map<string, number>();
    for (const word of indexes.flatMap((index) => getWords(dialogue, index))) {
      counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    const once = [...counts.values()].filter((count) => count === 1).length;
    expect(counts.get('house') ?? 0).toBeGreaterThan(20 * (counts.get('falcon') ?? 0));
    expect(once / counts.size).toBeGreaterThan(0.3);
  });
});

describe('getInventedName', () => {
  it('returns a different name for each rank', () => {
    const ranks = Array.from({ length: 50_000 }, (_, rank) => rank);
    expect(new Set(ranks.map(getInventedName)).size).toBe(ranks.length);
  });
});

describe('createRecombinedDialogue', () => {
  const turn = { id: '1', session: null, timestamp: null };
  const sets: Dataset[] = [
    {
      name: 'set',
      stores: [
        {
          name: 'store',
          questions: [],
          turns: [
            { ...turn, speaker: 'Ann', text: 'The boat is red. Where is the boat?' },
            { ...turn, speaker: 'Ben', text: 'Nobody knows!\nIt left in the night.' },
          ],
        },
      ],
    },
  ];

  it('joins whole sentences until a turn has at least 12 words', () => {
    const sentences = ['The boat is red.', 'Where is the boat?', 'Nobody knows!', 'It left in the night.'];
    const dialogue = createRecombinedDialogue(sets, 1);
    for (const index of indexes.slice(0, 50)) {
      expect(getWords(dialogue, index).length).toBeGreaterThanOrEqual(12);
      const rest = sentences.reduce(
        (text, sentence) => text.replaceAll(sentence, ''),
        getWords(dialogue, index).join(' '),
      );
      expect(rest.trim()).toBe('');
    }
  });
});

describe('createQuestionSource', () => {
  it('never returns the same question twice', () => {
    const ask = createQuestionSource(createGeneratedDialogue(1), 500, 1);
    const questions = indexes.map(() => ask());
    expect(new Set(questions).size).toBe(questions.length);
  });

  it('throws if there are not enough texts for another question', () => {
    const ask = createQuestionSource({ turn: () => ({ content: 'Ann: yes', sessionId: 's' }) }, 1, 1);
    expect(() => indexes.forEach(ask)).toThrow('must exceed');
  });
});
