import { describe, expect, it } from 'vitest';
import { findCorrections } from './corrections.ts';

let ordinals = 0;

const toMemory = (content: string, beginsAt: number) => ({
  ordinal: ++ordinals,
  version: 1,
  content,
  tags: [],
  beginsAt,
});

/** Returns the reason for which the later of two near texts corrects the earlier one, whichever is new. */
function getReason(earlier: string, later: string, { cosine = 0.6, sharedRareWords = 2 } = {}) {
  const [first, second] = [toMemory(earlier, 1), toMemory(later, 2)];
  const candidate = { ordinal: second.ordinal, neighbors: [{ ordinal: first.ordinal, cosine, sharedRareWords }] };
  const [found, ...others] = findCorrections([candidate], [second, first]);
  expect(others).toEqual([]);
  if (found) expect([found.earlier, found.later]).toEqual([first, second]);
  return found?.reason;
}

describe('a correction', () => {
  it.each([
    ['change', 'Deploys of the shop go out on Friday.', 'Deploys of the shop have moved to Tuesday.'],
    ['change', 'Die Chorprobe von Jana ist in der Aula.', 'Die Chorprobe von Jana ist nicht mehr in der Aula.'],
    ['change', 'Le cours de piano de Lou est le lundi.', 'Le cours de piano de Lou a été décalé au jeudi.'],
    ['change', 'Marta trabaja en el archivo de Toledo.', 'Marta ya no trabaja en el archivo de Toledo.'],
    ['number', 'The storage quota of a tenant is 20 GB.', 'The storage quota of each tenant: 50 GB.'],
    ['date', 'The swimming course of Pia is on Mondays.', 'The swimming course of Pia is on Thursday.'],
    ['name', 'Taxes of the shop are prepared by Ada Krol.', 'Ada Krol has retired, the shop sends them to Ben Ott.'],
    ['negation', 'The reader cannot open scanned files.', 'The reader opens scanned files and searches them.'],
  ])('a correction is found for the reason %s: %s %s', (reason, earlier, later) => {
    expect(getReason(earlier, later)).toBe(reason);
  });

  it.each([
    ['equal texts', 'The quota has moved to 20 GB.', 'The quota has moved to 20 GB.'],
    ['a question', 'The storage quota is 20 GB.', 'Has the storage quota changed to 50 GB?'],
    ['an anecdote', 'The storage quota is 20 GB.', 'Years ago the storage quota was 2 GB.'],
    ['events', 'Sold 20 loaves of rye bread today.', 'Sold 35 loaves of rye bread today.'],
    ['appointments', 'Dentist with Pia on 4 May, Friday.', 'Dentist with Pia on 9 November, Monday.'],
    ['another subject', 'The storage quota is 20 GB.', 'The mail gateway has moved to Oslo.'],
    [
      'a change of another subject',
      'The bakery opens on weekdays at 7:00.',
      'The chemist now opens on weekdays at 8:30.',
    ],
    ['several other values', 'Run 11 took 20 minutes, 3 km.', 'Run 12 took 35 minutes, 7 km.'],
    ['an elaboration', 'The storage quota is 20 GB.', 'The storage quota of 20 GB counts attachments.'],
  ])('a correction is not found in %s', (_, earlier, later) => {
    expect(getReason(earlier, later)).toBeUndefined();
  });

  it('a correction needs texts that are near and share a rare word', () => {
    const pair = ['The storage quota is 20 GB.', 'The storage quota is 50 GB.'] as const;
    expect(getReason(...pair)).toBe('number');
    expect(getReason(...pair, { cosine: 0.3 })).toBeUndefined();
    expect(getReason(...pair, { sharedRareWords: 0 })).toBeUndefined();
  });

  it('a correction is sought among the two nearest earlier memories, also if the earlier one is new', () => {
    const quotas = [10, 20, 30].map((quota) => toMemory(`The storage quota of tenants is ${quota} GB.`, quota));
    const later = toMemory('The storage quota of tenants is 50 GB.', 50);
    const near = (memory: { ordinal: number }, cosine: number) => ({
      ordinal: memory.ordinal,
      cosine,
      sharedRareWords: 2,
    });
    const candidate = { ordinal: later.ordinal, neighbors: quotas.map((quota, i) => near(quota, 0.9 - 0.1 * i)) };
    const found = findCorrections([candidate], [...quotas, later]);
    expect(found.map(({ earlier }) => earlier)).toEqual(quotas.slice(0, 2));
    const imported = { ordinal: quotas[0]?.ordinal as number, neighbors: [near(later, 0.9)] };
    expect(findCorrections([imported], [...quotas, later]).map((pair) => pair.later)).toEqual([later]);
  });
});
