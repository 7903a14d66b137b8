import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type {
  ConsolidateResponse,
  Consolidation,
  ConsolidationChange,
  ForgetManyResponse,
  ForgetResponse,
  ImportResponse,
  MemoriesResponse,
  Memory,
  MemoryText,
  RecallResponse,
  SessionMemory,
  SessionSummary,
  StatsResponse,
  StoreResponse,
} from '@memoryd/contract';
import { openMemory } from '@memoryd/engine';
import { beforeAll, describe, expect, it } from 'vitest';
import { runCommand, toAnswer } from './command.ts';
import { getJsonInProcess, getJsonLinesInProcess, runInProcess } from './command-in-process.ts';
import { createTemporaryFolder } from './folders.ts';
import { addKey } from './keys.ts';
import { eventually, launch } from './process.ts';
import { type RunningServer, startServer } from './server.ts';
import { WORDS_ONLY } from './under-test.ts';

const newPath = () => join(createTemporaryFolder(), 'memory.db');
const env = { SERVICE_EMBEDDER: 'none' };
/** An address without a service. */
const NO_SERVICE = 'http://127.0.0.1:1234';
const NEVER_FAILS = { throwIfNoEntry: false } as const;

/** Starts a service and returns the arguments that select it. */
async function newService(): Promise<string[]> {
  const { port } = await startServer({ env: WORDS_ONLY });
  return ['--url', `http://127.0.0.1:${port}`];
}

