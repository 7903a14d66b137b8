import { createTimeZone } from '@memoryd/contract';
import type { RecalledMemory } from '@memoryd/search';
import { describe, expect, it } from 'vitest';
import { ContextSelection, type SelectionOptions, type Taken } from './context-selection.ts';

function createSelection(options: Partial<SelectionOptions> = {}): ContextSelection {
  return new ContextSelection({
    ...{ budget: 800, maxChars: 100_000, maxBytes: 1_000_000, zone: createTimeZone('UTC'), knownTexts: [] },
    createExcerpts: () => (content) => content.slice(0, 300),
    ...options,
  });
}

let ordinal = 0;
function toTaken(content: string, why: Taken['why'] = 'relevant'): Taken {
  ordinal += 1;
  const memory = {
    id: `m${ordinal}`,
    ordinal,
    content,
    createdAt: ordinal,
    tags: [],
    sessionId: null,
    tier: 'working',
    validTo: null,
    supersededBy: null,
  };
  return { memory: memory as unknown as RecalledMemory, why };
}

const FILLER = 'The mill by the river grinds barley on Mondays and rye on Thursdays. ';

describe('ContextSelection', () => {
  it('takes a memory that repeats a part of a long memory that is not shown', () => {
    const selection = createSelection({ budget: 400 });
    expect(selection.take([toTaken(`${FILLER.repeat(60)}Ines keeps the sextant.`)])).toBe(true);
    expect(selection.take([toTaken('Ines keeps the sextant.')])).toBe(true);
    expect(selection.finish().text).toContain('Ines keeps the sextant.');
  });

  it('takes a standing note whose entry has a third of the budget, without the lines around the entries', () => {
    // The note has about 70 tokens.
    const note = toTaken(FILLER.repeat(4), 'standing');
    expect(createSelection({ budget: 300 }).take([note], 100)).toBe(true);
    expect(createSelection({ budget: 300 }).take([note], 50)).toBe(false);
  });

  it('takes a reply without the question before it, if the prompt contains the question', () => {
    const selection = createSelection({ knownTexts: ['Where is the sextant?'] });
    expect(selection.take([toTaken('Where is the sextant?'), toTaken('In the attic.')])).toBe(true);
    expect(selection.finish().taken.map(({ memory }) => memory.content)).toEqual(['In the attic.']);
  });

  it('takes memories until their contents reach the maximum size of a response', () => {
    const selection = createSelection({ budget: 20_000, maxBytes: 10_000 });
    const results = ['a', 'b', 'c'].map((name) => selection.take([toTaken(`${name} ${FILLER.repeat(60)}`)]));
    expect(results).toEqual([true, true, false]);
    expect(selection.finish().omitted).toBe(1);
  });

  it('takes memories until their entries reach the maximum characters of the text', () => {
    const maxChars = 1000;
    const selection = createSelection({ budget: 20_000, maxChars });
    for (const name of ['a', 'b', 'c', 'd']) selection.take([toTaken(`${name} ${FILLER.repeat(4)}`)]);
    const { text, taken, omitted } = selection.finish();
    expect(taken.length).toBeGreaterThan(0);
    expect(omitted).toBe(4 - taken.length);
    expect(text.length).toBeLessThanOrEqual(maxChars);
    expect(text.length).toBeGreaterThan(maxChars - FILLER.length * 5);
  });

  it('shortens no more texts when its work has reached the limit, and counts the others as omitted', () => {
    let excerpts = 0;
    const selection = createSelection({
      budget: 800,
      maxBytes: 1_000_000_000,
      createExcerpts: () => (content) => {
        excerpts += 1;
        return content.slice(0, 3000);
      },
    });
    for (let n = 0; n < 2000; n += 1) selection.take([toTaken(`${n} ${FILLER.repeat(200)}`)]);
    const { taken, omitted } = selection.finish();
    expect(excerpts).toBeLessThan(200);
    expect(taken.length + omitted).toBe(2000);
  });
});
