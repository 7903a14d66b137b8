import type { ExportedMemory, MemoryApi } from '@memoryd/contract';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const DAY_MS = 24 * 60 * 60 * 1000;
const NOW = Date.now();
/** The cases begin ten days before the present. */
const START = NOW - 10 * DAY_MS;
const FOREVER = Number.POSITIVE_INFINITY;

const toIso = (time: number) => new Date(time).toISOString();

const FACT_AT = START + DAY_MS;
const CORRECTION_AT = START + 2 * DAY_MS;
const FACT_END = START + 5 * DAY_MS;
const CORRECTION_END = START + 6 * DAY_MS;
const LATER_CORRECTION_AT = NOW + 20 * DAY_MS;
const LATER_FACT_AT = NOW + 30 * DAY_MS;
const LATER_END = NOW + 35 * DAY_MS;

/** The times at which a case changes, in ISO 8601: a period includes its begin and not its end. */
export const WHAT_HOLDS_AT = {
  'just before the fact': toIso(FACT_AT - 1),
  'the begin of the fact': toIso(FACT_AT),
  'the begin of the correction': toIso(CORRECTION_AT),
  'the end of the fact': toIso(FACT_END),
  'the end of the correction': toIso(CORRECTION_END),
  'the begin of the later correction': toIso(LATER_CORRECTION_AT),
  'the begin of the later fact': toIso(LATER_FACT_AT),
  'the later end of the correction': toIso(LATER_END),
} as const;

const SUCCESSORS = ['none', 'live', 'ending', 'not begun', 'ended', 'expired', 'forgotten', 'archived'] as const;
const INTERVALS = ['open', 'past', 'future'] as const;
const DUPLICATES = ['none', 'merged', 'not merged'] as const;

/** The parts of a case, which are the names of its memories. Each text is found by `WHAT_HOLDS_QUERY`. */
const TEXTS = {
  fact: 'The heron of Caf\u00e9 Mill eats carp.',
  // Equal to the fact after NFC and trimming.
  repeat: 'The heron of Cafe\u0301 Mill eats carp. ',
  companion: 'The heron of the quarry sleeps at noon.',
  summary: 'Heron habits: carp, and a nap.',
  correction: 'The heron of Caf\u00e9 Mill eats perch now.',
} as const;
type Name = keyof typeof TEXTS;

/** A query that finds all memories of a case. */
export const WHAT_HOLDS_QUERY = 'heron';

/** A memory of the model. Times in ms since 1970. */
interface Held {
  begin: number;
  end: number;
  /** Whether it exists and has not expired. */
  counts: boolean;
  /** Some readers return merged and archived memories. None returns what was forgotten or has expired. */
  state: 'visible' | 'merged' | 'archived' | 'gone';
  successors: Held[];
  /** The sources of a summary. */
  sources: Held[];
}

// The rule of validity.
const getReplacement = ({ successors }: Held, at: number): Held | undefined =>
  successors.filter(({ begin, end, counts }) => counts && begin <= at && at < end).sort((a, b) => a.begin - b.begin)[0];
const holds = (memory: Held, at: number): boolean =>
  memory.begin <= at &&
  at < memory.end &&
  getReplacement(memory, at) === undefined &&
  memory.sources.every((source) => holds(source, at));

/** One combination of successor, period, duplicates and summary. Its memories have a user and a session of their own. */
interface Case {
  name: string;
  successor: (typeof SUCCESSORS)[number];
  interval: (typeof INTERVALS)[number];
  duplicates: (typeof DUPLICATES)[number];
  isSummarized: boolean;
}

const CASES: Case[] = SUCCESSORS.flatMap((successor) =>
  INTERVALS.flatMap((interval) =>
    DUPLICATES.flatMap((duplicates) =>
      [false, true].map((isSummarized) => ({
        name: `successor ${successor}, period ${interval}, duplicates ${duplicates}, ${isSummarized ? 'a' : 'no'} summary`,
        ...{ successor, interval, duplicates, isSummarized },
      })),
    ),
  ),
);

/** The ends of corrections that hold for a time. */
const CORRECTION_ENDS: Partial<Record<Case['successor'], number>> = { ended: CORRECTION_END, ending: LATER_END };