// The next block runs the same commands on a database file.
describe('commands for memories of a service', () => {
  let place: string[];
  const ask = <T>(...args: string[]) => getJsonInProcess<T>([...args, ...place], { env });
  const list = <T>(...args: string[]) => getJsonLinesInProcess<T>([...args, ...place], { env });
  const getText = async (...args: string[]) => (await runInProcess([...args, ...place], { env })).stdout;

  beforeAll(async () => {
    place = await newService();
  });

  it('store, recall, update and forget a memory', async () => {
    const { id } = await ask<StoreResponse>(
      ...['store', 'Ada', 'is allergic to peanuts', '--tag', 'food', '--tag', 'health', '--importance', '0.9'],
      ...['--session-id', 'kitchen', '--metadata', 'room=1', '--metadata', 'who=Ada', '--source', 'notes'],
    );
    const recalled = await ask<RecallResponse>('recall', 'peanuts', '--tag', 'food', '--metadata', 'room=1');
    expect(recalled).toMatchObject({
      total: 1,
      results: [{ id, content: 'Ada is allergic to peanuts', tags: ['food', 'health'] }],
    });
    expect(await ask<RecallResponse>('recall', 'peanuts', '--metadata', 'room=2')).toMatchObject({ total: 0 });
    expect(await ask('update', id, '--content', 'Ada likes peanuts', '--tag', 'taste')).toEqual({
      id,
      status: 'updated',
    });
    const [changed] = await list<SessionMemory>('session', 'kitchen');
    expect(changed).toMatchObject({ content: 'Ada likes peanuts', tags: ['taste'], importance: 0.9 });
    expect(await getText('recall', 'peanuts')).toMatch(
      new RegExp(
        `^0\\.\\d\\d \\w+  \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d  kitchen  #taste  ${id.slice(-8)}\n    Ada likes`,
      ),
    );
    expect(await getText('recall', 'peanuts', '--ids')).toContain(` ${id}\n`);
    expect(await ask<ForgetResponse>('forget', id)).toMatchObject({ id, status: 'forgotten' });
    expect(await ask<RecallResponse>('recall', 'peanuts')).toEqual({ results: [], total: 0 });
  });

  it('commands for memories of a service return nothing from recall with --only-relevant if no memory is likely to answer', async () => {
    const { id } = await ask<StoreResponse>(
      'store',
      'The glazed kiln cools for nine hours after firing',
      '--session-id',
      'relevant',
    );
    const recalled = async (...args: string[]) =>
      (await ask<RecallResponse>('recall', '--session-id', 'relevant', ...args)).results.map((result) => result.id);
    const unanswered = 'Which museum bought a kiln from the widow of that famous potter?';
    expect(await recalled(unanswered)).toEqual([id]);
    expect(await recalled(unanswered, '--only-relevant')).toEqual([]);
    expect(await recalled('Does the glazed kiln cool for nine hours after firing?', '--only-relevant')).toEqual([id]);
  });

  it('commands for memories of a service print the part of a long memory that matches the query for recall with --highlight', async () => {
    const content = `${'The tide was low. '.repeat(100)}The glass harmonica is tuned by Ines. ${'The tide was high. '.repeat(100)}`;
    await ask('store', content, '--session-id', 'highlight');
    const query = ['recall', 'Who tunes the glass harmonica?', '--session-id', 'highlight'];
    expect((await getText(...query)).replaceAll(/\s+/g, ' ')).toContain(content.trim());
    const shown = await getText(...query, '--highlight');
    expect(shown).toMatch(/\n {4}The glass harmonica is tuned by Ines\. The tide was high\./);
    expect(shown).not.toContain('The tide was low.');
    expect(await ask<RecallResponse>(...query, '--highlight')).toMatchObject({
      results: [{ content, highlight: expect.stringMatching(/^The glass harmonica/) }],
    });
  });

  it('commands for memories of a service change the memory with an external id, and find it', async () => {
    const name = ['--external-id', 'wiki/7 ü'];
    const { id } = await ask<StoreResponse>('store', 'the shop opens at nine', ...name, '--tag', 'shop');
    expect(await getText('store', 'the shop opens at ten', ...name)).toBe(`stored in existing memory ${id}\n`);
    const found = { id, content: 'the shop opens at ten', tags: ['shop'], external_id: 'wiki/7 ü' };
    expect(await ask('list', ...name)).toMatchObject({ total: 1, memories: [found] });
    expect(await ask('recall', 'shop', ...name)).toMatchObject({ total: 1, results: [found] });
    expect(await ask('forget', ...name, '--yes')).toMatchObject({ forgotten_count: 1 });
    expect(await ask('list', ...name)).toMatchObject({ total: 0 });
  });

  it('store piped text as one memory, as one memory per line, or as JSON', async () => {
    const run = (args: string[], input: string | string[]) => runInProcess([...args, ...place], { env, input });
    expect(await run(['store', '-', '--session-id', 'whole'], ['two\n', 'lines 文字\n'])).toMatchObject({ code: 0 });
    expect((await list<SessionMemory>('session', 'whole')).map(({ content }) => content)).toEqual(['two\nlines 文字']);
    expect(await run(['store', '--session-id', 'piped'], 'one\ntwo\n')).toMatchObject({ code: 0 });
    expect((await list<SessionMemory>('session', 'piped')).map(({ content }) => content)).toEqual(['one\ntwo']);
    const lines = await run(['store', '--lines', '--session-id', 'lines'], ['\ufeffone\r\n\n', '\ufefftwo\nth', 'ree']);
    expect(lines).toMatchObject({ code: 0, stdout: 'stored 3, refused 0\n' });
    expect((await list<SessionMemory>('session', 'lines')).map(({ content }) => content)).toEqual([
      'one',
      'two',
      'three',
    ]);
    const mixed = await run(
      ['store', '--ndjson', '--tag', 'all', '--session-id', 'json', '--json'],
      '{"content":"a"}\n{"content":7}\n[]\n{"content":"b","tags":["own"]}\n',
    );
    expect(mixed.code).toBe(1);
    const answers = mixed.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answers).toMatchObject([
      { status: 'stored' },
      { line: 2, error: { code: 'INVALID_REQUEST' } },
      { line: 3 },
      { status: 'stored' },
    ]);
    expect((await list<SessionMemory>('session', 'json')).map(({ tags }) => tags)).toEqual([['all'], ['own']]);
    const ids = answers.flatMap(({ id }) => (id === undefined ? [] : [id]));
    const forgotten = await run(['forget', '-', '--json'], `${ids.join('\n')}\n`);
    expect(
      forgotten.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual(ids);
  });

  it('commands for memories of a service explain in the help of store how standard input becomes one or several memories', async () => {
    const { stdout } = await runInProcess(['store', '--help']);
    expect(stdout.replace(/\s+/g, ' ')).toContain(
      'the text, or all of standard input. With --lines or --ndjson, store each line of standard input as a memory.',
    );
  });

  it('store all valid lines if one line is not UTF-8', async () => {
    const input = Buffer.concat([Buffer.from('one\ntwo\n'), Buffer.of(0xff, 0x0a), Buffer.from('three\n')]);
    const args = ['store', '--lines', '--session-id', 'bytes', ...place];
    const { code, stdout } = await runInProcess(args, { env, input });
    expect([code, stdout]).toEqual([1, 'stored 3, refused 1\nline 3: the line must be UTF-8\n']);
  });

  it('store many lines in batches, in the order of the input', async () => {
    const input = Array.from({ length: 700 }, (_, n) => `number ${n}\n`);
    const stored = await runInProcess(['store', '--lines', '--session-id', 'many', ...place], { env, input });
    expect(stored).toMatchObject({ code: 0, stdout: 'stored 700, refused 0\n' });
    const contents = (await list<SessionMemory>('session', 'many')).map(({ content }) => `${content}\n`);
    expect(contents).toEqual(input);
  });

  it('commands for memories of a service list a page of matching memories, newest first, and print how to list the next page', async () => {
    const texts = ['first', 'second', 'third'];
    for (const text of texts) await ask('store', text, '--session-id', 'pages', '--tag', text);
    const page = (...args: string[]) => ask<MemoriesResponse>('list', '--session-id', 'pages', ...args);
    const { memories, total, next_cursor: cursor = '' } = await page('--limit', '2');
    expect([memories.map(({ content }) => content), total]).toEqual([['third', 'second'], 3]);
    expect(await page('--cursor', cursor)).toMatchObject({ memories: [{ content: 'first' }] });
    expect(await page('--tag', 'second')).toMatchObject({ memories: [{ content: 'second' }], total: 1 });
    const printed = await runInProcess(['list', '--session-id', 'pages', '--limit', '1', ...place], { env });
    expect(printed.stdout).toMatch(/^\S+ \d\d:\d\d {2}pages {2}working {2}#third {2}[0-9a-f]{8}\n {4}third\n$/);
    expect(printed.stderr).toMatch(/^3 in total; --cursor \S+ lists the next page\n$/);
    expect(await getText('forget', '--tag', 'third', '--yes')).toBe('forgotten 1 memory\n');
    expect(await getText('forget', '--session-id', 'pages', '--yes')).toBe('forgotten 2 memories\n');
    const none = await runInProcess(['list', '--session-id', 'nobody', ...place], { env });
    expect(none).toEqual({ code: 0, stdout: '', stderr: 'no memories found\n' });
  });

  it('commands for memories of a service show a memory with all fields, its whole text and its earlier texts', async () => {
    const { id } = await ask<StoreResponse>('store', 'Ada likes\ntrains', '--tag', 'a', '--metadata', 'room=1');
    await ask('update', id, '--content', 'Ada likes\ncars');
    expect(await ask<Memory>('show', id)).toMatchObject({ id, content: 'Ada likes\ncars', tags: ['a'], version: 2 });
    const shown = await getText('show', id);
    expect(shown).toMatch(new RegExp(`^FIELD +VALUE\nid +${id}\ntags +a\n`));
    expect(shown).toMatch(/\nmetadata +\{"room":1\}\n(.+\n)*expires_at +-\n(.+\n)*version +2\n\nAda likes\ncars\n$/);
    const texts = await list<MemoryText>('history', id);
    expect(texts.map(({ content }) => content)).toEqual(['Ada likes\ntrains', 'Ada likes\ncars']);
    const earlier = await list<MemoryText>('history', id, '--known-at', texts[0]?.held_from as string);
    expect(earlier).toEqual([texts[0]]);
    const time = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\dZ';
    expect(await getText('history', id, '--utc')).toMatch(
      new RegExp(
        `^revision 1  ${time} to ${time}\n    Ada likes\n    trains\n` +
          `revision 2  ${time} to now\n    Ada likes\n    \\[-trains-\\]\\{\\+cars\\+\\}\n$`,
      ),
    );
    for (const command of ['show', 'history']) {
      const missing = await runInProcess([command, 'nothing', ...place], { env });
      expect(missing).toMatchObject({ code: 3, stdout: '', stderr: expect.stringContaining('not found') });
    }
  });

  it('commands for memories of a service read a date as the local day, or with --utc as the day in UTC', async () => {
    const times = ['2026-11-28T07:59:59.999Z', '2026-11-28T08:00:00Z', '2026-11-29T07:59:59.999Z', '2026-11-29T08:00Z'];
    for (const time of times) await ask('store', time, '--session-id', 'days', '--created-at', time);
    const filter = ['--session-id', 'days', '--since', '2026-11-28', '--until', '2026-11-28'];
    const inCalifornia = { env: { ...env, TZ: 'America/Los_Angeles' } };
    const getTimes = async (...flags: string[]) => {
      const { memories } = await toAnswer<MemoriesResponse>(['list', ...filter, ...flags, ...place], inCalifornia);
      return memories.map(({ content }) => content).toReversed();
    };
    expect(await getTimes()).toEqual(times.slice(1, 3));
    expect(await getTimes('--utc')).toEqual(times.slice(0, 2));
    const shown = await runCommand(['list', ...filter, ...place], inCalifornia);
    expect(shown.stdout).toContain('2026-11-28 23:59  days');
    expect((await runCommand(['list', ...filter, '--utc', ...place], inCalifornia)).stdout).toContain(
      '2026-11-28 07:59Z',
    );
    const expiring = ['store', 'expiring', '--session-id', 'days', '--expires-at', '2999-01-31', ...place];
    const { id } = await toAnswer<StoreResponse>(expiring, inCalifornia);
    expect((await ask<Memory>('show', id)).expires_at).toBe('2999-01-31T08:00:00.000Z');
  });

  it('commands for memories of a service accept the first or last characters of an id if one memory matches', async () => {
    const first = await ask<StoreResponse>('store', 'Ines likes jam', '--session-id', 'parts');
    const { id } = await ask<StoreResponse>('store', 'Ines likes tea', '--supersedes', first.id.slice(-8));
    const part = id.slice(-8);
    expect(await ask('show', part)).toMatchObject({ id, supersedes: first.id });
    expect(await ask('show', id.slice(0, -1))).toMatchObject({ id });
    expect(await list('history', part)).toMatchObject([{ content: 'Ines likes tea' }]);
    expect(await ask('update', part, '--content', 'Ines likes coffee')).toEqual({ id, status: 'updated' });
    expect(await ask('forget', part)).toMatchObject({ id, status: 'forgotten' });
    expect(await runInProcess(['show', part, ...place], { env })).toMatchObject({ code: 3, stdout: '' });
    const stored = await runInProcess(['store', '--lines', '--supersedes', first.id.slice(-8), ...place], {
      env,
      input: 'x',
    });
    expect(stored.code).toBe(0);
    expect((await ask<Memory>('show', first.id)).superseded_by).toMatch(/./);
  });

  it('commands for memories of a service store and change from and until when a memory holds and what it replaces, and show it', async () => {
    const store = (...args: string[]) => ask<StoreResponse>('store', ...args, '--session-id', 'offices');
    const rome = await store(
      'the office is in Rome',
      '--valid-from',
      '2020-01-01',
      '--valid-to',
      '2021-01-01',
      '--utc',
    );
    const oslo = await store('the office is in Oslo', '--created-at', '2021-01-01');
    const graz = await store('the office is in Graz', '--created-at', '2022-01-01');
    const update = (...args: string[]) => ask('update', graz.id, ...args);
    await update('--supersedes', oslo.id.slice(-8), '--valid-to', '2999-01-01', '--utc');
    expect(await ask<Memory>('show', rome.id)).toMatchObject({
      valid_from: '2020-01-01T00:00:00.000Z',
      valid_to: '2021-01-01T00:00:00.000Z',
    });
    const filter = ['--session-id', 'offices'];
    const getIds = async (...flags: string[]) => [
      (await ask<MemoriesResponse>('list', ...filter, ...flags)).memories.map(({ id }) => id),
      (await ask<RecallResponse>('recall', 'office', ...filter, ...flags)).results.map(({ id }) => id),
    ];
    expect(await getIds('--current')).toEqual([[graz.id], [graz.id]]);
    expect(await getIds('--as-of', '2020-06-01')).toEqual([[rome.id], [rome.id]]);
    expect(await getIds('--as-of', '2021-06-01')).toEqual([[oslo.id], [oslo.id]]);
    expect(
      (await list<SessionSummary>('session', '--current')).find(({ session_id }) => session_id === 'offices'),
    ).toMatchObject({ total: 1 });
    const replaced = new RegExp(`  ${oslo.id.slice(-8)}  replaced\\s+by ${graz.id.slice(-8)}\n`);
    for (const command of ['list', 'recall office']) {
      expect(await getText(...command.split(' '), ...filter, '--utc')).toMatch(replaced);
      expect(await getText(...command.split(' '), ...filter, '--utc')).toMatch(/until\s+2021-01-01 00:00Z/);
    }
    expect(await getText('show', rome.id, '--utc')).toMatch(/\nvalid_to +2021-01-01 00:00Z\n/);
    await update('--supersedes', 'null', '--valid-to', 'null');
    expect(await ask<Memory>('show', graz.id)).toMatchObject({ supersedes: null, valid_to: null });
    expect((await getIds('--current'))[0]).toEqual([graz.id, oslo.id]);
    const both = await runInProcess(['list', '--current', '--as-of', '2021-06-01', ...place], { env });
    expect(both).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('current') });
  });

  it('commands for memories of a service reject part of an id that matches several memories, list five of them, and change nothing', async () => {
    const ids: string[] = [];
    for (const text of ['1', '2', '3', '4', '5', '6']) {
      ids.push((await ask<StoreResponse>('store', text, '--session-id', 'ambiguous')).id);
    }
    const part = ids[0]?.slice(0, 4) as string;
    for (const args of [
      ['show', part],
      ['history', part],
      ['update', part, '--tag', 'x'],
      ['forget', ids[5] as string, part],
    ]) {
      const { code, stdout, stderr } = await runInProcess([...args, ...place], { env });
      expect([code, stdout], args[0]).toEqual([2, '']);
      expect(stderr).toMatch(
        new RegExp(
          `^id must match one memory, but ${part} matches \\d+: (${part}[0-9a-f-]{32}, ){5}…; give more characters, or the whole id\n$`,
        ),
      );
    }
    expect(await list('session', 'ambiguous')).toHaveLength(6);
  });

  it('commands for memories of a service have aliases', async () => {
    const { id } = await ask<StoreResponse>('add', 'Zoe plays chess', '--session-id', 'aliases');
    expect(await ask('get', id)).toEqual(expect.objectContaining({ id, content: 'Zoe plays chess' }));
    expect(await ask('search', 'chess')).toMatchObject({ results: [{ id }] });
    expect(await ask('ls', '--session-id', 'aliases')).toMatchObject({ memories: [{ id }] });
    expect(await ask('rm', id)).toMatchObject({ id, status: 'forgotten' });
  });

  it('commands for memories of a service list sessions', async () => {
    await ask('store', 'x', '--session-id', 'listed');
    expect((await list<SessionSummary>('session')).find(({ session_id }) => session_id === 'listed')?.total).toBe(1);
    expect(await getText('session')).toMatch(/^MEMORIES +FIRST +LAST +USER +SESSION\n(.*\n)*1 +.*listed\n/);
  });

  it('commands for memories of a service run a consolidation, list its changes, and undo it', async () => {
    for (const content of ['the same', 'the same']) await ask('store', content, '--session-id', 'duplicates');
    const before = await ask<StatsResponse>('stats');
    const planned = await ask<ConsolidateResponse>('consolidate', '--dry-run');
    expect(planned).toMatchObject({ status: 'planned', plan: { merge: { total: 1 } } });
    expect(await getText('consolidate', '--dry-run')).toMatch(
      /^CHANGE(.|\n)*\nmerge .* into (.|\n)*would promote \d+, merge 1, /,
    );
    expect(await ask<StatsResponse>('stats')).toMatchObject({
      working_count: before.working_count,
      last_sleep_at: null,
    });
    const { id } = await ask<ConsolidateResponse>('consolidate');
    expect(await ask<StatsResponse>('stats')).toMatchObject({ working_count: 0 });
    expect((await list<Consolidation>('consolidate', 'runs')).map((run) => run.id)).toEqual([id]);
    const changes = await list<ConsolidationChange>('consolidate', 'show', id as string);
    expect(changes.filter(({ kind }) => kind === 'merged')).toHaveLength(1);
    expect(await ask('consolidate', 'undo', id as string)).toEqual({ id, status: 'undone' });
    expect(await ask<StatsResponse>('stats')).toMatchObject({ working_count: before.working_count });
  });

  it('undo a run together with the later runs only with --with-later', async () => {
    const runs: string[] = [];
    for (const content of ['for the first run', 'for the second run', 'for the third run']) {
      await ask('store', content);
      runs.push((await ask<ConsolidateResponse>('consolidate')).id ?? '');
    }
    const [first = '', second = '', third = ''] = runs;
    const refused = await runInProcess(['consolidate', 'undo', first, ...place], { env });
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining('--with-later')]);
    expect(await getText('consolidate', 'undo', second, '--with-later')).toBe(`undone ${third}\nundone ${second}\n`);
    expect(await ask('consolidate', 'undo', first, '--with-later')).toEqual({ id: first, status: 'undone' });
  });

  it('commands for memories of a service accept options of consolidate before the name of a subcommand', async () => {
    const { code, stderr } = await runInProcess(['consolidate', ...place, 'undo', 'nothing'], { env });
    expect([code, stderr]).toEqual([3, expect.stringMatching(/consolidation/)]);
    const dry = await runInProcess(['consolidate', '--dry-run', 'undo', 'nothing', ...place], { env });
    expect([dry.code, dry.stderr]).toEqual([
      2,
      'memoryd consolidate undo does not take --dry-run; remove the option\n',
    ]);
  });

  it('recall, list, export and forget memories that match a filter', async () => {
    const ids: string[] = [];
    for (const amount of [50, 150]) {
      const args = [`bill of ${amount}`, '--session-id', 'bills', '--metadata', `amount=${amount}`];
      ids.push((await ask<StoreResponse>('store', ...args)).id);
    }
    const filter = ['--filter', '{"metadata.amount": {"$gte": 100}}'];
    const [, dear = ''] = ids;
    expect((await ask<RecallResponse>('recall', 'bill', ...filter)).results).toMatchObject([{ id: dear }]);
    expect((await ask<MemoriesResponse>('list', ...filter)).memories).toMatchObject([{ id: dear }]);
    expect(await list<SessionMemory>('session', 'bills', ...filter)).toMatchObject([{ id: dear }]);
    expect(await list<SessionSummary>('session', ...filter)).toMatchObject([{ session_id: 'bills', total: 1 }]);
    const exported = (await getText('export', ...filter)).trim().split('\n');
    expect(exported.slice(1).map((line) => JSON.parse(line).id)).toEqual([dear]);
    expect(await ask('forget', ...filter, '--yes')).toMatchObject({ forgotten_count: 1 });
    expect(await list<SessionMemory>('session', 'bills')).toMatchObject([{ id: ids[0] }]);
  });

  it('forget several memories only with --yes', async () => {
    for (const content of ['a', 'b']) await ask('store', content, '--session-id', 'doomed');
    const asked = await runInProcess(['forget', '--session-id', 'doomed', ...place], { env });
    expect([asked.code, asked.stderr]).toEqual([2, expect.stringMatching(/permanently forgets 2 memories.*--yes/)]);
    expect(await list('session', 'doomed')).toHaveLength(2);
    const forgotten = await ask<ForgetManyResponse>('forget', '--session-id', 'doomed', '--yes');
    expect(forgotten).toMatchObject({ forgotten_count: 2 });
    expect(await list('session', 'doomed')).toEqual([]);
  });

  it('export memories to a pipe and a file, import from both, and back up the database', async () => {
    const folder = createTemporaryFolder();
    const [file, copy] = [join(folder, 'memories.ndjson'), join(folder, 'copy.db')];
    // A recall counts its uses some seconds later, which would change the second export.
    const place = await newService();
    const { id } = await getJsonInProcess<StoreResponse>(['store', 'Ada is allergic to peanuts', ...place], { env });
    await getJsonInProcess(['update', id, '--content', 'Ada likes peanuts', ...place], { env });
    await getJsonInProcess(['store', 'The key is under the mat', '--tag', 'home', ...place], { env });
    const { stdout: lines } = await runInProcess(['export', ...place], { env });
    expect(await runInProcess(['export', file, ...place], { env })).toMatchObject({ code: 0, stdout: '' });
    expect(readFileSync(file, 'utf8')).toBe(lines);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const other = await newService();
    const count = lines.split('\n').length - 2;
    const imported = await getJsonInProcess<ImportResponse>(['import', ...other], { env, input: lines });
    expect(imported).toMatchObject({ imported_count: count, refused_count: 0 });
    expect(await getJsonInProcess(['import', file, ...other], { env })).toMatchObject({ unchanged_count: count });
    const backup = await getJsonInProcess<{ size_bytes: number }>(['backup', copy, ...place], { env });
    expect(backup.size_bytes).toBe(statSync(copy).size);
    expect(await getJsonInProcess(['verify', '--db-path', copy])).toMatchObject({ ok: true });
    expect((await runInProcess(['backup', copy, ...place], { env })).code).toBe(4);
  });

  it('forget all requested ids that exist, with their duplicates, and name the missing ids', async () => {
    const ids: string[] = [];
    for (const text of ['said twice', 'said twice', 'said once']) {
      ids.push((await ask<StoreResponse>('store', text, '--session-id', 'forgotten')).id);
    }
    await ask('consolidate');
    const { code, stdout, stderr } = await runInProcess(['forget', 'nobody', ...ids, '--json', ...place], { env });
    expect([code, stderr.trim()]).toEqual([3, 'nobody: memory not found']);
    const told = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(told.flatMap(({ id, also_forgotten = [] }) => [id, ...also_forgotten]).sort()).toEqual(ids.sort());
    expect(await list('session', 'forgotten')).toEqual([]);
  });
});

