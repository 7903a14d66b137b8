import { getGroup } from '@memoryd/suites';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { selectAgreeing } from '../src/distil/agreement.ts';

const QUOTED = { onlyEnglish: true, quoted: true };

/** Returns the texts that may be distilled together. */
function agreeing(texts: readonly string[], options = QUOTED): string[] {
  return selectAgreeing(getGroup(...texts).sources, options).map(({ content }) => content);
}

const GREENHOUSE = [
  'Mara planted twelve tomato seedlings in the Aldgrove greenhouse.',
  'The tomato seedlings in the Aldgrove greenhouse need water every second day.',
  'Mara moved the tomato plants in the Aldgrove greenhouse away from the heater.',
  'The tomatoes in the Aldgrove greenhouse are ripening, Mara says.',
  'Mara picked the first ripe tomatoes in the Aldgrove greenhouse.',
];

describe('selectAgreeing for quoted sources', () => {
  it('returns all sources if they state different facts about one subject', () => {
    expect(agreeing(GREENHOUSE)).toEqual(GREENHOUSE);
  });

  it('returns only the sources that share a subject', () => {
    expect(agreeing([...GREENHOUSE, 'The violin concerto begins with a long silence.'])).toEqual(GREENHOUSE);
  });

  it.each([
    ['a negation', 'The backup job runs on Sunday.', 'The backup job does not run on Sunday.'],
    ['a contracted negation', 'The backup job runs on Sunday.', "The backup job doesn't run on Sunday."],
    ['"never"', 'Ada eats walnuts in winter.', 'Ada never eats walnuts in winter.'],
    ['a number', 'The alarm code is 7788.', 'The alarm code is 1234.'],
    ['a value', 'The standup meeting is on Monday at nine.', 'The standup meeting is on Tuesday at ten.'],
    ['an opposite', 'The staging server is up again.', 'The staging server is down again.'],
    ['a person and a value', 'Ada’s favourite colour is green.', 'Ben’s favourite colour is red.'],
    ['one sentence of several', 'All is well. The alarm code is 7788.', 'We moved. The alarm code is 1234. Bye.'],
  ])('drops sources that contradict each other by %s', (_, one, other) => {
    expect(agreeing([one, other])).toEqual([]);
    // The same with other sources on the subject.
    const [subject = ''] =
      /backup job|walnuts|alarm code|standup meeting|staging server|favourite colour/.exec(one) ?? [];
    const others = [
      `We talked for an hour about the ${subject} last week.`,
      `Nobody here likes the old ${subject} much.`,
    ];
    expect(agreeing([one, ...others, other])).toEqual(others);
  });

  it.each([
    ['the same fact', 'The backup job runs on Sunday.', 'The backup job runs on Sunday.'],
    ['an additional detail', 'The backup job runs on Sunday.', 'The backup job runs on Sunday at four.'],
    ['the same negation', 'The backup job does not run on Sunday.', 'The backup job never runs on Sunday.'],
  ])('returns both sources if the second states %s', (_, one, other) => {
    expect(agreeing([one, other])).toEqual([one, other]);
  });

  it('returns only the sources of one speaker, who is named by a tag or before a colon', () => {
    const turns = [
      'Ada: My cat Mimi likes tuna.',
      'Ada: The cat Mimi is asleep.',
      'Ben: A cat like Mimi costs too much.',
    ];
    expect(agreeing(turns)).toEqual(turns.slice(0, 2));
    const tagged = getGroup('The cat likes tuna.', 'My cat is asleep again.', 'A cat costs too much.').sources.map(
      (source, i) => ({ ...source, tags: [`role:${i === 1 ? 'assistant' : 'user'}`] }),
    );
    expect(selectAgreeing(tagged, QUOTED).map(({ id }) => id)).toEqual(['memory-1', 'memory-3']);
  });

  it('returns only sources in a language that the embedder supports', () => {
    const korean = [
      '회의는 월요일에 있습니다.',
      '고양이는 참치를 좋아합니다.',
      '기차는 아홉 시에 있습니다.',
      '날씨가 좋습니다.',
    ];
    const japanese = ['会議は月曜日です。', '猫はマグロが好きです。', '電車は九時に出ます。'];
    const german = ['Der Kater schläft auf dem Sofa.', 'Der Kater mag keinen Fisch.', 'Der Kater ist nicht zu Hause.'];
    for (const texts of [korean, japanese, german]) expect(agreeing(texts)).toEqual([]);
    expect(agreeing(german, { onlyEnglish: false, quoted: true })).toEqual(german);
  });
});

describe('selectAgreeing for sources that a language model rewrites', () => {
  const read = { onlyEnglish: true, quoted: false };

  it('returns contradictory sources by several speakers', () => {
    const texts = ['Ada: The alarm code is 7788.', 'Ben: The alarm code is 1234.'];
    expect(agreeing(texts, read)).toEqual(texts);
  });

  it('returns the sources that share a subject and are in a language that the embedder supports', () => {
    expect(agreeing([...GREENHOUSE, 'The violin begins.', '고양이는 참치를 좋아합니다.'], read)).toEqual(GREENHOUSE);
  });
});

describe('selectAgreeing for any sources', () => {
  const words = fc.constantFrom(
    'Ada',
    'tea',
    'not',
    'likes',
    'the',
    'code',
    '7',
    '8',
    'is',
    'in',
    'Oslo',
    'never',
    'Ben:',
  );
  const texts = fc.array(
    fc.array(words, { minLength: 1, maxLength: 9 }).map((some) => some.join(' ')),
    { maxLength: 12 },
  );

  it('keeps the order of the sources, and removes nothing when it is applied to its result', () => {
    fc.assert(
      fc.property(texts, fc.boolean(), fc.boolean(), (some, onlyEnglish, quoted) => {
        const options = { onlyEnglish, quoted };
        const { sources } = getGroup(...some);
        const once = selectAgreeing(sources, options);
        expect(sources.filter((source) => once.includes(source))).toEqual(once);
        expect(selectAgreeing(once, options)).toEqual(once);
      }),
    );
  });
});
