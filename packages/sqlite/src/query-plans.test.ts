import { type FilterCondition, type FilterExpression, toFilterCondition } from '@memoryd/contract';
import { readVerbs, type Sql, sql, type Transaction, toWords, writeVerbs } from '@memoryd/core';
import { setLinks } from '@memoryd/core/operations';
import type { MemoryFilter } from '@memoryd/search';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Connection } from './connection.ts';
import { toQueries, toText, toTransaction } from './dialect.ts';
import { migrate } from './migrate.ts';

/** Matches a plan step that scans all memories of the file, or of a namespace, source, tier or session. */
const SCANS_MEMORIES =
  /^SCAN (m|memory)\b|^SEARCH (m|memory) .*(memory_by_(time|tier|session|source)\b|\(namespace=\?\)$)/;

const PAGE = { limit: 10, maxBytes: 1e6 };
const OF_ADA = { userIds: ['ada'] };
const FIRST = { createdAt: 1, ordinal: 1 };
const WORDS = { whole: ['heron'], beginnings: ['gr'] };
const TAGGED = { tags: ['one', 'other'], source: 'api' };

const { changes, growth, memories, namespaces, newest, namespaceUsage, readGroup, sessions, stats, totals, users } =
  readVerbs;
const { importCopies, importedCopies, importRun, imports, selectForChange, unchangedTexts } = readVerbs;
const { beginChange, beginImport, changeBatch, forgetBatch, restoreImports, undoImportBatch } = writeVerbs;

let connection: Connection;
beforeEach(() => {
  connection = new Sqlite(':memory:');
  migrate(connection);
  connection.exec(`
    INSERT INTO memory VALUES (1, 'a', 'first', 's', '', '', 'x', 'key', 'api', 'episodic', 0.5, 1, 1, 1, NULL, NULL, NULL, NULL, NULL, NULL, 1, 1,
      NULL, x'00', '[]', '{}', 0, 'text');
    INSERT INTO consolidation_run (namespace, id, state, started_at, promoted_until) VALUES ('a', 'run', 'completed', 1, 1);
    INSERT INTO consolidation_change VALUES ('a', 1, 1, 'merged', 1, '{"into":1}');
    INSERT INTO import_run (namespace, id, user_id, agent_id, format, started_at) VALUES ('a', 'i', 'ada', '', 'csv', 1);
    INSERT INTO imported_memory VALUES (1, 'a', 1, NULL, 'digest', 1)`);
});
afterEach(() => connection.close());

/** Returns the query plan steps of all statements that a verb runs. */
async function getPlans(verb: (transaction: Transaction) => Promise<unknown>): Promise<string[]> {
  const queries = toQueries(connection);
  const steps: string[] = [];
  const explain = (statement: Sql) => {
    const plan = connection.prepare(`EXPLAIN QUERY PLAN ${toText(statement)}`).all(...statement.values) as {
      detail: string;
    }[];
    steps.push(...plan.map(({ detail }) => detail));
  };
  await verb({
    ...toTransaction(queries),
    rows<Row>(statement: Sql) {
      explain(statement);
      return queries.rows<Row>(statement);
    },
    row<Row>(statement: Sql) {
      explain(statement);
      return queries.row<Row>(statement);
    },
    run(statement: Sql) {
      explain(statement);
      return queries.run(statement);
    },
  });
  return steps;
}

it.each<[string, (queries: Transaction) => Promise<unknown>]>([
  ['a page of the memory with an external id', (queries) => memories(queries, 'a', { externalId: 'x' }, PAGE, 2)],
  ['a page of tagged memories', (queries) => memories(queries, 'a', TAGGED, PAGE, 2)],
  ['sessions of tagged memories', (queries) => sessions(queries, 'a', { tags: ['one'] }, PAGE, 2)],
  ['a page of a user', (queries) => memories(queries, 'a', OF_ADA, PAGE, 2)],
  ['sessions of a user', (queries) => sessions(queries, 'a', OF_ADA, PAGE, 2)],
  ['the users of a namespace', (queries) => users(queries, 'a', PAGE, 2)],
  [
    'a later page of tagged memories of a user',
    (queries) =>
      memories(queries, 'a', { ...OF_ADA, ...TAGGED, agentIds: ['cook'], since: 1 }, { ...PAGE, after: FIRST }, 2),
  ],
  ['the usage of all namespaces', (queries) => namespaceUsage(queries, 2)],
  ['the names of namespaces', (queries) => namespaces(queries)],
  ['the changes of a run', (queries) => changes(queries, 'a', 1, PAGE)],
  ['a group to distil', (queries) => readGroup(queries, { namespace: 'a', joining: [1], promotedUntil: 5, now: 5 })],
  ['memories to forget by their tag', (transaction) => forgetBatch(transaction, 'a', { tag: 'one' }, 10)],
  [
    'memories whose links are resolved later',
    (transaction) =>
      setLinks(transaction, 'a', [{ kind: 'supersedes', ordinal: 1, userId: '', agentId: '', id: 'other', target: 2 }]),
  ],
])('the query for %s does not scan all memories', async (_name, verb) => {
  const plans = await getPlans(verb);
  expect(plans.some((step) => /^SEARCH (m|memory)\b/.test(step))).toBe(true);
  expect(plans.filter((step) => SCANS_MEMORIES.test(step))).toEqual([]);
});