/** Returns the memories of a case as the rule sees them at present. */
function toModel({ successor, interval, duplicates, isSummarized }: Case): Partial<Record<Name, Held>> {
  const open = { begin: FACT_AT, end: FOREVER, counts: true, state: 'visible' as const };
  const correction = {
    ...open,
    begin: successor === 'not begun' ? LATER_CORRECTION_AT : CORRECTION_AT,
    end: CORRECTION_ENDS[successor] ?? FOREVER,
    counts: successor !== 'expired' && successor !== 'forgotten',
    state: getState(successor),
    ...{ successors: [], sources: [] },
  };
  const successors = successor === 'none' ? [] : [correction];
  const fact = {
    ...open,
    ...(interval === 'future' && { begin: LATER_FACT_AT }),
    ...(interval === 'past' && { end: FACT_END }),
    ...{ successors, sources: [] },
  };
  const repeat = duplicates === 'merged' ? { ...fact, state: 'merged' as const } : { ...open, successors, sources: [] };
  const companion = { ...open, successors: [], sources: [] };
  const summary = { ...open, successors: [], sources: [fact, companion] };
  return {
    fact,
    ...(duplicates !== 'none' && { repeat }),
    ...(isSummarized && { companion }),
    // It ends for good as soon as a source has a successor or an end.
    ...(isSummarized && successor === 'none' && interval !== 'past' && { summary }),
    ...(successor !== 'none' && { correction }),
  };
}

function getState(successor: Case['successor']): Held['state'] {
  if (successor === 'archived') return 'archived';
  return successor === 'expired' || successor === 'forgotten' ? 'gone' : 'visible';
}

/** Reads the memories of one case. */
export interface WhatHoldsReader<Connection> {
  name: string;
  /**
   * Returns the ids of the memories that it returns, or, with `byText`, texts that contain theirs. With `replacements`,
   * the ids of all memories, each with the id in `superseded_by`, separated by a blank. With `count`, only their number.
   *
   * @param of the name of the user, the session and a tag of all memories of the case
   */
  read(connection: Connection, of: { user: string; ids: readonly string[] }): Promise<readonly string[]>;
  /** `holding` if absent. `unreplaced`: the memories that no other replaces, whatever their period. */
  returns?: 'holding' | 'unreplaced' | 'replacements' | 'count';
  /** The time that the reader asks for; the present if absent. */
  time?: string;
  byText?: true;
  /** For readers of sessions, since a summary belongs to none. */
  withoutSummaries?: true;
  /** States of memories that the reader returns too. */
  also?: readonly ('merged' | 'archived')[];
}

/** An API in this process, and a way to close it. */
type Opened = MemoryApi & { close(): Promise<void> };

interface WhatHoldsUnderTest<Connection> {
  /** Opens the database with these settings, without an embedder and without consolidation by itself. */
  open(settings: { clock: { now(): number }; episodicMax: number; archiveDays: number }): Promise<Opened>;
  /** Connects the readers to the database, with the clock of the system. */
  connect(): Promise<{ connection: Connection; close(): Promise<void> }>;
  readers: readonly WhatHoldsReader<Connection>[];
  /** Number of consolidation runs before the readers read; 0 if absent. */
  runs?: number;
}

/**
 * Contract tests of the readers of memories: each returns what the rule of validity says, for every combination of a
 * successor, the memory's own period, duplicates and a summary.
 */
