import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type {
  ApiKeyWithSecret,
  FileImportResponse,
  Import,
  ImportResponse,
  MemoriesResponse,
  Memory,
  NewKey,
  RecallResponse,
  UndoImportResponse,
} from '@memoryd/contract';
import { describe, expect, it } from 'vitest';
import { runCommand, toAnswer } from './command.ts';
import { getJsonInProcess, getJsonLinesInProcess, runInProcess } from './command-in-process.ts';
import { createTemporaryFolder } from './folders.ts';
import { eventually, launch } from './process.ts';
import { startClient, useServer, WORDS_ONLY } from './under-test.ts';

const env = { SERVICE_EMBEDDER: 'none' };
const serverPackage = fileURLToPath(new URL('..', import.meta.url));

/** Writes a file of a new folder, and returns its path. */
function createFile(name: string, content: string, folder = createTemporaryFolder()): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
  return path;
}

const createPlace = () => ['--db-path', join(createTemporaryFolder(), 'memory.db')];

const toJsonLines = (values: readonly unknown[]) => values.map((value) => `${JSON.stringify(value)}\n`).join('');

/** Returns lines of memories in the format jsonl. */
const createNotes = (count: number, content = 'Mara waters the roses') =>
  toJsonLines(Array.from({ length: count }, (_, n) => ({ external_id: `note-${n}`, content: `${content} ${n}` })));

/** A conversation of ChatGPT of two messages, and an answer of another branch. */
function createConversations(): string {
  const createMessage = (id: string, role: string, words: string, parent: string | null, time: number) => ({
    id,
    parent,
    children: [],
    message: { id, author: { role }, create_time: time, content: { content_type: 'text', parts: [words] } },
  });
  const nodes = [
    createMessage('m1', 'user', 'Which apples keep until spring?', null, 1_706_779_800),
    createMessage('m2', 'assistant', 'Boskoop keeps until April.', 'm1', 1_706_779_860.5),
    createMessage('m3', 'assistant', 'Most apples keep for months.', 'm1', 1_706_779_830),
  ];
  return JSON.stringify([
    {
      conversation_id: 'c1',
      title: 'Apples',
      create_time: 1_706_779_800,
      current_node: 'm2',
      mapping: Object.fromEntries(nodes.map((node) => [node.id, node])),
    },
  ]);
}

const listMemories = async (place: readonly string[], ...options: string[]): Promise<Memory[]> =>
  (await getJsonInProcess<MemoriesResponse>(['list', ...options, ...place], { env })).memories;

const listImports = (place: readonly string[]) =>
  getJsonLinesInProcess<Import>(['import', '--list', ...place], { env });

/** Returns a function that returns the options for a user without memories, which is faster than a new database. */
function useUsers(): () => string[] {
  const memoryd = useServer({ env: WORDS_ONLY });
  let users = 0;
  return () => ['--url', `http://127.0.0.1:${memoryd.server.port}`, '--user', `user-${users++}`];
}

