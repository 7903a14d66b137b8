import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Candidate, type Selection, select } from './selection.ts';

/** Few texts, so that many are the same, as duplicates that consolidation merged and words said twice are. */
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

/** Turns, of which some are recalled too, and other memories. */
const cases: fc.Arbitrary<Case> = fc
  .record({
    turns: fc
      .array(content, { maxLength: 12 })
      .map((texts) => texts.map((text, n) => ({ id: `turn ${n}`, content: text }))),
    recalled: fc.array(fc.tuple(content, fc.nat({ max: 20 })), { maxLength: 10 }),
    tokens: fc.nat({ max: 300 }),
    recentTurns: fc.nat({ max: 14 }),
  })
  .map(({ turns, recalled, ...room }) => ({
    turns,
    recalled: recalled.map(([text, n], place) => turns[n] ?? { id: `memory ${place}`, content: text }).filter(isFirst),
    ...room,
  }));

// A recall answers no memory twice.
function isFirst({ id }: Candidate, place: number, all: Candidate[]): boolean {
  return all.findIndex((other) => other.id === id) === place;
}

const canonical = (text: string) => text.normalize('NFC').trim();

function holds(property: (chosen: Selection<Candidate, Candidate>, given: Case) => void): void {
  fc.assert(
    fc.property(cases, (given) => {
      property(select(given.turns, given.recalled, { ...given, getCost }), given);
    }),
    { numRuns: 2000 },
  );
}

describe('a selection', () => {
  it('takes no more tokens than there is room for, and says how many', () => {
    holds(({ turns, recalled, tokens }, given) => {
      const sum = [...turns, ...recalled].reduce((total, item) => total + getCost(item), 0);
      expect(tokens).toBe(sum);
      expect(tokens).toBeLessThanOrEqual(given.tokens);
    });
  });

  it('has no memory twice, and recalls nothing that is said otherwise', () => {
    holds(({ turns, recalled }) => {
      const ids = [...turns, ...recalled].map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
      const said = recalled.map(({ content: text }) => canonical(text));
      expect(new Set(said).size).toBe(said.length);
      for (const turn of turns) expect(said).not.toContain(canonical(turn.content));
    });
  });

  it('keeps the newest turns in order, none left out between them', () => {
    holds(({ turns }, given) => {
      expect(turns).toEqual(given.turns.slice(given.turns.length - turns.length));
    });
  });

  it('keeps what was recalled in order', () => {
    holds(({ recalled }, given) => {
      const places = recalled.map((memory) => given.recalled.indexOf(memory));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      expect(places).not.toContain(-1);
    });
  });

  it('keeps the newest turns before anything recalled', () => {
    holds(({ turns }, { turns: all, tokens, recentTurns }) => {
      let left = tokens;
      let fitting = 0;
      for (const turn of all.toReversed().slice(0, recentTurns)) {
        left -= getCost(turn);
        if (left < 0) break;
        fitting++;
      }
      expect(turns.length).toBeGreaterThanOrEqual(fitting);
    });
  });

  it('leaves out what was distilled where every line of it is quoted from what is chosen, and only there', () => {
    const turns = [{ id: 'turn', content: 'We moved. To Leeds, in May.' }];
    const distilled = (content: string) => ({ id: content, content, session_id: null });
    const recalled = [
      { id: 'source', content: 'Ada has a cat. It is grey.', session_id: 's' },
      { id: 'note', content: 'It is grey.', session_id: 's' },
      distilled('Ada has a cat.\nTo Leeds, in May.'),
      distilled('Ada has a cat.\nAda has a dog.'),
    ];
    const chosen = select(turns, recalled, { tokens: 1000, getCost, recentTurns: 8 });
    expect(chosen.recalled.map(({ id }) => id)).toEqual(['source', 'note', 'Ada has a cat.\nAda has a dog.']);
  });

  it('leaves out only what does not fit', () => {
    holds(({ turns, recalled, tokens }, given) => {
      const room = given.tokens - tokens;
      const next = given.turns.at(-turns.length - 1);
      const isRecalled = recalled.some(({ content: text }) => canonical(text) === canonical(next?.content ?? ''));
      if (next && turns.length < given.turns.length && !isRecalled) expect(getCost(next)).toBeGreaterThan(room);
    });
  });
});
