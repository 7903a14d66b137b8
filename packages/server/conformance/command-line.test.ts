import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type {
  ConsolidateResponse,
  Consolidation,
  ConsolidationChange,
  ForgetManyResponse,
  ForgetResponse,
  ImportResponse,
  RecallResponse,
  SessionMemory,
  SessionSummary,
  StatsResponse,
  StoreResponse,
} from '@memoryd/contract';
import { beforeAll, describe, expect, it } from 'vitest';
import { answerOf, answersOf, runCommand } from './command.ts';
import { eventually, launch, type RunningServer, startServer, temporaryFolder } from './process.ts';
import { WORDS_ONLY } from './under-test.ts';

/** For tests that run many processes. */
const PATIENCE_MS = 240_000;

const newPath = () => join(temporaryFolder(), 'memory.db');
const env = { SERVICE_EMBEDDER: 'none' };
const NEVER_FAILS = { throwIfNoEntry: false } as const;

/** Arguments that say where memories are: a new database each time they are asked for. */
type Place = () => Promise<string[]>;

const places: [string, Place][] = [
  ['a database file', async () => ['--db-path', newPath()]],
  [
    'a service',
    async () => {
      const { port } = await startServer({ env: WORDS_ONLY });
      return ['--url', `http://127.0.0.1:${port}`];
    },
  ],
];