describe('memoryd import of another program', () => {
  const createUser = useUsers();

  it('shows a preview, stores with time and session, is recalled by its date, and names the command that undoes it', async () => {
    const place = createPlace();
    const file = createFile('export.json', createConversations());
    const { code, stdout, stderr } = await runCommand(['import', file, '--user', 'ada', '--utc', ...place], { env });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^ChatGPT export: 2 memories in 1 session, dated 2024-02-01$/m);
    expect(stdout).toMatch(/^ {2}2024-02-01 09:30Z {2}Which apples keep until spring\?$/m);
    expect(stdout).toMatch(/^Left out:\n {2}messages of other branches of a conversation: 1$/m);
    expect(stdout).toMatch(/^imported 2, updated 0, unchanged 0, refused 0$/m);
    const memories = await listMemories(place, '--user', 'ada');
    expect(memories.map(({ content, session_id, created_at }) => [content, session_id, created_at])).toEqual([
      ['Boskoop keeps until April.', 'chatgpt:c1', '2024-02-01T09:31:00.500Z'],
      ['Which apples keep until spring?', 'chatgpt:c1', '2024-02-01T09:30:00.000Z'],
    ]);
    const question = ['recall', 'What did we talk about on 1 February 2024?', '--user', 'ada'];
    const { results } = await getJsonInProcess<RecallResponse>([...question, ...place], { env });
    expect(results[0]).toMatchObject({ content: 'Boskoop keeps until April.', session_id: 'chatgpt:c1' });
    const undo = /^undo: memoryd (import --undo .*)$/m.exec(stdout)?.[1]?.split(' ') ?? [];
    expect(undo).toEqual(['import', '--undo', expect.any(String), ...place]);
    expect(await runInProcess(undo, { env })).toMatchObject({ code: 0, stdout: /forgotten 2 memories\n/ });
    expect(await listMemories(place)).toEqual([]);
  });

  it('stores nothing with --dry-run, and creates no database', async () => {
    const place = createPlace();
    const file = createFile('export.json', createConversations());
    const shown = await runInProcess(['import', file, '--dry-run', ...place], { env });
    expect(shown).toMatchObject({ code: 0, stderr: 'Nothing was stored, because of --dry-run.\n' });
    expect(shown.stdout).toMatch(/^ChatGPT export: 2 memories/);
    const json = await getJsonInProcess<FileImportResponse>(['import', file, '--dry-run', ...place], { env });
    expect(json).toMatchObject({ from: 'chatgpt', found_count: 2, imported_count: 0, session_count: 1 });
    expect(json).not.toHaveProperty('import_id');
    expect(existsSync(place[1] as string)).toBe(false);
  });

  it('stores nothing twice, and updates what has changed in the source', async () => {
    const place = createUser();
    const importNotes = (content: string) =>
      getJsonInProcess<FileImportResponse>(['import', createFile('notes.jsonl', content), ...place], { env });
    expect(await importNotes(createNotes(3))).toMatchObject({ imported_count: 3, unchanged_count: 0 });
    expect(await importNotes(createNotes(3))).toMatchObject({ imported_count: 0, unchanged_count: 3 });
    const changed = createNotes(4).replace('roses 1', 'tulips 1');
    expect(await importNotes(changed)).toMatchObject({ imported_count: 1, updated_count: 1, unchanged_count: 2 });
    expect((await listMemories(place)).map(({ content }) => content).sort()).toEqual([
      'Mara waters the roses 0',
      'Mara waters the roses 2',
      'Mara waters the roses 3',
      'Mara waters the tulips 1',
    ]);
  });

  it('lists the refused items of a broken file, stores the others, and exits with 1', async () => {
    const place = createUser();
    const file = createFile('notes.jsonl', `${createNotes(2)}{"content": "cut o`);
    const dry = await runInProcess(['import', file, '--from', 'jsonl', '--dry-run', ...place], { env });
    expect(dry).toMatchObject({ code: 1, stdout: expect.stringMatching(/^Refused:\n {2}line 3: \S/m) });
    const { code, stdout } = await runInProcess(['import', file, '--from', 'jsonl', ...place], { env });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Refused:\n {2}line 3: \S/m);
    expect(stdout).toMatch(/^imported 2, updated 0, unchanged 0, refused 1$/m);
    expect(await listMemories(place)).toHaveLength(2);
  });

  it('removes secrets from texts, and keeps them with --no-redact', async () => {
    const secret = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
    const file = createFile('notes.jsonl', createNotes(1, `The token is ${secret}`));
    const [redacted, kept] = [createUser(), createUser()];
    const { stdout } = await runInProcess(['import', file, ...redacted], { env });
    expect(stdout).toMatch(/^removed secrets: 1 \S+$/m);
    expect(stdout).not.toContain(secret);
    expect((await runInProcess(['import', file, '--no-redact', ...kept], { env })).stdout).not.toContain('removed');
    expect((await listMemories(redacted))[0]?.content).not.toContain(secret);
    expect((await listMemories(kept))[0]?.content).toContain(secret);
  });

  it('takes the columns that --map names, and keeps the others as metadata with --rest', async () => {
    const place = createUser();
    const file = createFile('diary.csv', 'day,note,room\n2026-03-14,"The lemon tree, in bloom",balcony\n');
    const options = ['--map', 'content=note,created_at=day', '--rest', 'metadata', '--utc'];
    await getJsonInProcess(['import', file, ...options, ...place], { env });
    expect(await listMemories(place)).toMatchObject([
      { content: 'The lemon tree, in bloom', created_at: '2026-03-14T00:00:00.000Z', metadata: { room: 'balcony' } },
    ]);
  });

  it('stores the memories of one user of a file with --source-user', async () => {
    const place = createPlace();
    const results = ['ada', 'ben'].map((user_id) => ({ id: user_id, memory: `${user_id} likes tea`, user_id }));
    const file = createFile('mem0.json', JSON.stringify({ results }));
    const unclear = await runInProcess(['import', file, '--user', 'mara', ...place], { env });
    expect(unclear).toMatchObject({ code: 2, stderr: /^--source-user must .*"ada", "ben"/ });
    expect(existsSync(place[1] as string)).toBe(false);
    await getJsonInProcess(['import', file, '--user', 'mara', '--source-user', 'ben', ...place], { env });
    expect(await listMemories(place)).toMatchObject([{ content: 'ben likes tea', user_id: 'mara' }]);
  });

  it('tells to use --user if the API key is of another user than the file names', async () => {
    const operator = 'operator-key-of-this-test-of-imports';
    const service = await startClient({ env: { ...WORDS_ONLY, SERVICE_API_KEY: operator } });
    const { key } = await service.ok<ApiKeyWithSecret>({
      ...{ method: 'POST', path: '/keys', headers: { authorization: `Bearer ${operator}` } },
      json: { namespace: 'default', scope: 'write', user_id: 'mara' } satisfies NewKey,
    });
    const file = createFile('notes.jsonl', toJsonLines([{ id: '1', content: 'Boskoop keeps', user_id: 'ben' }]));
    const place = ['--url', `http://127.0.0.1:${service.server.port}`, '--api-key', key];
    const refused = await runInProcess(['import', file, ...place], { env });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('Repeat the command with --user')]);
    const repeated = await runInProcess(['import', file, '--user', 'mara', ...place], { env });
    expect([repeated.code, repeated.stderr]).toEqual([0, expect.not.stringContaining('--user')]);
    expect(await listMemories(place)).toMatchObject([{ content: 'Boskoop keeps', user_id: 'mara' }]);
  });

  it('takes the folder of an agent program without a file, and its answers with --capture turns', async () => {
    const home = createTemporaryFolder();
    const createLine = (type: string, uuid: string, message: object) => ({
      ...{ type, uuid, message, sessionId: 's1', cwd: '/home/ada/garden', isSidechain: false, userType: 'external' },
      timestamp: '2026-05-04T10:00:00.000Z',
    });
    const session = toJsonLines([
      createLine('user', 'u1', { role: 'user', content: 'When do I prune the apple trees?' }),
      createLine('assistant', 'a1', {
        ...{ id: 'a1', role: 'assistant', stop_reason: 'end_turn' },
        content: [{ type: 'text', text: 'Prune the apple trees in February.' }],
      }),
    ]);
    createFile('projects/-home-ada-garden/s1.jsonl', session, home);
    const importAll = (...options: string[]) =>
      toAnswer<FileImportResponse>(['import', '--from', 'claude-code', '--dry-run', ...options], {
        env: { ...env, CLAUDE_CONFIG_DIR: home },
      });
    expect(await importAll()).toMatchObject({
      found_count: 1,
      first: [{ content: 'When do I prune the apple trees?' }],
    });
    expect(await importAll('--capture', 'turns')).toMatchObject({ found_count: 2 });
  });
});