it.each<[string, MemoryFilter, string[]?]>([
  ['a tag', { tags: ['one'] }],
  ['a tag of a user', { ...OF_ADA, ...TAGGED }],
  ['metadata', { metadata: { kind: 'note' } }],
  ['an external id', { externalId: 'x' }],
  ['an external id of a user', { ...OF_ADA, externalId: 'x' }],
  ['a user', OF_ADA],
  ['a filter', { condition: toFilterCondition({ tag: { $in: ['one', 'other'] } }) as FilterCondition }],
  ['words', { words: WORDS }],
  ['words of a user', { ...OF_ADA, words: WORDS }],
  ['ids and a tag', TAGGED, ['first']],
])(
  'a batch of a change by %s looks up its memories, and no others with the attributes or words',
  async (_name, filter, ids) => {
    const selection = { filter, ...(ids && { ids }) };
    const transaction = toTransaction(toQueries(connection));
    connection.exec(`
      UPDATE memory SET user_id = 'ada', external_id = 'x', tags = '["one","other"]', metadata = '{"kind":"note"}';
      INSERT INTO memory_words VALUES (1, 'a', '')`);
    await transaction.run(
      sql`UPDATE memory_words SET words = ${toWords({ namespace: 'a', ordinal: 1, content: 'grey heron' }).words}`,
    );
    const begun = await beginChange(transaction, 'a', { id: 'change', userId: '', agentId: '', digest: '' }, 2);
    if (begun.outcome !== 'begun') throw new Error(`the change must begin, but is ${begun.outcome}`);
    const selecting = await getPlans((queries) => selectForChange(queries, 'a', begun.no, selection, 2));
    expect(selecting.some((step) => /^SEARCH m\b/.test(step))).toBe(true);
    expect(selecting.filter((step) => SCANS_MEMORIES.test(step))).toEqual([]);
    const batch = {
      ordinals: [1],
      selection,
      changes: { addTags: ['new'], removeTags: ['one'], metadata: { n: 1 } },
      at: 2,
    };
    const plans = await getPlans((queries) => changeBatch(queries, 'a', begun.no, batch));
    const read = plans.filter((step) =>
      /^(SCAN|SEARCH) (m|a|w|o|i|h|f|memory\w*|attribute|field_history|word_index)\b/.test(step),
    );
    expect(read.length).toBeGreaterThan(0);
    expect(
      read.filter((step) => !/^SEARCH \w+ (EXISTS )?USING (INTEGER )?PRIMARY KEY .*(rowid|ordinal)\b/.test(step)),
    ).toEqual([]);
  },
);

it.each<[string, MemoryFilter]>([
  ['a namespace', {}],
  ['a user', OF_ADA],
  ['a user and the shared ones', { userIds: ['ada', ''] }],
  ['an agent', { agentIds: ['cook'] }],
])('the query for the standing notes of %s reads standing notes only', async (_name, filter) => {
  const plans = await getPlans((queries) => newest(queries, 'a', { ...filter, holding: true, at: 2 }, PAGE, 2, true));
  const read = plans.filter((step) => /^(SCAN|SEARCH) m\b/.test(step));
  expect(read.filter((step) => !/ (INDEX memory_standing|INTEGER PRIMARY KEY) /.test(step))).toEqual([]);
});

it.each<[string, FilterExpression, MemoryFilter]>([
  ['tag', { tag: 'one' }, { tags: ['one'] }],
  ['session_id', { session_id: 's' }, { sessionId: 's' }],
  ['source', { source: { $in: ['api'] } }, { source: 'api' }],
  ['tag and source', { $and: [{ tag: 'one', source: 'api' }] }, { tags: ['one'], source: 'api' }],
])('the query for a filter by %s has the plan of the parameter', async (_name, expression, plain) => {
  const condition = toFilterCondition(expression) as FilterCondition;
  for (const of of [{}, OF_ADA]) {
    const read = (filter: MemoryFilter) => getPlans((queries) => memories(queries, 'a', { ...filter, ...of }, PAGE, 2));
    expect(await read({ condition })).toEqual(await read(plain));
  }
});

it.each<[string, FilterExpression]>([
  ['an external id', { external_id: 'x' }],
  ['a tag among others', { tag: { $in: ['one', 'other'] }, importance: { $gt: 0.1 } }],
  ['a number of metadata', { 'metadata.n': 1 }],
])('the query for a filter by %s looks up the attribute', async (_name, expression) => {
  const condition = toFilterCondition(expression) as FilterCondition;
  const plans = await getPlans((queries) => memories(queries, 'a', { condition }, PAGE, 2));
  expect(plans.filter((step) => /^SEARCH a USING (COVERING INDEX|PRIMARY KEY)/.test(step)).length).toBeGreaterThan(0);
  expect(plans.filter((step) => SCANS_MEMORIES.test(step))).toEqual([]);
});

