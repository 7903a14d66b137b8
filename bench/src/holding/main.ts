import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MemoryClient } from '@memoryd/client';
import type { RecallResult, StoreRequest } from '@memoryd/contract';

import { Command } from 'commander';
import { waitForEmbeddings } from '../embedding-wait.ts';
import { runInterruptibly } from '../interruption.ts';
import { assertHealthy, withServer } from '../server-process.ts';
import { alignTable } from '../table.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';

const FOLDER = join(import.meta.dirname, '../../sets/holding');

const { list } = new Command('npm run bench:holding --')
  .description('Measures whether the fact that holds comes first, and whether recall is silent where nothing answers.')
  .option('--list', 'also print each question that failed, with its first results')
  .parse()
  .opts<{ list?: true }>();

/** A memory of a set. Times are ISO 8601. */
interface Note {
  id: string;
  text: string;
  created_at?: string;
  session_id?: string;
  tags?: string[];
}

/** An older and a newer memory about one thing, and a question that one of them answers. */
interface Pair {
  id: string;
  kind: 'replaced' | 'both';
  wording: string;
  older: Omit<Note, 'id'>;
  newer: Omit<Note, 'id'>;
  question: string;
  first: 'older' | 'newer';
}

/** A small store with a question, and the index of the memory that must come first. */
interface Example {
  id: string;
  kind: string;
  memories: Omit<Note, 'id'>[];
  question: string;
  first: number;
}

/** A question about the notes. `answers`: all notes that answer it; empty if nothing does. */
interface Question {
  id: string;
  kind: string;
  question: string;
  answers: string[];
  first: string | null;
}

/** Number of results in which a memory counts as returned. */
const RESULTS = 10;

const BATCH_SIZE = 100;

/** Outcomes by group, such as a kind of question. */
class Tally {
  readonly #rows = new Map<string, { right: number; all: number }>();

  count(group: string, isRight: boolean, amount = 1): void {
    const row = this.#rows.get(group) ?? { right: 0, all: 0 };
    this.#rows.set(group, { right: row.right + (isRight ? amount : 0), all: row.all + amount });
  }

  toRows(title: string): string[][] {
    return [...this.#rows].map(([group, { right, all }]) => [
      title,
      group,
      `${right} of ${all}`,
      (right / all).toFixed(2),
    ]);
  }
}

await runInterruptibly(async (signal) => {
  const rows = [
    ...(await measurePairs('pairs', signal)),
    ...(await measurePairs('pairs-reworded', signal)),
    ...(await measureExamples(signal)),
    ...(await measureNotes(signal)),
  ];
  process.stdout.write(`${JSON.stringify(rows)}\n`);
  process.stderr.write(`${alignTable(['', '', 'right', ''], rows)}\n`);
});