describe('memoryd import that is interrupted', () => {
  const memoryd = useServer({ env: WORDS_ONLY });

  it.each([
    { target: 'a database', signal: 'SIGINT' as const, getPlace: createPlace },
    {
      target: 'a service',
      signal: 'SIGTERM' as const,
      getPlace: () => ['--url', `http://127.0.0.1:${memoryd.server.port}`],
    },
  ])('ends with 130 at $signal, and a repetition into $target stores the rest once', async ({ signal, getPlace }) => {
    const place = getPlace();
    const count = 10_000;
    const file = createFile('notes.jsonl', createNotes(count));
    const running = launch(['import', file, ...place], env);
    // The command fails while the database has no tables yet.
    const hasMemories = async () => {
      const { code, stdout } = await runInProcess(['list', '--limit', '1', '--json', ...place], { env });
      return code === 0 && (JSON.parse(stdout) as MemoriesResponse).total > 0 ? true : undefined;
    };
    await eventually('the first memories', 60_000, hasMemories);
    const { code, stderr } = await running.end(signal);
    expect([code, stderr]).toEqual([130, expect.stringContaining('Repeat the command to go on')]);
    expect(await listImports(place)).toMatchObject([{ ended_at: null }]);
    // The service refuses a second import of a user until it has stored what it had received of the first one.
    const repeated = await eventually('the repetition', 60_000, async () => {
      const { code: end, stdout, stderr: error } = await runInProcess(['import', file, '--json', ...place], { env });
      if (error.includes('the concurrency limit of the namespace or user')) return undefined;
      expect(end, error).toBe(0);
      return JSON.parse(stdout) as FileImportResponse;
    });
    expect(repeated.imported_count + repeated.unchanged_count).toBe(count);
    expect(repeated.unchanged_count).toBeGreaterThan(0);
    const imports = await listImports(place);
    expect(imports).toMatchObject([{ memory_count: count, imported_count: count, ended_at: expect.any(String) }]);
  });
});

