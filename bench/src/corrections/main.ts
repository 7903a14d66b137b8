import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eachCorrection, MemoryClient } from '@memoryd/client';
import type { StoreRequest } from '@memoryd/contract';
import { Command } from 'commander';
import { waitForEmbeddings } from '../embedding-wait.ts';
import { runInterruptibly } from '../interruption.ts';
import { assertHealthy, withServer } from '../server-process.ts';
import { alignTable } from '../table.ts';
import { withTemporaryFolder } from '../temporary-folder.ts';

const FOLDER = join(import.meta.dirname, '../../sets/corrections');

/** `third` was written and measured after the rules were final. */
const HALVES = ['tune', 'judge', 'third'] as const;
type Half = (typeof HALVES)[number];

const { half, list } = new Command('npm run bench:corrections --')
  .description('Measures the precision and recall of suggested corrections on labeled memories.')
  .option('--half <name>', `measure only one half: ${HALVES.join(' or ')}`)
  .option('--list', 'also print each wrong suggestion, and each correction that was not suggested; tune half only')
  .parse()
  .opts<{ half?: Half; list?: true }>();

/** A memory of a scope. Times are ISO 8601. */
interface Note {
  scope: string;
  id: string;
  text: string;
  created_at: string;
}

/** A correction. `chain`: a later correction of the same state is labeled too, so that this one need not be suggested. */
interface Label {
  older: string;
  newer: string;
  reason: string;
  chain?: true;
}

/** A pair that is no correction although it looks like one. */
interface Hard {
  older: string;
  newer: string;
  kind: string;
}

await runInterruptibly(async (signal) => {
  const rows: string[][] = [];
  for (const each of half ? [half] : HALVES) rows.push(...(await measure(each, signal)));
  process.stdout.write(`${JSON.stringify(rows)}\n`);
  process.stderr.write(`${alignTable(['', '', 'pairs', ''], rows)}\n`);
});

function readLines<Line>(name: string): Line[] {
  const lines = readFileSync(join(FOLDER, name), 'utf8')
    .split('\n')
    .filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line) as Line);
}

function toKey({ older, newer }: Pick<Label, 'older' | 'newer'>): string {
  return `${older} ${newer}`;
}

async function measure(name: Half, signal: AbortSignal): Promise<string[][]> {
  const notes = readLines<Note>(`${name}.jsonl`);
  const labels = new Map(readLines<Label>(`${name}-labels.jsonl`).map((label) => [toKey(label), label]));
  const hard = new Map(readLines<Hard>(`${name}-hard.jsonl`).map((pair) => [toKey(pair), pair.kind]));
  const suggested = await suggest(notes, signal);
  const right = suggested.filter((key) => labels.has(key));
  const wrong = suggested.filter((key) => !labels.has(key));
  const wanted = [...labels].filter(([, { chain }]) => !chain);
  const found = wanted.filter(([key]) => suggested.includes(key));
  if (list && name === 'tune') print(notes, wrong, wanted);
  const reasons = [...new Set(wanted.map(([, { reason }]) => reason))];
  const kinds = wrong.map((key) => hard.get(key) ?? 'other');
  return [
    toRow(name, 'precision', right.length, suggested.length),
    toRow(name, 'recall', found.length, wanted.length),
    ...reasons.map((reason) => {
      const count = (labeled: typeof wanted) => labeled.filter(([, label]) => label.reason === reason).length;
      return toRow(name, `recall, ${reason}`, count(found), count(wanted));
    }),
    ...[...new Set(kinds)].map((kind) => [
      name,
      `wrong, ${kind}`,
      String(kinds.filter((each) => each === kind).length),
      '',
    ]),
  ];
}

function toRow(name: Half, title: string, count: number, all: number): string[] {
  return [name, title, `${count} of ${all}`, all === 0 ? '' : (count / all).toFixed(2)];
}

function print(notes: readonly Note[], wrong: readonly string[], wanted: readonly [string, Label][]): void {
  const texts = new Map(notes.map(({ id, text }) => [id, text]));
  const show = (title: string, key: string) => {
    const [older = '', newer = ''] = key.split(' ');
    process.stderr.write(`${title} ${key}\n    ${texts.get(older)}\n    ${texts.get(newer)}\n`);
  };
  for (const key of wrong) show('wrong', key);
  for (const [key, { reason }] of wanted) show(`wanted (${reason})`, key);
}

/** Stores the notes of each scope for a user of its own, consolidates, and returns the keys of the suggested pairs. */
function suggest(notes: readonly Note[], signal: AbortSignal): Promise<string[]> {
  return withTemporaryFolder((folder) => {
    const environment = { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' };
    return withServer(
      { folder, environment, connections: 1, signal, probe: assertHealthy },
      async ({ client, origin }) => {
        const memory = new MemoryClient({ url: origin });
        const requests = notes.map(
          ({ text, created_at, scope }): StoreRequest => ({ content: text, created_at, user_id: scope }),
        );
        const { results } = await memory.storeBatch(requests);
        const ids = new Map<string, string | undefined>();
        for (const [i, result] of results.entries()) {
          if (!('id' in result)) throw new Error(`not stored: ${result.error.message}`);
          ids.set(result.id, notes[i]?.id);
        }
        await waitForEmbeddings(client, signal);
        await memory.consolidate();
        const suggested: string[] = [];
        for await (const { earlier, later } of eachCorrection(memory)) {
          suggested.push(`${ids.get(earlier.id)} ${ids.get(later.id)}`);
        }
        return suggested;
      },
    );
  });
}
