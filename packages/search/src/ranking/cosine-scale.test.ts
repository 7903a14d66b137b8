import { describe, expect, it } from 'vitest';
import { type CosineScales, getCosineScale, getScriptGroup, toUsualCosine } from './cosine-scale.ts';
import { WEIGHTS } from './weights.ts';

const { unrelated, related } = WEIGHTS.cosines;

describe('toUsualCosine', () => {
  it('maps the means of a model to those of the bundled model, and keeps the order', () => {
    const scale = { unrelated: 0.7, related: 0.9 };
    expect(toUsualCosine(0.7, scale)).toBeCloseTo(unrelated, 10);
    expect(toUsualCosine(0.9, scale)).toBeCloseTo(related, 10);
    expect(toUsualCosine(0.8, scale)).toBeCloseTo((unrelated + related) / 2, 10);
    expect(toUsualCosine(0.95, scale)).toBeCloseTo((1 + related) / 2, 10);
    expect(toUsualCosine(1, scale)).toBe(1);
  });

  it('keeps cosines without a scale, and unknown cosines', () => {
    expect(toUsualCosine(0.42, undefined)).toBe(0.42);
    expect(toUsualCosine(Number.NaN, { unrelated: 0.7, related: 0.9 })).toBeNaN();
  });
});

describe('getCosineScale', () => {
  const scales: CosineScales = { latin: { unrelated: 0.6, related: 0.9 } };

  it('returns the range of the script of the query', () => {
    expect(getCosineScale(scales, 'where does she live?')).toBe(scales.latin);
  });

  it('returns a range that makes each cosine unknown if the model has no vectors in the script of the query', () => {
    expect(toUsualCosine(0.8, getCosineScale(scales, 'где она живёт?'))).toBeNaN();
  });
});

describe('getScriptGroup', () => {
  it.each([
    ['where does Петя live?', 'latin'],
    ['1234 !?', 'latin'],
    ['где живёт Ann?', 'cyrillic'],
    ['πού μένει;', 'cyrillic'],
    ['أين تسكن', 'arabic'],
    ['वह कहाँ रहती है', 'arabic'],
    ['她住在 Lisbon 哪里？', 'han'],
    ['彼女はどこに住んでいますか', 'han'],
    ['그녀는 어디에 사나요', 'han'],
  ])('returns for %j the group %s', (text, group) => expect(getScriptGroup(text)).toBe(group));
});