describe('memoryd import --list and --undo', () => {
  const createUser = useUsers();

  it('lists imports newest first, and undoes one without the memories that changed since', async () => {
    const place = createUser();
    for (const name of ['first', 'second']) {
      const file = createFile(
        `${name}.jsonl`,
        toJsonLines([0, 1].map((n) => ({ id: `${name}-${n}`, content: `${name} ${n}` }))),
      );
      await getJsonInProcess(['import', file, ...place], { env });
    }
    const imports = await listImports(place);
    expect(imports.map(({ from, name, user_id, memory_count }) => [from, name, user_id, memory_count])).toEqual([
      ['jsonl', 'second.jsonl', place[3], 2],
      ['jsonl', 'first.jsonl', place[3], 2],
    ]);
    const { stdout } = await runInProcess(['import', '--list', ...place], { env });
    expect(stdout).toMatch(/^IMPORT +FROM +STARTED +ENDED +IMPORTED +STORED +NAME\n.*second\.jsonl, user user-\d+\n/);
    const changed = (await listMemories(place)).find(({ content }) => content === 'second 1');
    await getJsonInProcess(['update', changed?.id ?? '', '--content', 'second 1, corrected', ...place], { env });
    const undone = await getJsonInProcess<UndoImportResponse>(['import', '--undo', imports[0]?.id ?? '', ...place], {
      env,
    });
    expect(undone).toMatchObject({ forgotten_count: 1, kept_count: 1 });
    expect((await listMemories(place)).map(({ content }) => content).sort()).toEqual([
      'first 0',
      'first 1',
      'second 1, corrected',
    ]);
  });

  it('--undo without an id and without a terminal lists ids, and undoes nothing', async () => {
    const place = createUser();
    await getJsonInProcess(['import', createFile('notes.jsonl', createNotes(2)), ...place], { env });
    const [{ id } = { id: '' }] = await listImports(place);
    const refused = await runInProcess(['import', '--undo', '--yes', ...place], { env });
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining(`${id} (jsonl, notes.jsonl)`)]);
    expect(await listMemories(place)).toHaveLength(2);
  });

  it('undoes the import of an export of memoryd', async () => {
    const [source, target] = [createPlace(), createPlace()];
    await getJsonInProcess(['store', 'The key is under the mat', ...source], { env });
    const { stdout: input } = await runInProcess(['export', ...source], { env });
    const { import_id } = await getJsonInProcess<ImportResponse>(['import', ...target], { env, input });
    const undone = await getJsonInProcess(['import', '--undo', import_id ?? '', ...target], { env });
    expect(undone).toMatchObject({ forgotten_count: 1 });
    expect(await listMemories(target)).toEqual([]);
  });

  it('--undo of an unknown import exits with 3', async () => {
    const place = createPlace();
    await getJsonInProcess(['store', 'x', ...place], { env });
    expect(await runInProcess(['import', '--undo', 'nothing', ...place], { env })).toMatchObject({ code: 3 });
    expect(await listMemories(place)).toHaveLength(1);
  });
});