describe('commands for a database file', () => {
  it('store, recall, update, list, show, forget, consolidate, undo, export and import memories', async () => {
    const at = ['--db-path', newPath()];
    const ask = <T>(...args: string[]) => getJsonInProcess<T>([...args, ...at], { env });
    const stored = await runCommand(['store', 'Ada is allergic to peanuts', '--json', ...at], { env });
    expect(stored).toMatchObject({ code: 0, stderr: '' });
    const { id } = JSON.parse(stored.stdout) as StoreResponse;
    expect(await ask('update', id, '--content', 'Ada likes peanuts')).toEqual({ id, status: 'updated' });
    expect(await ask<RecallResponse>('recall', 'peanuts')).toMatchObject({
      results: [{ id, content: 'Ada likes peanuts' }],
    });
    expect(await ask('list')).toMatchObject({ memories: [{ id }], total: 1 });
    expect(await ask('show', id)).toMatchObject({ id, content: 'Ada likes peanuts', access_count: 1 });
    expect(await ask('show', id.slice(-8))).toMatchObject({ id });
    expect(await getJsonLinesInProcess(['history', id, ...at], { env })).toMatchObject([
      { revision: 1 },
      { revision: 2 },
    ]);
    const run = await ask<ConsolidateResponse>('consolidate');
    expect(run).toMatchObject({ status: 'consolidated', consolidated_count: 1 });
    expect(await ask('consolidate', 'undo', run.id as string)).toEqual({ id: run.id, status: 'undone' });
    const { code, stdout: lines } = await runCommand(['export', ...at], { env });
    expect(code).toBe(0);
    expect(await ask<ForgetResponse>('forget', id)).toMatchObject({ id, status: 'forgotten' });
    const elsewhere = ['--db-path', newPath()];
    const imported = await runCommand(['import', '--json', ...elsewhere], { env, input: lines });
    expect(JSON.parse(imported.stdout)).toMatchObject({ imported_count: 1, refused_count: 0 });
  });

  it('recall by meaning right after storing many lines', async () => {
    const at = ['--db-path', newPath()];
    const others = Array.from({ length: 100 }, (_, n) => `The train number ${n} leaves on time.\n`);
    const input = ['Ada is allergic to peanuts\n', ...others];
    expect(await runCommand(['store', '--lines', ...at], { input })).toMatchObject({ code: 0 });
    expect(await getJsonInProcess(['stats', ...at], { env })).toMatchObject({ pending_embeddings: 0 });
    const query = 'what food should we avoid for her';
    // Recall uses words only if the model takes more than three seconds to load, as on a busy machine.
    const results = await eventually('a recall by meaning', 60_000, async () => {
      const found = await getJsonInProcess<RecallResponse>(['recall', query, '--top-k', '1', ...at]);
      return found.total > 0 ? found.results : undefined;
    });
    expect(results.map(({ content }) => content)).toEqual(['Ada is allergic to peanuts']);
  });

  it('commands for a database file close the database after an interrupted consolidation, so that the next run can start immediately', async () => {
    const dbPath = newPath();
    const memory = await openMemory(dbPath, { embedder: 'none', consolidationIntervalSeconds: 0 });
    for (let batch = 0; batch < 8; batch++) {
      await memory.storeBatch(Array.from({ length: 1000 }, () => ({ content: 'the heart beats' })));
    }
    await memory.close();
    const consolidating = launch(['consolidate', '--db-path', dbPath], env);
    // The first write records the start of the run.
    await eventually('a run', 20_000, async () => (statSync(`${dbPath}-wal`, NEVER_FAILS)?.size ?? 0) > 0 || undefined);
    expect(await consolidating.end('SIGINT')).toMatchObject({ code: 130, stdout: '', stderr: 'interrupted\n' });
    expect(existsSync(`${dbPath}-wal`)).toBe(false);
    const [run] = await getJsonLinesInProcess<Consolidation>(['consolidate', 'runs', '--db-path', dbPath], { env });
    expect(run).toMatchObject({ status: 'running' });
  });

  it.each(['stats', 'keys list', 'users list'])(
    'commands for a database file exit with 6 and name the file if it is not a database: %s',
    async (command) => {
      const dbPath = newPath();
      writeFileSync(dbPath, 'no database at all\n'.repeat(1000));
      const { code, stdout, stderr } = await runInProcess([...command.split(' '), '--db-path', dbPath], { env });
      expect([code, stdout, stderr]).toEqual([6, '', expect.stringMatching(`^cannot open ${dbPath}: .*\n$`)]);
    },
  );

  it('commands for a database file share the memories in a database file with a running server', async () => {
    const server = await startServer({ env: WORDS_ONLY });
    const at = ['--db-path', server.dbPath];
    await runCommand(['store', 'from a command', ...at], { env });
    const url = ['--url', `http://127.0.0.1:${server.port}`];
    expect(await getJsonInProcess<RecallResponse>(['recall', 'command', ...url])).toMatchObject({ total: 1 });
    await getJsonInProcess(['store', 'from the server', ...url]);
    const recalled = (...flags: string[]) =>
      getJsonInProcess<RecallResponse>(['recall', 'from', ...flags, ...at], { env });
    expect([(await recalled()).total, (await recalled('--namespace', 'b')).total]).toEqual([2, 0]);
    await server.stop();
  });
});

