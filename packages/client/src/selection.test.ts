import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Candidate, type Selection, select } from './selection.ts';

/** Few different texts, so that many cases contain duplicates. */
const content = fc.constantFrom(
  'yes',
  ' yes',
  'caf\u00e9',
  'cafe\u0301',
  'a longer answer',
  'x'.repeat(60),
  'no',
  'ok',
);

const getCost = ({ content: text }: Pick<Candidate, 'content'>) => text.length + 4;

interface Case {
  turns: Candidate[];
  recalled: Candidate[];
  tokens: number;
  recentTurns: number;
}

/** Turns, some of which are also recalled, and other memories. */
const cases: fc.Arbitrary<Case> = fc
  .record({
    turns: fc
      .array(content, { maxLength: 12 })
      .map((texts) => texts.map((text, n) => ({ id: `turn ${n}`, content: text }))),
    recalled: fc.array(fc.tuple(content, fc.nat({ max: 20 })), { maxLength: 10 }),
    tokens: fc.nat({ max: 300 }),
    recentTurns: fc.nat({ max: 14 }),
  })
  .map(({ turns, recalled, ...budget }) => ({
    turns,
    recalled: recalled.map(([text, n], index) => turns[n] ?? { id: `memory ${index}`, content: text }).filter(isFirst),
    ...budget,
  }));

// A recall returns each memory once.
function isFirst({ id }: Candidate, index: number, all: Candidate[]): boolean {
  return all.findIndex((other) => other.id === id) === index;
}

const canonicalize = (text: string) => text.normalize('NFC').trim();

function expectForAllCases(check: (selection: Selection<Candidate, Candidate>, input: Case) => void): void {
  fc.assert(
    fc.property(cases, (input) => {
      check(select(input.turns, input.recalled, { ...input, getCost }), input);
    }),
    { numRuns: 2000 },
  );
}

describe('select', () => {
  it('stays within the token budget, and returns the number of selected tokens', () => {
    expectForAllCases(({ turns, recalled, tokens }, input) => {
      const sum = [...turns, ...recalled].reduce((total, item) => total + getCost(item), 0);
      expect(tokens).toBe(sum);
      expect(tokens).toBeLessThanOrEqual(input.tokens);
    });
  });

  it('returns no memory twice, and no recalled memory with the same text as another item', () => {
    expectForAllCases(({ turns, recalled }) => {
      const ids = [...turns, ...recalled].map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      const texts = recalled.map(({ content: text }) => canonicalize(text));
      expect(new Set(texts).size).toBe(texts.length);
      for (const turn of turns) expect(texts).not.toContain(canonicalize(turn.content));
    });
  });

  it('returns the newest turns in order without gaps', () => {
    expectForAllCases(({ turns }, input) => {
      expect(turns).toEqual(input.turns.slice(input.turns.length - turns.length));
    });
  });

  it('returns recalled memories in the order of recall', () => {
    expectForAllCases(({ recalled }, input) => {
      const indexes = recalled.map((memory) => input.recalled.indexOf(memory));
      expect(indexes).toEqual(indexes.toSorted((a, b) => a - b));
      expect(indexes).not.toContain(-1);
    });
  });

  it('selects recent turns before recalled memories', () => {
    expectForAllCases(({ turns }, { turns: all, tokens, recentTurns }) => {
      let remaining = tokens;
      let fitting = 0;
      for (const turn of all.toReversed().slice(0, recentTurns)) {
        remaining -= getCost(turn);
        if (remaining < 0) break;
        fitting++;
      }
      expect(turns.length).toBeGreaterThanOrEqual(fitting);
    });
  });

  it('omits a distilled memory only if all its lines are quoted from selected items', () => {
    const turns = [{ id: 'turn', content: 'We moved. To Leeds, in May.' }];
    const distilled = (content: string) => ({ id: content, content, session_id: null });
    const recalled = [
      { id: 'source', content: 'Ada has a cat. It is grey.', session_id: 's' },
      { id: 'note', content: 'It is grey.', session_id: 's' },
      distilled('Ada has a cat.\nTo Leeds, in May.'),
      distilled('Ada has a cat.\nAda has a dog.'),
    ];
    const selection = select(turns, recalled, { tokens: 1000, getCost, recentTurns: 8 });
    expect(selection.recalled.map(({ id }) => id)).toEqual(['source', 'note', 'Ada has a cat.\nAda has a dog.']);
  });

  it('stops adding turns only when the next turn exceeds the budget', () => {
    expectForAllCases(({ turns, recalled, tokens }, input) => {
      const remaining = input.tokens - tokens;
      const next = input.turns.at(-turns.length - 1);
      const isRecalled = recalled.some(({ content: text }) => canonicalize(text) === canonicalize(next?.content ?? ''));
      if (next && turns.length < input.turns.length && !isRecalled) expect(getCost(next)).toBeGreaterThan(remaining);
    });
  });
});
