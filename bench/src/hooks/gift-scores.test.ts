import { describe, expect, it } from 'vitest';
import { type Gift, scoreGifts } from './gift-scores.ts';
import type { KnownMemory } from './known-memories.ts';

const ADA = { user: 'ada', project: 'garden' };
const turn = (content: string, owner = ADA): KnownMemory => ({ ...owner, content, kind: 'turn' });
const prompt = (content: string): KnownMemory => ({ ...ADA, content, kind: 'prompt' });

function toGift(memories: Gift['memories'], evidence: string[] = [], sessionId = 's1'): Gift {
  const context = memories.map((memory) => `- ${memory?.content}`).join('\n');
  return { owner: ADA, sessionId, context, memories, evidence: new Set(evidence) };
}

describe('scoreGifts', () => {
  it('counts turns that are labeled for the prompt as evidence, and all other given memories not', () => {
    const gifts = [toGift([turn('a'), turn('b'), prompt('c'), undefined], ['a', 'c']), toGift([turn('d')], ['e'])];
    const scores = scoreGifts(gifts);
    expect(scores).toMatchObject({ evidence_of_given: 1 / 5, prompts_of_given: 1 / 5, unknown: 1, memories_mean: 2.5 });
    expect(scores.with_evidence).toBe(1 / 2);
  });

  it('counts a prompt as given evidence earlier if its session, and not only another one, was given it', () => {
    const first = toGift([turn('a')], ['a']);
    const same = toGift([], ['a']);
    const other = toGift([], ['a'], 's2');
    expect(scoreGifts([first, same, other])).toMatchObject({ with_evidence: 1 / 3, with_evidence_in_session: 2 / 3 });
  });

  it('leaves prompts without labels out of the share of prompts with evidence', () => {
    expect(scoreGifts([toGift([turn('a')], ['a']), toGift([turn('b')])]).with_evidence).toBe(1);
  });

  it('counts memories of another user or project, which are no evidence even with the same content', () => {
    const others = [turn('a', { user: 'bob', project: 'garden' }), turn('a', { user: 'ada', project: 'harbor' })];
    expect(scoreGifts([toGift(others, ['a'])])).toMatchObject({ crossings: 2, evidence_of_given: 0, with_evidence: 0 });
  });

  it('counts a memory as repeated if the same session of the same user was given it before', () => {
    const again = toGift([turn('a')]);
    expect(scoreGifts([toGift([turn('a')]), toGift([turn('a')], [], 's2')]).repeated).toBe(0);
    expect(scoreGifts([toGift([turn('a')]), { ...again, owner: { ...ADA, user: 'bob' } }]).repeated).toBe(0);
    expect(scoreGifts([toGift([turn('a')]), again]).repeated).toBe(1);
  });

  it('counts no tokens for a prompt that was given nothing, and estimates no fewer tokens than o200k_base', () => {
    const nothing = scoreGifts([toGift([]), toGift([])]);
    expect(nothing).toMatchObject({ nothing: 1, o200k_mean: 0, estimate_mean: 0, evidence_of_given: null });
    const scores = scoreGifts([toGift([]), toGift([turn('Ada grows beans by the wall.')])]);
    expect(scores.nothing).toBe(0.5);
    expect(scores.o200k_mean).toBe(scores.o200k_p95 / 2);
    expect(scores.estimate_p95).toBeGreaterThanOrEqual(scores.o200k_p95);
  });
});