export function whatHoldsContract<Connection>({ open, connect, readers, runs = 0 }: WhatHoldsUnderTest<Connection>) {
  const ids = new Map<string, Map<Name, string>>();
  let connected: Awaited<ReturnType<typeof connect>>;
  beforeAll(async () => {
    for (const { name } of CASES) ids.set(name, new Map());
    await storeCases(open, ids, runs);
    connected = await connect();
  });
  afterAll(() => connected?.close());

  describe.each(readers)('$name', (reader) => {
    const { returns = 'holding', byText, also = [], withoutSummaries } = reader;
    const states: readonly Held['state'][] = ['visible', ...also];
    const at = reader.time === undefined ? NOW : Date.parse(reader.time);

    /** Returns what the rule says that the reader returns. */
    function getExpected(ofCase: Case): string[] {
      const model = toModel(ofCase);
      const named = (Object.entries(model) as [Name, Held][]).filter(
        ([name, { state }]) => states.includes(state) && !(withoutSummaries && name === 'summary'),
      );
      const toName = (held: Held | undefined) => (held ? 'correction' : 'none');
      if (returns === 'replacements') {
        return named.map(([name, held]) => `${name} ${toName(getReplacement(held, at))}`).sort();
      }
      const isReturned = ([, held]: [Name, Held]) =>
        returns === 'unreplaced' ? getReplacement(held, at) === undefined : holds(held, at);
      const returned = named.filter(isReturned).map(([name]) => (byText && name === 'repeat' ? 'fact' : name));
      return returns === 'count' ? [String(returned.length)] : [...new Set(returned)].sort();
    }

    async function read({ name: user }: Case): Promise<string[]> {
      const ofCase = ids.get(user) as Map<Name, string>;
      const items = await reader.read(connected.connection, { user, ids: [...ofCase.values()] });
      if (byText) {
        const text = items.join('\n').normalize('NFC');
        const names = Object.keys(TEXTS) as Name[];
        return names.filter((name) => name !== 'repeat' && text.includes(TEXTS[name].trim())).sort();
      }
      const names = new Map([...ofCase].map(([name, id]) => [id, name]));
      const toName = (id: string) => (returns === 'count' ? id : (names.get(id) ?? id));
      return items
        .map((item) => item.split(' ').map(toName).join(' '))
        .map((item) => (returns === 'replacements' && !item.includes(' ') ? `${item} none` : item))
        .sort();
    }

    it(`returns ${returns === 'replacements' ? 'what replaces each memory' : 'what the rule says'} in every case`, async () => {
      const differing: string[] = [];
      for (const each of CASES) {
        const [expected, got] = [getExpected(each), await read(each)].map((names) => names.join(', ') || 'nothing');
        if (got !== expected) differing.push(`${each.name}: expected ${expected}; got ${got}`);
      }
      expect(differing.join('\n')).toBe('');
    });
  });
}

type Ids = ReadonlyMap<string, Map<Name, string>>;

/** Stores, corrects, ends, forgets and archives the memories of all cases, over ten days. */
async function storeCases(open: WhatHoldsUnderTest<unknown>['open'], ids: Ids, runs: number): Promise<void> {
  let now = FACT_AT;
  const settings = { clock: { now: () => now }, archiveDays: 3650 };
  const at = (day: number) => {
    now = START + day * DAY_MS;
  };
  const archived = CASES.filter(({ successor }) => successor === 'archived');
  const others = CASES.filter(({ successor }) => successor !== 'archived');

  let api = await open({ ...settings, episodicMax: 0 });
  at(1.2);
  await importFacts(api, ids, archived);
  at(2);
  await storeCorrections(api, ids, archived);
  // One memory stays: a correction of high importance.
  const { id } = await api.store({ content: 'Owls', session_id: 'owls' });
  await api.store({ content: 'Eagle owls', session_id: 'owls', importance: 1, supersedes: id });
  await api.close();
  api = await open({ ...settings, episodicMax: 1 });
  at(2.1);
  expect((await api.consolidate()).evicted_count).toBeGreaterThan(archived.length);
  await api.close();
  api = await open({ ...settings, episodicMax: 0 });
  at(2.2);
  await restoreFacts(api, ids, archived);
  await importFacts(api, ids, others);
  await storeCorrections(api, ids, others);
  at(3);
  for (const { name, successor } of CASES) {
    if (successor === 'forgotten') await api.forget(ids.get(name)?.get('correction') as string);
  }
  at(4);
  for (const { name, interval } of CASES) {
    if (interval !== 'past') continue;
    await api.update(ids.get(name)?.get('fact') as string, { valid_to: toIso(FACT_END) });
  }
  for (let run = 0; run < runs; run++) {
    at(8 + run);
    await api.consolidate();
  }
  await api.close();
}