describe('commands for a service', () => {
  let server: RunningServer;
  let url: string;
  const keys = { read: '', write: '' };

  beforeAll(async () => {
    const dbPath = newPath();
    for (const scope of ['read', 'write'] as const) keys[scope] = await addKey(dbPath, 'default', scope);
    server = await startServer({ dbPath, env: WORDS_ONLY });
    url = `http://127.0.0.1:${server.port}`;
  });

  it('commands for a service send the API key from a flag, the environment or the settings file', async () => {
    const cwd = createTemporaryFolder();
    expect(await getJsonInProcess(['stats', '--url', url, '--api-key', keys.read])).toMatchObject({ working_count: 0 });
    expect(await toAnswer(['stats', '--url', url], { env: { SERVICE_API_KEY: keys.read } })).toHaveProperty(
      'working_count',
    );
    writeFileSync(join(cwd, 'memoryd.config.json'), JSON.stringify({ url, apiKey: keys.write }));
    expect(await toAnswer(['store', 'by the file'], { cwd })).toMatchObject({ status: 'stored' });
  });

  it('commands for a service exit with 5 if the API key is missing, wrong or without the required scope', async () => {
    const wrong = keys.read.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    const refused = [
      await runCommand(['stats', '--url', url]),
      await runInProcess(['stats', '--api-key', wrong, '--url', url]),
      await runInProcess(['store', 'x', '--api-key', keys.read, '--url', url]),
    ];
    for (const { code, stdout, stderr } of refused) {
      expect({ code, stdout }).toEqual({ code: 5, stdout: '' });
      expect(stderr.trim()).toMatch(/^[^\n]+$/);
    }
  });

  it.each<[string, string[], Record<string, string>]>([
    ['stats', ['--url', NO_SERVICE], {}],
    ['recall', ['x'], { SERVICE_URL: NO_SERVICE }],
    ['backup', [newPath(), '--url', NO_SERVICE], {}],
  ])(
    '%s exits with 6 and prints the address and the fix in one line if the service does not respond',
    async (name, args, variables) => {
      const { code, stdout, stderr } = await runInProcess([name, ...args], { env: variables });
      expect({ code, stdout }).toEqual({ code: 6, stdout: '' });
      expect(stderr).toMatch(
        /^cannot reach the service: no response \(.+\) to GET http:\/\/127\.0\.0\.1:1234\/\w+; check the address .*; `memoryd serve` starts .*--url, SERVICE_URL.*\n$/,
      );
    },
  );

  it.each([
    [['--db-path', 'x.db'], '--db-path and --url exclude each other'],
    [['--database-url', 'postgres://a.example/a'], '--database-url and --url exclude each other'],
    [['--namespace', 'a'], '--namespace is for a database'],
  ])('commands for a service reject %j together with --url', async (flags, says) => {
    const { code, stderr } = await runInProcess(['stats', '--url', 'http://127.0.0.1:1234', ...flags]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(says)]);
  });

  it('commands for a service use the service in SERVICE_URL unless a flag names a database', async () => {
    const asked = { SERVICE_URL: url, SERVICE_API_KEY: keys.write };
    await getJsonInProcess(['store', 'to the service'], { env: asked });
    expect(await getJsonInProcess<RecallResponse>(['recall', 'service'], { env: asked })).toMatchObject({ total: 1 });
    const dbPath = newPath();
    const { code, stderr } = await runInProcess(['stats', '--db-path', dbPath], { env: asked });
    expect([code, stderr]).toEqual([2, expect.stringContaining(`there is no database at ${dbPath}`)]);
  });

  const refused: [string, string[], number, RegExp][] = [
    ['an unknown memory', ['update', 'nothing', '--importance', '1'], 3, /not found/],
    ['an invalid value', ['store', 'x', '--importance', '2'], 2, /^--importance must be a number from 0 to 1$/m],
    ['a blank text', ['store', ' '], 2, /content must/],
    ['an update without fields', ['update', 'x'], 2, /must contain at least one of content, importance/],
    ['an invalid time', ['recall', 'x', '--since', 'monday'], 2, /^--since must be an ISO 8601/],
    ['a filter without a value', ['recall', 'x', '--metadata', 'room'], 2, /^--metadata must be a name and a value/],
    ['a filter that is not JSON', ['list', '--filter', '{tag'], 2, /^--filter must be a JSON object/],
    ['a wrong filter', ['forget', '--filter', '{"tga":"a"}', '--yes'], 2, /nearest is tag/],
    ['ids together with options that select', ['forget', 'a', '--tag', 'b'], 2, /not both/],
    ['forget without an id or option', ['forget'], 2, /needs an id/],
  ];
  it.each(refused)('commands for a service reject %s with a one-line error', async (_what, args, expected, says) => {
    const input = args[0] === 'store' ? 'x\n' : '';
    const { code, stdout, stderr } = await runInProcess([...args, '--url', url, '--api-key', keys.write], { input });
    expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
    expect(stderr).toMatch(says);
    expect(stderr.trim()).not.toContain('\n');
  });
});

