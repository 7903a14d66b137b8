import fc from 'fast-check';
import { expect, it } from 'vitest';
import { asksForBefore, toCurrentRecall } from './current-recall.ts';

it.each([
  'Where did Petra use to live? She used to rent.',
  'What car did Aunt Rosalind use to drive?',
  'what was the Previous price',
  'Which editor did we use at first?',
  'What was originally planned?',
  'Which phone number did I have before?',
  'Where did Ada live in 2019?',
  'Wo hat Petra früher gewohnt?',
  'Wer war der ehemalige Chef?',
  'Quel était l’ancien prix ?',
  '¿Dónde vivía antes?',
  'Где Петра жила раньше?',
  '她以前住在哪里？',
  'ペトラは前はどこに住んでいましたか',
  'Petra eskiden nerede yaşıyordu?',
])('asksForBefore recognizes a question about what was before: %s', (question) => {
  expect(asksForBefore(question)).toBe(true);
});

it.each([
  'Where does Petra live now?',
  'Who sang the prima donna?',
  'Which avant-garde film does she like?',
  'How long ago did we move?',
  'Where are the old photos?',
  'What is in order 2021?',
  'Is 2019 Main Street the address?',
  'What is the price of the plan?',
  'Is the beforehand list ready?',
  'How old is Ada?',
  'What happens in 2999?',
  'Wo wohnt Petra?',
  '她住在哪里？',
])('asksForBefore returns false for a question about the present: %s', (question) => {
  expect(asksForBefore(question)).toBe(false);
});

it('toCurrentRecall adds current to a question about the present only, and never to a request that says otherwise', () => {
  const said = fc.record(
    {
      current: fc.boolean(),
      superseded: fc.boolean(),
      as_of: fc.constant('2026-01-01'),
      known_at: fc.constant('2026-01-01'),
    },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(said, fc.constantFrom('Where does she live?', 'Where did she live before?'), (fields, query) => {
      const isDefault = Object.keys(fields).length === 0 && !query.includes('before');
      expect(toCurrentRecall({ query, ...fields })).toEqual({ query, ...fields, ...(isDefault && { current: true }) });
    }),
  );
});