it.each<[string, (queries: Transaction) => Promise<unknown>]>([
  ['sessions', (queries) => sessions(queries, 'a', {}, PAGE, 2)],
  ['sessions of a user', (queries) => sessions(queries, 'a', OF_ADA, PAGE, 2)],
])('the query for %s reads counts in order, and only expired memories', async (_name, verb) => {
  const plans = await getPlans(verb);
  const tables = plans.filter((step) => /^(SCAN|SEARCH) m\b/.test(step));
  const [expired, ...counts] = tables;
  expect(expired).toMatch(/^SEARCH m USING INDEX memory_expiring /);
  expect(counts.filter((step) => !/PRIMARY KEY|session_count_by_user/.test(step))).toEqual([]);
  expect(plans.filter((step) => step.startsWith('USE TEMP B-TREE'))).toEqual(['USE TEMP B-TREE FOR GROUP BY']);
});

it.each<[string, (queries: Transaction) => Promise<unknown>]>([
  ['a namespace', (queries) => stats(queries, 'a', 2)],
  ['all namespaces', (queries) => totals(queries, 2)],
])('the query for the counts of %s reads only memories that expired or may not hold', async (_name, verb) => {
  const plans = await getPlans(verb);
  const read = plans.filter((step) => /^(SCAN|SEARCH) m\b/.test(step));
  expect(read).toEqual([
    'SEARCH m USING INDEX memory_expiring (namespace=? AND expires_at<?)',
    'SEARCH m USING INDEX memory_ending (namespace=? AND valid_to<?)',
    'SEARCH m USING INDEX memory_beginning (namespace=? AND valid_from>?)',
    'SEARCH m USING INDEX memory_by_time (namespace=? AND created_at>?)',
    'SEARCH m USING INTEGER PRIMARY KEY (rowid=?)',
  ]);
  expect(plans.filter((step) => /^SCAN (l|succession)\b/.test(step))).toEqual([]);
});

it.each<[string, (queries: Transaction) => Promise<unknown>]>([
  ['the counts of all namespaces', (queries) => totals(queries, 2)],
  ['the usage of all namespaces', (queries) => namespaceUsage(queries, 2)],
  ['the names of namespaces', (queries) => namespaces(queries)],
])('the query for %s does not read the counts of users', async (_name, verb) => {
  const plans = await getPlans(verb);
  const counts = plans.filter((step) => /\b(tier_count|usage|t)\b/.test(step));
  expect(counts.length).toBeGreaterThan(0);
  expect(counts.filter((step) => !/_of_namespace|SUBQUERY|MATERIALIZE/.test(step))).toEqual([]);
});

it('the query for growth uses only an index', async () => {
  const plans = await getPlans((queries) => growth(queries, 'a', {}, [1, 2], 2));
  expect(plans).toEqual(['SEARCH m USING COVERING INDEX memory_by_tier (namespace=?)']);
});

const NEW_IMPORT = { id: 'j', userId: 'ada', agentId: '', format: 'csv', contentKey: 'k', startedAt: 1 } as const;
const TEXT = { userId: 'ada', agentId: '', externalId: 'x', aliases: ['y'], digest: 'digest' };
const COPY = { ordinal: 1, memoryId: 'first', importId: 'i', changedBy: 'i', digest: 'digest', version: 1 };

it.each<[string, (queries: Transaction) => Promise<unknown>]>([
  ['texts that are unchanged', (queries) => unchangedTexts(queries, 'a', [TEXT])],
  ['an import of a user', (queries) => importRun(queries, 'a', 'i', OF_ADA)],
  ['imports of a user', (queries) => imports(queries, 'a', PAGE, OF_ADA)],
  ['a new import', (queries) => beginImport(queries, 'a', NEW_IMPORT)],
  ['a batch of an undo', (queries) => undoImportBatch(queries, 'a', 'i', {}, { after: 0, at: 1 })],
  ['the changes of an undone import', (queries) => undoImportBatch(queries, 'a', 'i', {}, { after: 1, at: 1 })],
  ['imports to migrate', (queries) => importCopies(queries, 'a', 0, 10)],
  ['memories to migrate', (queries) => importedCopies(queries, 'a', 0, 10)],
  ['memories of a migration', (queries) => restoreImports(queries, 'a', [], [COPY])],
])('the query for %s looks up imports and their memories', async (_name, verb) => {
  const plans = await getPlans(verb);
  expect(plans.filter((step) => /^SCAN (i|m|run|later|import_run|imported_memory)\b/.test(step))).toEqual([]);
  const lists = /USING (COVERING )?INDEX import_run_by_namespace \(namespace=\?\)$/;
  expect(plans.filter((step) => lists.test(step))).toEqual([]);
});