describe('an unknown name', () => {
  const refused: [string[], Record<string, string>, string][] = [
    [['recal', 'x'], {}, "unknown command 'recal' (Did you mean recall?)"],
    [['recall', 'x', '--top-n', '3'], {}, "unknown option '--top-n' (Did you mean --top-k?)"],
    [['serch', 'x'], {}, "unknown command 'serch' (Did you mean search?)"],
    [['ls', '--limt', '3'], {}, "unknown option '--limt' (Did you mean --limit?)"],
    [['ls', '--session', 's'], {}, "unknown option '--session' (Did you mean --session-id?)"],
    [['keys', 'lis'], {}, 'memoryd keys needs one of add, list, revoke, open (Did you mean list?)'],
    [['store', 'x', '--session', 's'], {}, "unknown option '--session' (Did you mean --session-id?)"],
    [['--log=secret'], {}, "unknown option '--log' (Did you mean --log-level?)"],
    [['--prot', '8091'], {}, "unknown option '--prot' (Did you mean --port?)"],
    [['recall', 'x', '--tier', 'deep'], {}, 'working, episodic, semantic'],
    [['store', 'x', '--lines'], {}, '--lines and --ndjson read standard input'],
    [['store', '--lines', '--external-id', 'a'], {}, '--external-id names one memory'],
    [['completion', 'tcsh'], {}, 'bash, zsh, fish'],
    [['store', 'x', '--namespace', 'team b'], {}, 'namespace must be a string of 1 to 128 letters'],
    [['stats'], { SERVICE_URL: 'localhost' }, 'SERVICE_URL must be an http or https address'],
  ];
  it.each(refused)(
    'an unknown name is rejected, as is an invalid value, with a one-line error that names the fix: %j',
    async (args, variables, says) => {
      const { code, stdout, stderr } = await runInProcess(args, { env: variables });
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(says);
      expect(stderr.trim()).not.toContain('\n');
    },
  );

  const destructive = ['forget', 'restore', 'migrate', 'keys revoke', 'keys open', 'namespaces delete'];
  it.each(destructive)('similar to the destructive command %s gets no suggestion', async (path) => {
    const names = path.split(' ');
    const [name = ''] = names.slice(-1);
    for (const typed of [name.slice(0, -1), `${name}x`]) {
      const { code, stderr } = await runInProcess([...names.slice(0, -1), typed]);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.not.stringContaining('Did you mean') });
    }
    expect((await runInProcess([...names, '--help'])).stdout).toMatch(new RegExp(`^Usage: memoryd ${path}\\b`));
  });

  it('an unknown name that resembles no command gets a hint to use --help', async () => {
    const { stderr } = await runInProcess(['qqqqqq']);
    expect(stderr).toBe("unknown command 'qqqqqq'; memoryd --help lists the commands\n");
  });

  it('an unknown name of a command makes memoryd exit with 2 and print a suggestion', async () => {
    const stderr = "unknown command 'recal' (Did you mean recall?)\n";
    expect(await runCommand(['recal', 'x'])).toEqual({ code: 2, stdout: '', stderr });
  });

  it('an unknown name of an environment variable causes a warning, but the command runs', async () => {
    const { code, stderr } = await runCommand(['completion', 'bash'], { env: { SERVICE_PROT: '1' } });
    const warning = 'memoryd: SERVICE_PROT is not a setting and is ignored (Did you mean SERVICE_PORT?)\n';
    expect([code, stderr]).toEqual([0, warning]);
  });

  it('an unknown name in the settings file is rejected by the server and by every command that reads the file', async () => {
    const cwd = createTemporaryFolder();
    writeFileSync(join(cwd, 'memoryd.config.json'), '{"db_path": "x.db"}');
    for (const args of [['stats'], ['serve', '--port', '0'], ['keys', 'list']]) {
      const { code, stderr } = await runCommand(args, { cwd });
      expect([code, stderr], args[0]).toEqual([2, expect.stringContaining('"db_path" (Did you mean dbPath?)')]);
    }
  });
});