describe('memoryd import with a wrong command line', () => {
  const notes = createFile('notes.jsonl', createNotes(1));
  const recipe = createFile('recipe.txt', 'Two apples, one lemon, and a spoon of sugar.');
  it.each([
    ['a file of an unknown format names the formats', [recipe], 2, /chatgpt.*markdown.*jsonl/s],
    ['a file of another format than --from names it', [notes, '--from', 'chatgpt'], 2, /jsonl/i],
    ['a missing file', [join(createTemporaryFolder(), 'none.zip')], 6, /none\.zip cannot be read \(ENOENT\)/],
    [
      '--map for a format without columns',
      [createFile('a.json', createConversations()), '--map', 'content=a'],
      2,
      /^--map is for csv, jsonl, and this is chatgpt/,
    ],
    [
      '--capture for another format than an agent program',
      [notes, '--capture', 'turns'],
      2,
      /^--capture is for claude-code/,
    ],
    ['a pair of --map without =', [notes, '--map', 'content'], 2, /^--map must be/],
    ['standard input for another program', ['-', '--from', 'chatgpt'], 2, /^--from chatgpt needs the path/],
    ['--from without a file', ['--from', 'mem0'], 2, /^--from mem0 needs the path/],
    ['--dry-run for an export of memoryd', ['-', '--dry-run'], 2, /^--dry-run is for files of other programs/],
    ['--list with a file', [notes, '--list'], 2, /^--list takes no file/],
    ['--undo with --from', ['--undo', 'x', '--from', 'jsonl'], 2, /--undo.*--from/],
  ])('%s is refused, and nothing is stored', async (_, args, code, message) => {
    const place = createPlace();
    const refused = await runInProcess(['import', ...args, ...place], { env });
    expect([refused.code, refused.stderr]).toEqual([code, expect.stringMatching(message)]);
    expect(existsSync(place[1] as string)).toBe(false);
  });
});

describe('memoryd import of a pipe', () => {
  it.each([
    { target: 'a database', getPlace: createPlace },
    { target: 'a service', getPlace: useUsers() },
  ])('refuses a file of another program from a pipe into $target, and says how to import it', async ({ getPlace }) => {
    const place = getPlace();
    const refused = await runInProcess(['import', ...place], { env, input: createNotes(2) });
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/^standard input must be an export of memoryd/),
    ]);
    expect(await listMemories(place)).toEqual([]);
  });
});

const hasScript = spawnSync('script', ['--version']).status === 0;

describe.runIf(hasScript)('memoryd import on a terminal', () => {
  /** Runs a command on a terminal on which a person types an answer to the question, and returns the output. */
  async function onTerminal(args: readonly string[], answer: string, question: string): Promise<string> {
    const command = [process.execPath, serverPackage, ...args].map((word) => `'${word}'`).join(' ');
    const child = spawn('script', ['-qefc', `stty cols 80; ${command}`, '/dev/null'], {
      env: { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', NO_COLOR: '1', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let isAnswered = false;
    let shown = '';
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      shown += piece;
      if (isAnswered || !shown.includes(question)) return;
      isAnswered = true;
      child.stdin.write(`${answer}\r`);
    });
    await Promise.all([text(child.stderr), once(child, 'close')]);
    return shown;
  }

  it.each([
    { answer: 'n', stored: 0 },
    { answer: '', stored: 2 },
  ])('asks before it stores: the answer "$answer" stores $stored memories', async ({ answer, stored }) => {
    const place = createPlace();
    const file = createFile('notes.jsonl', createNotes(2));
    const shown = await onTerminal(['import', file, ...place], answer, 'Store 2 memories? [Y/n]');
    if (stored === 0) {
      expect(shown).toContain('Nothing was stored.');
      expect(existsSync(place[1] as string)).toBe(false);
    } else expect(await listMemories(place)).toHaveLength(stored);
  });

  it('--undo without an id shows the newest import, and asks', async () => {
    const place = createPlace();
    await getJsonInProcess(['import', createFile('notes.jsonl', createNotes(2)), ...place], { env });
    const question = 'Forget 2 memories of this import? [Y/n]';
    expect(await onTerminal(['import', '--undo', ...place], 'n', question)).toContain('notes.jsonl');
    expect(await listMemories(place)).toHaveLength(2);
    await onTerminal(['import', '--undo', ...place], 'y', question);
    expect(await listMemories(place)).toEqual([]);
  });
});