function readLines<Line>(name: string): Line[] {
  return readFileSync(join(FOLDER, name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

/** Stores notes in a new server, and runs work on it when the notes have vectors and were consolidated twice. */
function withNotes<T>(
  notes: readonly Note[],
  signal: AbortSignal,
  work: (memory: MemoryClient, ids: ReadonlyMap<string, string>) => Promise<T>,
): Promise<T> {
  return withTemporaryFolder((folder) => {
    const environment = { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' };
    return withServer(
      { folder, environment, connections: 1, signal, probe: assertHealthy },
      async ({ client, origin }) => {
        const memory = new MemoryClient({ url: origin });
        const ids = await storeAll(memory, notes);
        await waitForEmbeddings(client, signal);
        for (let run = 0; run < 2; run++) await memory.consolidate();
        return work(memory, ids);
      },
    );
  });
}

/** Stores notes in the order of their times. Returns the ids of the notes by the ids of the memories. */
async function storeAll(memory: MemoryClient, notes: readonly Note[]): Promise<ReadonlyMap<string, string>> {
  const ids = new Map<string, string>();
  const inOrder = notes.toSorted((a, b) => (a.created_at ?? '').localeCompare(b.created_at ?? ''));
  for (let from = 0; from < inOrder.length; from += BATCH_SIZE) {
    const some = inOrder.slice(from, from + BATCH_SIZE);
    const requests = some.map(({ id: _, text, ...fields }): StoreRequest => ({ content: text, ...fields }));
    const { results } = await memory.storeBatch(requests);
    for (const [i, result] of results.entries()) {
      if (!('id' in result)) throw new Error(`not stored: ${result.error.message}`);
      ids.set(result.id, some[i]?.id as string);
    }
  }
  return ids;
}

async function recall(memory: MemoryClient, query: string, only_relevant = false): Promise<RecallResult[]> {
  return (await memory.recall({ query, top_k: RESULTS, only_relevant, track: false })).results;
}

function print(id: string, question: string, results: readonly RecallResult[], expected: string): void {
  if (!list) return;
  const lines = results.slice(0, 4).map(({ score, content }) => `    ${score.toFixed(3)} ${content.slice(0, 140)}`);
  process.stderr.write(`${id} ${question}\n    expected ${expected.slice(0, 140)}\n${lines.join('\n')}\n`);
}

/** @param name of the file of pairs; `pairs-reworded` has newer facts with few words of the question */
async function measurePairs(name: string, signal: AbortSignal): Promise<string[][]> {
  const pairs = readLines<Pair>(`${name}.jsonl`);
  const others = readLines<Note>('pairs-others.jsonl');
  const notes = pairs.flatMap(({ id, older, newer }) => [
    { id: `${id} older`, ...older },
    { id: `${id} newer`, ...newer },
  ]);
  return withNotes([...notes, ...others], signal, async (memory, ids) => {
    const first = new Tally();
    const kept = new Tally();
    for (const pair of pairs) {
      const results = await recall(memory, pair.question);
      const returned = results.map(({ id }) => ids.get(id));
      const isRight = returned[0] === `${pair.id} ${pair.first}`;
      first.count('all', isRight);
      first.count(pair.kind === 'both' ? 'both hold' : pair.wording, isRight);
      if (!isRight) print(pair.id, pair.question, results, pair[pair.first].text);
      if (pair.kind !== 'both') continue;
      const isKept = ['older', 'newer'].every((which) => returned.includes(`${pair.id} ${which}`));
      kept.count('both hold', isKept && results.every(({ superseded_by }) => superseded_by === undefined));
    }
    return [...first.toRows(`${name}, right one first`), ...kept.toRows(`${name}, both returned`)];
  });
}

async function measureExamples(signal: AbortSignal): Promise<string[][]> {
  const first = new Tally();
  for (const { id, kind, memories, question, first: right } of readLines<Example>('order-examples.jsonl')) {
    await withNotes(
      memories.map((fields, i) => ({ id: String(i), ...fields })),
      signal,
      async (memory, ids) => {
        const results = await recall(memory, question);
        const isRight = ids.get(results[0]?.id ?? '') === String(right);
        first.count(kind, isRight);
        if (!isRight) print(id, question, results, memories[right]?.text ?? '');
      },
    );
  }
  return first.toRows('examples, right one first');
}

async function measureNotes(signal: AbortSignal): Promise<string[][]> {
  return withNotes(readLines<Note>('notes.jsonl'), signal, async (memory, ids) => {
    const tallies = { first: new Tally(), returned: new Tally(), precision: new Tally(), kept: new Tally() };
    const silent = new Tally();
    for (const question of readLines<Question>('questions.jsonl')) {
      const all = toNotes(await recall(memory, question.question), ids);
      const relevant = toNotes(await recall(memory, question.question, true), ids);
      if (question.answers.length > 0) countAnswers(tallies, question, all, relevant);
      else silent.count(question.kind, relevant.length === 0);
      if (question.answers.length === 0 && relevant.length > 0)
        print(question.id, question.question, relevant, 'nothing');
    }
    return [
      ...tallies.first.toRows('notes, right one first'),
      ...tallies.returned.toRows('notes, answers among the first ten'),
      ...tallies.precision.toRows('only_relevant, results that answer'),
      ...tallies.kept.toRows('only_relevant, answers kept'),
      ...silent.toRows('only_relevant, silent'),
    ];
  });
}

/** Returns results with the ids of their notes. */
function toNotes(results: readonly RecallResult[], ids: ReadonlyMap<string, string>): RecallResult[] {
  return results.map((result) => ({ ...result, id: ids.get(result.id) ?? 'summary' }));
}

function countAnswers(
  tallies: Record<'first' | 'returned' | 'precision' | 'kept', Tally>,
  { id, kind, question, answers, first }: Question,
  all: readonly RecallResult[],
  relevant: readonly RecallResult[],
): void {
  const isAnswer = (result: RecallResult) => answers.includes(result.id);
  const isRight = all[0] !== undefined && (first === null ? isAnswer(all[0]) : all[0].id === first);
  for (const group of ['all', kind]) tallies.first.count(group, isRight);
  if (!isRight) print(id, question, all, `${first ?? answers.join()}`);
  const found = all.filter(isAnswer);
  tallies.returned.count(kind, true, found.length);
  tallies.returned.count(kind, false, answers.length - found.length);
  for (const result of relevant) tallies.precision.count('all', isAnswer(result));
  for (const { id: of } of found)
    tallies.kept.count(
      'all',
      relevant.some((result) => result.id === of),
    );
}