describe('a settings file in the working directory', () => {
  it('a settings file in the working directory is read by commands and the server, and is overridden by variables and flags', async () => {
    const cwd = createTemporaryFolder();
    writeFileSync(join(cwd, 'memoryd.config.json'), '{"dbPath": "file.db", "embedder": "none"}');
    const refusal = async (args: string[], variables: Record<string, string>) =>
      (await runCommand(['stats', ...args], { cwd, env: variables })).stderr;
    expect(await refusal([], {})).toContain(`there is no database at ${join(cwd, 'file.db')};`);
    expect(await refusal([], { SERVICE_DB_PATH: 'variable.db' })).toContain('there is no database at variable.db;');
    const both = await refusal(['--db-path', 'flag.db'], { SERVICE_DB_PATH: 'variable.db' });
    expect(both).toContain('there is no database at flag.db;');
    const server = launch(['--port', '0'], {}, { cwd });
    const started = await eventually('the start', 30_000, () =>
      server.lines().find((line) => line.includes('server_started')),
    );
    expect(JSON.parse(started)).toMatchObject({ embedder: 'none' });
    expect(started).toContain(join(cwd, 'file.db'));
    await server.end('SIGTERM');
  });

  it('a settings file in the working directory is not read by memoryd mcp without --config', async () => {
    const cwd = createTemporaryFolder();
    writeFileSync(join(cwd, 'memoryd.config.json'), '{"prot": 1}');
    expect(await runCommand(['mcp', '--url', 'http://127.0.0.1:1234'], { cwd })).toMatchObject({ code: 0 });
    const named = await runCommand(['mcp', '--config', 'memoryd.config.json'], { cwd });
    expect([named.code, named.stderr]).toEqual([2, expect.stringContaining('"prot"')]);
  });
});