describe.each(places)('commands on memories of %s', { timeout: PATIENCE_MS }, (_where, newPlace) => {
  let place: string[];
  const ask = <T>(...args: string[]) => answerOf<T>([...args, ...place], { env });
  const list = <T>(...args: string[]) => answersOf<T>([...args, ...place], { env });
  const told = async (...args: string[]) => (await runCommand([...args, ...place], { env })).stdout;

  beforeAll(async () => {
    place = await newPlace();
  });

  it('store, recall, update and forget one', async () => {
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
    expect(await told('recall', 'peanuts')).toMatch(
      new RegExp(`^SCORE +ID +TAGS +MEMORY\n0\\.\\d+ +${id} +taste +Ada likes`),
    );
    expect(await ask<ForgetResponse>('forget', id)).toMatchObject({ id, status: 'forgotten' });
    expect(await ask<RecallResponse>('recall', 'peanuts')).toEqual({ results: [], total: 0 });
  });

  it('take texts from pipes: whole, one a line, and as JSON', async () => {
    const run = (args: string[], input: string | string[]) => runCommand([...args, ...place], { env, input });
    expect(await run(['store', '-', '--session-id', 'whole'], ['two\n', 'lines 文字\n'])).toMatchObject({ code: 0 });
    expect((await list<SessionMemory>('session', 'whole')).map(({ content }) => content)).toEqual(['two\nlines 文字']);
    const lines = await run(['store', '--lines', '--session-id', 'lines'], ['one\r\n\n', 'two\nth', 'ree']);
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

  it('store the good lines of many, also where one is not UTF-8', async () => {
    const input = Buffer.concat([Buffer.from('one\ntwo\n'), Buffer.of(0xff, 0x0a), Buffer.from('three\n')]);
    const args = ['store', '--lines', '--session-id', 'bytes', ...place];
    const { code, stdout } = await runCommand(args, { env, input });
    expect([code, stdout]).toEqual([1, 'stored 3, refused 1\nline 3: it is not UTF-8\n']);
  });

  it('store many, batch by batch, as they come', async () => {
    const input = Array.from({ length: 700 }, (_, n) => `number ${n}\n`);
    const stored = await runCommand(['store', '--lines', '--session-id', 'many', ...place], { env, input });
    expect(stored).toMatchObject({ code: 0, stdout: 'stored 700, refused 0\n' });
    const contents = (await list<SessionMemory>('session', 'many')).map(({ content }) => `${content}\n`);
    expect(contents).toEqual(input);
  });

  it('list sessions', async () => {
    await ask('store', 'x', '--session-id', 'listed');
    expect((await list<SessionSummary>('session')).find(({ session_id }) => session_id === 'listed')?.total).toBe(1);
    expect(await told('session')).toMatch(/^MEMORIES +FIRST +LAST +SESSION\n(.*\n)*1 +.*listed\n/);
  });

  it('consolidate, say what was done, and take it back', async () => {
    for (const content of ['the same', 'the same']) await ask('store', content, '--session-id', 'twins');
    const before = await ask<StatsResponse>('stats');
    const planned = await ask<ConsolidateResponse>('consolidate', '--dry-run');
    expect(planned).toMatchObject({ status: 'planned', plan: { merge: { total: 1 } } });
    expect(await told('consolidate', '--dry-run')).toMatch(
      /^WHAT(.|\n)*\nmerge .* into (.|\n)*would settle \d+, merge 1, /,
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

  it('take options before the name of what follows consolidate too', async () => {
    const { code, stderr } = await runCommand(['consolidate', ...place, 'undo', 'nothing'], { env });
    expect([code, stderr]).toEqual([3, expect.stringMatching(/consolidation/)]);
    const dry = await runCommand(['consolidate', '--dry-run', 'undo', 'nothing', ...place], { env });
    expect([dry.code, dry.stderr]).toEqual([2, '--dry-run is nothing to memoryd consolidate undo\n']);
  });

  it('forget many only when told twice', async () => {
    for (const content of ['a', 'b']) await ask('store', content, '--session-id', 'doomed');
    const asked = await runCommand(['forget', '--session-id', 'doomed', ...place], { env });
    expect([asked.code, asked.stderr]).toEqual([2, expect.stringMatching(/forgets 2 memories for good.*--yes/)]);
    expect(await list('session', 'doomed')).toHaveLength(2);
    const forgotten = await ask<ForgetManyResponse>('forget', '--session-id', 'doomed', '--yes');
    expect(forgotten).toMatchObject({ forgotten_count: 2 });
    expect(await list('session', 'doomed')).toEqual([]);
  });

  it('export to a pipe and a file, import from both, and back up', async () => {
    const folder = temporaryFolder();
    const [file, copy] = [join(folder, 'memories.ndjson'), join(folder, 'copy.db')];
    const { stdout: lines } = await runCommand(['export', ...place], { env });
    expect(await runCommand(['export', file, ...place], { env })).toMatchObject({ code: 0, stdout: '' });
    expect(readFileSync(file, 'utf8')).toBe(lines);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const other = await newPlace();
    const count = lines.split('\n').length - 2;
    const imported = await answerOf<ImportResponse>(['import', ...other], { env, input: lines });
    expect(imported).toMatchObject({ imported_count: count, refused_count: 0 });
    expect(await answerOf(['import', file, ...other], { env })).toMatchObject({ unchanged_count: count });
    const backup = await answerOf<{ size_bytes: number }>(['backup', copy, ...place], { env });
    expect(backup.size_bytes).toBe(statSync(copy).size);
    expect(await answerOf(['verify', '--db-path', copy])).toMatchObject({ ok: true });
    expect((await runCommand(['backup', copy, ...place], { env })).code).toBe(4);
  });

  it('forget all that are there of many, twins at once, and name those that are not', async () => {
    const ids: string[] = [];
    for (const text of ['said twice', 'said twice', 'said once']) {
      ids.push((await ask<StoreResponse>('store', text, '--session-id', 'forgotten')).id);
    }
    await ask('consolidate');
    const { code, stdout, stderr } = await runCommand(['forget', 'nobody', ...ids, '--json', ...place], { env });
    expect([code, stderr.trim()]).toEqual([3, 'nobody: memory not found']);
    const told = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(told.flatMap(({ id, also_forgotten = [] }) => [id, ...also_forgotten]).sort()).toEqual(ids.sort());
    expect(await list('session', 'forgotten')).toEqual([]);
  });
});

describe('commands on a database file', { timeout: PATIENCE_MS }, () => {
  it('recall by meaning, at once after storing many', async () => {
    const dbPath = newPath();
    const others = Array.from({ length: 100 }, (_, n) => `The train number ${n} leaves on time.\n`);
    const input = ['Ada is allergic to peanuts\n', ...others];
    expect(await runCommand(['store', '--lines', '--db-path', dbPath], { input })).toMatchObject({ code: 0 });
    expect(await answerOf(['stats', '--db-path', dbPath])).toMatchObject({ pending_embeddings: 0 });
    const query = 'what food should we avoid for her';
    const { results } = await answerOf<RecallResponse>(['recall', query, '--top-k', '1', '--db-path', dbPath]);
    expect(results.map(({ content }) => content)).toEqual(['Ada is allergic to peanuts']);
  });

  it('end a consolidation in order that is interrupted, so that another need not wait for it', async () => {
    const dbPath = newPath();
    await runCommand(['store', '--lines', '--db-path', dbPath], { env, input: 'the heart beats\n'.repeat(20_000) });
    const consolidating = launch(['consolidate', '--db-path', dbPath], env);
    // The first that it writes is that it has begun.
    await eventually('a run', 20_000, async () => (statSync(`${dbPath}-wal`, NEVER_FAILS)?.size ?? 0) > 0 || undefined);
    expect(await consolidating.end('SIGINT')).toMatchObject({ code: 130, stdout: '', stderr: 'interrupted\n' });
    expect(existsSync(`${dbPath}-wal`)).toBe(false);
    const [run] = await answersOf<Consolidation>(['consolidate', 'runs', '--db-path', dbPath], { env });
    expect(run).toMatchObject({ status: 'running' });
  });

  it('say which file it is that cannot be opened, and end with 6', async () => {
    const dbPath = newPath();
    writeFileSync(dbPath, 'no database at all\n'.repeat(1000));
    const { code, stdout, stderr } = await runCommand(['stats', '--db-path', dbPath], { env });
    expect([code, stdout, stderr]).toEqual([6, '', expect.stringMatching(`^cannot open ${dbPath}: .*\n$`)]);
  });

  it('keep namespaces apart', async () => {
    const dbPath = newPath();
    await runCommand(['store', 'ours', '--namespace', 'a', '--db-path', dbPath], { env });
    const recalled = (name: string) =>
      answerOf<RecallResponse>(['recall', 'ours', '--namespace', name, '--db-path', dbPath], { env });
    expect([(await recalled('a')).total, (await recalled('b')).total]).toEqual([1, 0]);
  });

  it('see what a server on the same file stores, and it what they store', async () => {
    const server = await startServer({ env: WORDS_ONLY });
    const url = ['--url', `http://127.0.0.1:${server.port}`];
    await runCommand(['store', 'from a command', '--db-path', server.dbPath], { env });
    expect(await answerOf<RecallResponse>(['recall', 'command', ...url])).toMatchObject({ total: 1 });
    await server.stop();
  });

  it.each([['recall', 'x'], ['session'], ['consolidate']])('%s makes none where there is none', async (...args) => {
    const dbPath = newPath();
    const { code, stderr } = await runCommand([...args, '--db-path', dbPath], { env });
    expect([code, stderr]).toEqual([2, expect.stringContaining(`there is no database at ${dbPath}`)]);
    expect(existsSync(dbPath)).toBe(false);
  });

  const refused: [string, string[], number, RegExp][] = [
    ['a memory that is not there', ['update', 'nothing', '--importance', '1'], 3, /not found/],
    [
      'a value that no memory may have',
      ['store', 'x', '--importance', '2'],
      2,
      /^--importance must be a number from 0 to 1$/m,
    ],
    ['a text without a letter', ['store', ' '], 2, /content must/],
    ['an update of nothing', ['update', 'x'], 2, /must hold at least one of content, importance/],
    ['a time that is none', ['recall', 'x', '--since', 'monday'], 2, /^--since must be an ISO 8601/],
    ['a filter without a value', ['recall', 'x', '--metadata', 'room'], 2, /^--metadata must be a name and a value/],
    ['ids beside a selection', ['forget', 'a', '--tag', 'b'], 2, /not both/],
    ['nothing to forget', ['forget'], 2, /needs an id/],
  ];
  it.concurrent.each(refused)(
    'refuse %s in one line',
    { timeout: PATIENCE_MS },
    async (_what, args, expected, says) => {
      const dbPath = newPath();
      if (expected === 3) await runCommand(['store', 'x', '--db-path', dbPath], { env });
      const { code, stdout, stderr } = await runCommand([...args, '--db-path', dbPath], {
        env,
        input: args[0] === 'store' ? 'x\n' : '',
      });
      expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
      expect(stderr).toMatch(says);
      expect(stderr.trim()).not.toContain('\n');
    },
  );
});

describe('commands on a service', { timeout: PATIENCE_MS }, () => {
  let server: RunningServer;
  let url: string;
  const keys = { read: '', write: '' };

  beforeAll(async () => {
    server = await startServer({ env: WORDS_ONLY });
    url = `http://127.0.0.1:${server.port}`;
    for (const scope of ['read', 'write'] as const) {
      const args = ['keys', 'add', '--scope', scope, '--db-path', server.dbPath];
      keys[scope] = (await answerOf<{ key: string }>(args)).key;
    }
    await eventually('the keys to be known', 20_000, async () =>
      (await runCommand(['stats', '--url', url])).code === 5 ? true : undefined,
    );
  });

  it('show the key of a flag, of the environment or of the settings file', async () => {
    const cwd = temporaryFolder();
    expect(await answerOf(['stats', '--url', url, '--api-key', keys.read])).toMatchObject({ working_count: 0 });
    expect(await answerOf(['stats', '--url', url], { env: { SERVICE_API_KEY: keys.read } })).toHaveProperty(
      'working_count',
    );
    writeFileSync(join(cwd, 'memoryd.config.json'), JSON.stringify({ url, apiKey: keys.write }));
    expect(await answerOf(['store', 'by the file'], { cwd })).toMatchObject({ status: 'stored' });
  });

  it('end with 5 where the key is missing, wrong or not enough', async () => {
    const wrong = keys.read.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    for (const args of [['stats'], ['stats', '--api-key', wrong], ['store', 'x', '--api-key', keys.read]]) {
      const { code, stdout, stderr } = await runCommand([...args, '--url', url]);
      expect({ code, stdout }, args.join(' ')).toEqual({ code: 5, stdout: '' });
      expect(stderr.trim()).not.toContain('\n');
    }
  });

  it('end with 6 where nobody answers', async () => {
    const { code, stderr } = await runCommand(['stats', '--url', 'http://127.0.0.1:1234'], {});
    expect([code, stderr]).toEqual([6, expect.stringContaining('http://127.0.0.1:1234')]);
  });

  it.each([
    [['--db-path', 'x.db'], '--db-path and --url name two places'],
    [['--database-url', 'postgres://a.example/a'], '--database-url and --url name two places'],
    [['--namespace', 'a'], '--namespace is for a database'],
  ])('refuse %j beside --url', async (flags, says) => {
    const { code, stderr } = await runCommand(['stats', '--url', 'http://127.0.0.1:1234', ...flags]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(says)]);
  });

  it('are asked where the environment says so, but for a database that a flag names', async () => {
    const asked = { SERVICE_URL: url, SERVICE_API_KEY: keys.write };
    await runCommand(['store', 'to the service'], { env: asked });
    expect(await answerOf<RecallResponse>(['recall', 'service'], { env: asked })).toMatchObject({ total: 1 });
    const dbPath = newPath();
    await runCommand(['store', 'to the file', '--db-path', dbPath], { env: { ...env, ...asked } });
    expect(await answerOf<StatsResponse>(['stats', '--db-path', dbPath])).toMatchObject({ working_count: 1 });
  });
});

describe('what is misspelt', { timeout: PATIENCE_MS }, () => {
  const refused: [string[], Record<string, string>, string][] = [
    [['recal', 'x'], {}, "unknown command 'recal' (Did you mean recall?)"],
    [['recall', 'x', '--top-n', '3'], {}, "unknown option '--top-n' (Did you mean --top-k?)"],
    [['keys', 'revok'], {}, 'memoryd keys needs one of add, list, revoke (Did you mean revoke?)'],
    [['store', 'x', '--session', 's'], {}, "unknown option '--session' (Did you mean --session-id?)"],
    [['--log=secret'], {}, "unknown option '--log' (Did you mean --log-level?)"],
    [['--prot', '8091'], {}, "unknown option '--prot' (Did you mean --port?)"],
    [['recall', 'x', '--tier', 'deep'], {}, 'working, episodic, semantic'],
    [['store', 'x', '--lines'], {}, '--lines and --ndjson read standard input'],
    [['completion', 'tcsh'], {}, 'bash, zsh, fish'],
    [['store', 'x', '--namespace', 'team b'], {}, 'namespace must be a name of 1 to 128 letters'],
    [['stats'], { SERVICE_URL: 'localhost' }, 'SERVICE_URL must be an http or https address'],
  ];
  it.concurrent.each(refused)('%j is refused in one line that says what is near', async (args, variables, says) => {
    const { code, stdout, stderr } = await runCommand(args, { env: variables });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(says);
    expect(stderr.trim()).not.toContain('\n');
  });

  it('a variable is warned of, and the command goes on', async () => {
    const { code, stderr } = await runCommand(['completion', 'bash'], { env: { SERVICE_PROT: '1' } });
    const warning = 'memoryd: SERVICE_PROT is no setting, and is ignored (Did you mean SERVICE_PORT?)\n';
    expect([code, stderr]).toEqual([0, warning]);
  });

  it('a key of the settings file is refused by every command that reads it, and by the service', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'memoryd.config.json'), '{"db_path": "x.db"}');
    for (const args of [['stats'], ['serve', '--port', '0'], ['keys', 'list']]) {
      const { code, stderr } = await runCommand(args, { cwd });
      expect([code, stderr], args[0]).toEqual([2, expect.stringContaining('"db_path" (Did you mean dbPath?)')]);
    }
  });
});

describe('a settings file in the working directory', { timeout: PATIENCE_MS }, () => {
  it('is read by commands and the service; a variable wins over it, and a flag over both', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'memoryd.config.json'), '{"dbPath": "file.db", "embedder": "none"}');
    const storedIn = async (name: string, args: string[], variables: Record<string, string>) => {
      expect(await runCommand(['store', 'x', ...args], { cwd, env: variables })).toMatchObject({ code: 0, stderr: '' });
      expect(existsSync(join(cwd, name)), name).toBe(true);
    };
    await storedIn('file.db', [], {});
    await storedIn('variable.db', [], { SERVICE_DB_PATH: 'variable.db' });
    await storedIn('flag.db', ['--db-path', 'flag.db'], { SERVICE_DB_PATH: 'variable.db' });
    const server = launch(['--port', '0'], {}, { cwd });
    const started = await eventually('the start', 30_000, () =>
      server.lines().find((line) => line.includes('server_started')),
    );
    expect(JSON.parse(started)).toMatchObject({ embedder: 'none' });
    expect(started).toContain(join(cwd, 'file.db'));
    await server.end('SIGTERM');
  });

  it('is not read by memoryd mcp, unless it is named', async () => {
    const cwd = temporaryFolder();
    writeFileSync(join(cwd, 'memoryd.config.json'), '{"embedder": "none", "prot": 1}');
    expect(await runCommand(['mcp', '--embedder', 'none'], { cwd })).toMatchObject({ code: 0 });
    const named = await runCommand(['mcp', '--config', 'memoryd.config.json'], { cwd });
    expect([named.code, named.stderr]).toEqual([2, expect.stringContaining('"prot"')]);
  });
});