/** Imports facts, their duplicates, companions and summaries, and merges the duplicates. */
async function importFacts(api: MemoryApi, ids: Ids, cases: readonly Case[]): Promise<void> {
  const records = cases.flatMap((each) => toRecords(each, ids.get(each.name) as Map<Name, string>));
  const lines = [{ format: 'memoryd', version: 1, lines: records.length }, ...records];
  await api.importMemories(toBytes(lines));
  await api.consolidate();
  for (const { name, duplicates } of cases) {
    if (duplicates === 'none') continue;
    const [fact, repeat] = (['fact', 'repeat'] as const).map((part) => ids.get(name)?.get(part) as string);
    const survivor = duplicates === 'merged' ? fact : null;
    expect(await api.memory(repeat as string), name).toMatchObject({ merged_into: survivor });
  }
}

async function* toBytes(lines: readonly object[]): AsyncIterable<Uint8Array> {
  for (const line of lines) yield new TextEncoder().encode(JSON.stringify(line));
}

function toRecords({ name: user, interval, duplicates, isSummarized }: Case, ids: Map<Name, string>): ExportedMemory[] {
  const begin = interval === 'future' ? LATER_FACT_AT : null;
  const toRecord = (name: Name, validFrom: number | null, fields: Partial<ExportedMemory> = {}): ExportedMemory => {
    const id = `${name}-${CASES.findIndex((each) => each.name === user)}`;
    ids.set(name, id);
    return {
      ...{ id, content: TEXTS[name], tags: [user], importance: 0.5, source: 'test', session_id: user, user_id: user },
      ...{ tier: 'episodic', metadata: {}, created_at: toIso(FACT_AT), stored_at: toIso(FACT_AT) },
      ...{ updated_at: toIso(FACT_AT), expires_at: null, evicted_at: null, accessed_at: null, access_count: 0 },
      ...{ valid_from: validFrom === null ? null : toIso(validFrom), valid_to: null },
      ...{ supersedes: null, superseded_by: [], merged_into: null, derived_from: [], formerly_derived_from: [] },
      ...{ version: 1, revision: 1, distilled_revision: null, history: [], awaits: ['merging'] },
      ...fields,
    };
  };
  const named = (name: Name) => ({ external_id: name });
  const records = [toRecord('fact', begin, named('fact'))];
  if (duplicates === 'merged') records.push(toRecord('repeat', begin));
  // Memories with different metadata are not merged.
  if (duplicates === 'not merged')
    records.push(toRecord('repeat', null, { metadata: { by: 'an' }, ...named('repeat') }));
  if (!isSummarized) return records;
  const companion = toRecord('companion', null, named('companion'));
  const derived_from = [records[0]?.id as string, companion.id];
  const distilled = { tier: 'semantic', source: 'consolidation', session_id: null, distilled_revision: 1 } as const;
  const summary = toRecord('summary', begin, { ...distilled, derived_from, awaits: [] });
  return [...records, companion, summary];
}

async function storeCorrections(api: MemoryApi, ids: Ids, cases: readonly Case[]): Promise<void> {
  const corrected = cases.filter(({ successor }) => successor !== 'none');
  const { results } = await api.storeBatch(
    corrected.map(({ name, successor }) => ({
      ...{ content: TEXTS.correction, user_id: name, session_id: name, tags: [name] },
      ...{ supersedes: ids.get(name)?.get('fact') as string, created_at: toIso(CORRECTION_AT) },
      ...(successor === 'not begun' && { valid_from: toIso(LATER_CORRECTION_AT) }),
      ...(CORRECTION_ENDS[successor] !== undefined && { valid_to: toIso(CORRECTION_ENDS[successor]) }),
      ...(successor === 'expired' && { expires_at: toIso(CORRECTION_END) }),
    })),
  );
  for (const [i, { name }] of corrected.entries()) {
    ids.get(name)?.set('correction', (results[i] as { id: string }).id);
  }
}

/** Returns archived facts and companions to recall: a store with the external id of an archived memory restores it. */
async function restoreFacts(api: MemoryApi, ids: Ids, cases: readonly Case[]): Promise<void> {
  const restored = cases.flatMap(({ name, duplicates }) =>
    (['fact', 'repeat', 'companion'] as const)
      .filter((part) => ids.get(name)?.has(part) && !(part === 'repeat' && duplicates === 'merged'))
      .map((part) => ({ content: TEXTS[part], user_id: name, external_id: part, importance: 0.6 })),
  );
  const { results } = await api.storeBatch(restored);
  expect(results.filter((result) => !('created' in result) || result.created)).toEqual([]);
}
