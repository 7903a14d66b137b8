import { type ApiKeyWithSecret, estimateTokens, type HooksResponse, type Memory, type NewKey } from '@memoryd/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startEmbeddingServer } from '../../engine/src/embedding/embedding-server.fixture.ts';
import { PROGRAM_NAMES } from '../src/hooks/programs/programs.ts';
import type { Answer, Request } from './http.ts';
import { expectError } from './refusal.ts';
import { type Client, expectCleanEnd, startClient, useServer, WORDS_ONLY } from './under-test.ts';

const memoryd = useServer({ env: { ...WORDS_ONLY, SERVICE_TIMEZONE: 'UTC' } });

let users = 0;
/** Returns a user without memories. */
const createUser = () => `user ${users++}`;

interface HookOptions {
  program?: string;
  user?: string;
  query?: string;
  headers?: Record<string, string>;
  client?: Client;
}

/** Returns the request of a hook. The deadline is long, because tests share a slow machine. */
function toRequest(json: unknown, { program = 'claude-code', user, query = '', headers = {} }: HookOptions): Request {
  const owner = user === undefined ? '' : `&user_id=${encodeURIComponent(user)}`;
  return { method: 'POST', path: `/hooks/${program}?deadline_ms=10000${owner}${query}`, json, headers };
}

/** Sends the body of a hook, and expects status 200. */
async function callHook(body: unknown, { client = memoryd, ...options }: HookOptions = {}): Promise<Answer<object>> {
  const answer = await client.send<object>(toRequest(body, options));
  expect(answer.status, answer.text).toBe(200);
  return answer;
}

const FOLDER = '/home/ada/garden';

const start = (session_id: string, fields: object = {}) => ({
  ...{ session_id, hook_event_name: 'SessionStart', source: 'startup', cwd: FOLDER },
  ...fields,
});

let prompts = 0;
const prompt = (session_id: string, text: string, fields: object = {}) => ({
  ...{ session_id, hook_event_name: 'UserPromptSubmit', prompt: text, prompt_id: `prompt ${prompts++}` },
  ...{ cwd: FOLDER, permission_mode: 'default' },
  ...fields,
});

const stop = (session_id: string, answer: string, fields: object = {}) => ({
  ...{ session_id, hook_event_name: 'Stop', last_assistant_message: answer, cwd: FOLDER, stop_hook_active: false },
  ...fields,
});

/** Returns the context in a response in the format of Claude Code; empty without one. */
function getContext({ body }: Answer<object>): string {
  const { hookSpecificOutput } = body as { hookSpecificOutput?: { additionalContext: string } };
  return hookSpecificOutput?.additionalContext ?? '';
}

/** Returns the memories of a user, in the order of arrival. */
async function getMemories(user: string, client: Client = memoryd): Promise<Memory[]> {
  return (await client.memories(`user_id=${encodeURIComponent(user)}`)).memories.toReversed();
}

const getContents = async (user: string, client?: Client) =>
  (await getMemories(user, client)).map(({ content }) => content);

const setHooks = (user: string, json: object) =>
  memoryd.ok({ method: 'PUT', path: `/hooks?user_id=${encodeURIComponent(user)}`, json });

const STATEMENT = 'The narwhal figurine stands in the hall.';
const QUESTION = 'Where does the narwhal figurine stand?';

describe('POST /hooks/{program}', () => {
  it('stores a prompt, and gives it once to a later session of the same project and user', async () => {
    const user = createUser();
    expect((await callHook(prompt('a', STATEMENT), { user })).body).toEqual({});
    const memories = await getMemories(user);
    expect(memories).toMatchObject([
      {
        ...{ content: STATEMENT, source: 'claude-code', session_id: 'claude-code:a', user_id: user },
        tags: ['role:user', 'project:garden'],
        metadata: { project: expect.stringMatching(/^garden-[0-9a-f]{8}$/) },
      },
    ]);
    expect(memories[0]).not.toHaveProperty('agent_id');
    const second = await callHook(prompt('b', QUESTION), { user });
    expect(second.body).toEqual({
      hookSpecificOutput: { hookEventName: 'UserPromptSubmit', additionalContext: expect.any(String) },
    });
    expect(getContext(second)).toContain('stands in the hall.');
    expect(getContext(second)).not.toContain(QUESTION);
    expect(getContext(await callHook(prompt('b', `And ${QUESTION}`), { user }))).toBe('');
    expect(getContext(await callHook(prompt('c', QUESTION), { user: createUser() }))).toBe('');
  });

  /** The bodies of a start, a prompt and an answer, and where the context is in the response to a prompt. */
  const PROGRAMS: Record<string, { start?: object; prompt: object; end: object; given?: string }> = {
    'claude-code': { start: start('s'), prompt: prompt('s', QUESTION), end: stop('s', 'In the hall.') },
    codex: {
      start: start('s', { model: 'm' }),
      prompt: prompt('s', QUESTION, { prompt_id: undefined, turn_id: 't' }),
      end: stop('s', 'In the hall.', { turn_id: 't' }),
    },
    'gemini-cli': {
      start: start('s'),
      prompt: {
        ...start('s'),
        hook_event_name: 'BeforeAgent',
        prompt: `<hook_context>x</hook_context>\n\n${QUESTION}`,
      },
      end: { ...start('s'), hook_event_name: 'AfterAgent', prompt: QUESTION, prompt_response: 'In the hall.' },
    },
    antigravity: {
      prompt: {
        ...{ conversationId: 's', workspacePaths: [FOLDER] },
        prompt: `<USER_REQUEST>\n${QUESTION}\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nOpen: /home/ada/x\n</ADDITIONAL_METADATA>`,
      },
      end: { conversationId: 's', workspacePaths: [FOLDER], hookEventName: 'Stop', answer: 'In the hall.' },
      given: 'injectSteps',
    },
    cursor: {
      start: { conversation_id: 's', hook_event_name: 'sessionStart', workspace_roots: [FOLDER] },
      prompt: { conversation_id: 's', hook_event_name: 'beforeSubmitPrompt', prompt: QUESTION, generation_id: 'g' },
      end: { conversation_id: 's', hook_event_name: 'afterAgentResponse', text: 'In the hall.', generation_id: 'g' },
    },
    vscode: {
      start: { sessionId: 's', hookEventName: 'SessionStart', cwd: FOLDER, source: 'new' },
      prompt: { sessionId: 's', hookEventName: 'UserPromptSubmit', cwd: FOLDER, prompt: QUESTION },
      end: { sessionId: 's', hookEventName: 'Stop', cwd: FOLDER, last_assistant_message: 'In the hall.' },
    },
    'copilot-cli': {
      start: { sessionId: 's', cwd: FOLDER, source: 'new', timestamp: 1 },
      prompt: { sessionId: 's', cwd: FOLDER, prompt: QUESTION, timestamp: 2 },
      end: { sessionId: 's', cwd: FOLDER, stopReason: 'end_turn', lastAssistantMessage: 'In the hall.' },
      given: 'additionalContext',
    },
    opencode: {
      start: { event: 'session.start', session_id: 's', directory: FOLDER },
      prompt: { event: 'chat.message', session_id: 's', directory: FOLDER, message_id: 'm', text: `"${QUESTION}"` },
      end: { event: 'session.idle', session_id: 's', directory: FOLDER, message_id: 'm', answer: 'In the hall.' },
      given: 'context',
    },
  };

  it('supports exactly the programs of this table', () => {
    expect(Object.keys(PROGRAMS)).toEqual(PROGRAM_NAMES);
  });

  it.each(Object.entries(PROGRAMS))('stores the turns of %s, and gives what it knows once', async (program, bodies) => {
    const user = createUser();
    const options = { program, user, query: '&capture=turns' };
    await callHook(prompt('before', STATEMENT), { user });
    const started = bodies.start ? await callHook(bodies.start, options) : undefined;
    const prompted = await callHook(bodies.prompt, options);
    const ended = await callHook(bodies.end, options);
    const contexts = [started, prompted, ended].map((answer) => answer?.text ?? '');
    expect(contexts.filter((text) => text.includes('stands in the hall')).length).toBe(1);
    expect(contexts.join()).not.toContain(QUESTION);
    expect(ended.body).toEqual(program === 'cursor' ? { continue: true } : {});
    if (bodies.given) expect(Object.keys((started ?? prompted).body)).toEqual([bodies.given]);
    const session_id = `${program}:s`;
    expect((await getMemories(user)).slice(1)).toMatchObject([
      { content: QUESTION, source: program, session_id, tags: ['role:user', 'project:garden'] },
      { content: 'In the hall.', source: program, session_id, tags: ['role:assistant', 'project:garden'] },
    ]);
  });

  it('gives the newest statements at the start of a session, and again after the program lost its context', async () => {
    const user = createUser();
    await callHook(prompt('a', STATEMENT), { user });
    expect(getContext(await callHook(start('b'), { user }))).toContain('narwhal');
    expect(getContext(await callHook(prompt('b', QUESTION), { user }))).toBe('');
    expect(getContext(await callHook(start('b'), { user }))).toBe('');
    expect(getContext(await callHook(start('b', { source: 'compact' }), { user }))).toContain('narwhal');
    const gemini = { user, program: 'gemini-cli' };
    const ask = (text: string) => callHook({ ...start('g'), hook_event_name: 'BeforeAgent', prompt: text }, gemini);
    expect(getContext(await ask(QUESTION))).toContain('narwhal');
    expect(getContext(await ask(`Tell me: ${QUESTION}`))).toBe('');
    await callHook({ ...start('g'), hook_event_name: 'PreCompress' }, gemini);
    expect(getContext(await ask(`Once more: ${QUESTION}`))).toContain('stands in the hall');
  });

  it('stores nothing with capture=off, and gives nothing with recall=off', async () => {
    const user = createUser();
    await callHook(prompt('a', STATEMENT), { user, query: '&recall=off' });
    expect(await getContents(user)).toEqual([STATEMENT]);
    expect(getContext(await callHook(prompt('b', QUESTION), { user, query: '&recall=off' }))).toBe('');
    expect(getContext(await callHook(start('b'), { user, query: '&recall=off' }))).toBe('');
    const without = await callHook(prompt('c', `Say: ${QUESTION}`), { user, query: '&capture=off' });
    expect(getContext(without)).toContain('stands in the hall');
    await callHook(stop('c', 'In the hall of the house.'), { user, query: '&capture=off' });
    await callHook(stop('c', 'In the hall of the house.'), { user });
    expect(await getContents(user)).toEqual([STATEMENT, QUESTION]);
  });

  const LONG = `${'x'.repeat(3999)}😀`;
  it('stores the last answer to a prompt once, up to 4,000 characters', async () => {
    const user = createUser();
    const turns = { user, query: '&capture=turns' };
    await callHook(prompt('a', STATEMENT, { prompt_id: 'p' }), turns);
    await callHook(stop('a', 'I moved it.', { prompt_id: 'p' }), turns);
    await callHook(stop('a', LONG, { prompt_id: 'p', stop_hook_active: true }), turns);
    await callHook(stop('a', LONG, { prompt_id: 'p' }), { ...turns, program: 'vscode' });
    expect(await getContents(user)).toEqual([STATEMENT, 'x'.repeat(3999)]);
  });

  it.each<[string, object]>([
    ['a command', prompt('a', '/review the whole garden gate')],
    ['a prompt of fewer than 12 columns', prompt('a', 'yes, do it!')],
    [
      'the result of a task',
      prompt('a', '<task-notification>the gate is ready</task-notification>\nFull text: /tmp/x'),
    ],
    ['a prompt of a schedule', prompt('a', 'Water the whole garden.', { source: 'schedule_wakeup' })],
    ['a prompt inside a sub-agent', prompt('a', 'Look at the garden gate.', { agent_id: '7' })],
    ['the answer of a sub-agent', { ...stop('a', 'The gate is blue.'), hook_event_name: 'SubagentStop' }],
    ['a prompt of blocks', prompt('a', '<system-reminder>the gate is blue</system-reminder>')],
    ['a prompt without text', prompt('a', ' \n\0 ')],
    ['an unknown event', { ...prompt('a', STATEMENT), hook_event_name: 'Notification' }],
    ['no session', { ...prompt('a', STATEMENT), session_id: undefined }],
    ['a text', 'a text'],
    ['a list', [prompt('a', STATEMENT)]],
    ['null', null],
  ])('stores and gives nothing for %s', async (_name, body) => {
    const user = createUser();
    await memoryd.store({ content: 'the gate of the garden is blue, and the whole text is yes', user_id: user });
    expect((await callHook(body, { user, query: '&capture=turns' })).body).toEqual({});
    expect(await getContents(user)).toHaveLength(1);
  });

  it('stores no answer to a prompt that the program sent itself', async () => {
    const user = createUser();
    const turns = { user, query: '&capture=turns' };
    const first = stop('a', 'I will water it.', { session_crons: [{ id: 'c', prompt: 'Water the whole garden.' }] });
    await callHook(prompt('a', 'Water it daily.'), turns);
    await callHook(first, turns);
    await callHook(prompt('a', 'Water the whole garden.', { prompt_id: 'cron' }), turns);
    await callHook(stop('a', 'I watered the garden.', { prompt_id: 'cron' }), turns);
    await callHook(prompt('a', '<task-notification>x</task-notification>', { prompt_id: 'task' }), turns);
    await callHook(stop('a', 'The task has ended.', { prompt_id: 'task' }), turns);
    await callHook(stop('a', 'The task has ended.'), turns);
    expect(await getContents(user)).toEqual(['Water it daily.', 'I will water it.']);
  });

  it('stores and gives nothing while paused, and in an ignored folder and below it', async () => {
    const user = createUser();
    await callHook(prompt('a', STATEMENT), { user });
    const expectNothing = async (session: string, cwd: string) => {
      expect((await callHook(start(session, { cwd }), { user })).body).toEqual({});
      expect((await callHook(prompt(session, QUESTION, { cwd }), { user })).body).toEqual({});
      expect(await getContents(user)).toEqual([STATEMENT]);
    };
    await setHooks(user, { paused: true });
    await expectNothing('b', FOLDER);
    await setHooks(user, { paused: false, ignored_folders: ['/home/ada', 'C:\\Private'] });
    await expectNothing('c', FOLDER);
    await expectNothing('d', '/home/ada/');
    await expectNothing('e', 'c:/private/notes');
    // The session began in the folder.
    expect((await callHook(prompt('e', QUESTION, { cwd: 'c:/public' }), { user })).body).toEqual({});
    const roots = ['/home/ben', '/home/ada/garden'];
    const cursor = {
      conversation_id: 'g',
      hook_event_name: 'beforeSubmitPrompt',
      workspace_roots: roots,
      prompt: QUESTION,
    };
    await callHook(cursor, { user, program: 'cursor' });
    // The folder may be an ignored one.
    await expectNothing('h', '');
    await setHooks(user, { ignored_folders: ['/home/ad', `${FOLDER}/private`] });
    expect(getContext(await callHook(prompt('f', QUESTION), { user }))).toContain('stands in the hall');
  });

  it('stores a prompt that two programs report once, and never changes the stored memory', async () => {
    const user = createUser();
    const timestamp = '2026-11-28T01:28:20.414Z';
    const fields = { cwd: FOLDER, timestamp };
    const reports = (text: string) => [
      { program: 'vscode', body: { ...fields, sessionId: 'a', hookEventName: 'UserPromptSubmit', prompt: text } },
      { program: 'claude-code', body: prompt('a', text) },
      { program: 'codex', body: prompt('a', text, { prompt_id: undefined, timestamp }) },
    ];
    const texts = [STATEMENT, 'The gate of the garden is blue.'];
    for (const text of texts) {
      await Promise.all(reports(text).map(({ program, body }) => callHook(body, { program, user })));
    }
    const stored = await getMemories(user);
    expect(stored.map(({ content }) => content)).toEqual(texts);
    for (const { program, body } of reports(STATEMENT)) {
      if (program !== 'claude-code') await callHook(body, { program, user });
    }
    expect(await getMemories(user)).toEqual(stored);
    expect(new Set(stored.map(({ session_id }) => session_id)).size).toBe(1);
    // Codex reports the prompts of one turn with one id.
    const turn = { prompt_id: undefined, turn_id: 'turn 1' };
    const inTurn = ['The gate of the garden is white.', 'No, wait: it is green.'];
    for (const text of inTurn) await callHook(prompt('c', text, turn), { user, program: 'codex' });
    expect((await getContents(user)).slice(2)).toEqual(inTurn);
    // A person may type the same text again: Claude Code says that it is another prompt.
    await callHook(prompt('a', STATEMENT), { user });
    expect(await getContents(user)).toEqual([...texts, ...inTurn, STATEMENT]);
  });

  it('gives a memory once in a session that two programs report', async () => {
    const user = createUser();
    await callHook(prompt('a', STATEMENT), { user });
    const started = { sessionId: 'b', hookEventName: 'SessionStart', cwd: FOLDER };
    const answers = await Promise.all(['vscode', 'claude-code'].map((program) => callHook(started, { program, user })));
    expect(answers.map(getContext).filter((text) => text.includes('in the hall'))).toHaveLength(1);
    expect(getContext(await callHook(prompt('b', QUESTION), { user }))).toBe('');
  });

  it('stores no answer to a prompt that was sent while paused', async () => {
    const user = createUser();
    const turns = { user, query: '&capture=turns', program: 'gemini-cli' };
    const send = (hook_event_name: string, fields: object) =>
      callHook({ ...start('a'), hook_event_name, ...fields }, turns);
    await send('BeforeAgent', { prompt: STATEMENT });
    await send('AfterAgent', { prompt_response: 'Noted.' });
    await setHooks(user, { paused: true });
    await send('BeforeAgent', { prompt: 'My password is in the drawer.' });
    await setHooks(user, { paused: false });
    await send('AfterAgent', { prompt_response: 'I know where it is now.' });
    expect(await getContents(user)).toEqual([STATEMENT, 'Noted.']);
  });

  it('stores nothing twice after a restart, and keeps the project of a session', async () => {
    const first = await startClient({ env: WORDS_ONLY });
    const headers = { 'x-memoryd-project': 'github.com%2Fada%2Fgarden', 'x-memoryd-branch': 'main' };
    const user = createUser();
    const body = prompt('a', STATEMENT);
    await callHook(start('a'), { user, headers, client: first });
    await callHook(body, { user, client: first });
    const { database } = first.server;
    await expectCleanEnd(first.server);
    const client = await startClient({ env: WORDS_ONLY, database });
    // The prompt of the answer may have been sent while paused.
    await callHook(stop('a', 'I moved it.'), { user, client, query: '&capture=turns' });
    await callHook(prompt('a', 'The gate of the garden is blue.'), { user, client });
    await callHook(body, { user, client });
    await callHook(body, { user, program: 'vscode', client });
    const memories = await getMemories(user, client);
    expect(memories.map(({ content }) => content)).toEqual([STATEMENT, 'The gate of the garden is blue.']);
    for (const { metadata, tags } of memories) {
      expect(metadata).toEqual({ project: 'github.com/ada/garden', branch: 'main' });
      expect(tags).toEqual(['role:user', 'project:garden']);
    }
    await expectCleanEnd(client.server);
  });

  it('gives the memories of the project of the headers and of no project, and removes credentials', async () => {
    const user = createUser();
    const toHeaders = (remote: string) => ({ 'x-memoryd-project': encodeURIComponent(remote) });
    const garden = { user, headers: toHeaders('https://ada:hunter2@github.com/ada/garden.git') };
    await callHook(start('a'), garden);
    await callHook(prompt('a', 'The cracked ocarina of the garden is kept in the shed.'), { user });
    await callHook(prompt('b', 'The cracked ocarina of the house is kept in the attic.', { cwd: '/home/ada/house' }), {
      user,
    });
    await memoryd.store({ content: 'The cracked ocarina is kept on a board.', user_id: user });
    for (const name of ['garden', 'cellar']) {
      const content = `The cracked ocarina is kept in the ${name} box.`;
      await memoryd.store({ content, user_id: user, tags: [`project:${name}`] });
    }
    const [first] = await getMemories(user);
    expect(first?.metadata).toEqual({ project: 'github.com/ada/garden' });
    const context = getContext(
      await callHook(prompt('c', 'Where is the cracked ocarina kept?', { cwd: '/elsewhere' }), {
        user,
        headers: toHeaders('github.com/ada/garden'),
      }),
    );
    expect(context).toContain('in the shed');
    expect(context).toContain('on a board');
    expect(context).toContain('garden box');
    expect(context).not.toMatch(/attic|cellar/);
    const other = getContext(await callHook(start('d', { cwd: '/home/ada/house/' }), { user }));
    expect(other).toContain('attic');
    expect(other).not.toMatch(/shed|box/);
    const none = getContext(await callHook(start('e', { cwd: undefined }), { user }));
    expect(none).toContain('on a board');
    expect(none).not.toMatch(/shed|attic|box/);
  });

  it('stores and recalls prompts of ten Chinese or Japanese characters', async () => {
    const user = createUser();
    const texts = ['花园的门已经漆成蓝色', 'ナルワルの置物は廊下', '我的钥匙放在抽屉里面'];
    for (const [n, text] of texts.entries()) await callHook(prompt(`a${n}`, text), { user });
    expect(await getContents(user)).toEqual(texts);
    expect(getContext(await callHook(prompt('b', '花园的门现在是什么颜色'), { user }))).toContain(texts[0]);
    expect(getContext(await callHook(prompt('c', 'ナルワルの置物はどこ'), { user }))).toContain(texts[1]);
    expect(getContext(await callHook(prompt('d', '我的钥匙在哪里呢'), { user }))).toContain(texts[2]);
  });

  it('removes secrets from what is stored, and gives no prompt back because of them', async () => {
    const user = createUser();
    const token = `ghp_${'a1B2'.repeat(9)}`;
    const text = `Deploy the narwhal figurine with ${token} please.`;
    const body = prompt('a', text);
    // A prompt that is reported again is counted once.
    for (let reports = 0; reports < 2; reports++) expect((await callHook(body, { user })).body).toEqual({});
    expect(await getContents(user)).toEqual(['Deploy the narwhal figurine with [redacted:github-token] please.']);
    const { programs } = await memoryd.get<HooksResponse>(`/hooks?user_id=${encodeURIComponent(user)}`);
    expect(programs).toMatchObject([{ program: 'claude-code', stored_today: 1, redacted_today: 1, last_error: null }]);
    expect(getContext(await callHook(prompt('b', text, { source: 'user' }), { user }))).toBe('');
    expect(memoryd.server.lines().join('\n')).not.toContain(token);
  });

  it('accepts ids, folders and projects of any length and characters', async () => {
    const user = createUser();
    const odd = ['x'.repeat(5000), '😀'.repeat(500), 'a\0b\ud800c', '../..', '"·\n'];
    for (const text of odd) {
      const body = prompt(text, `${STATEMENT} ${text.length}`, { prompt_id: text, cwd: `/home/${text}` });
      expect((await callHook(body, { user })).body).toBeDefined();
    }
    const memories = await getMemories(user);
    expect(memories.map(({ content }) => content)).toEqual(odd.map((text) => `${STATEMENT} ${text.length}`));
  });

  it('counts the calls of each program, what was stored and what was given', async () => {
    const user = createUser();
    await callHook(prompt('a', STATEMENT), { user });
    await callHook(prompt('b', QUESTION), { user });
    await callHook({}, { user, program: 'codex' });
    const { programs } = await memoryd.get<HooksResponse>(`/hooks?user_id=${encodeURIComponent(user)}`);
    expect(programs).toMatchObject([
      { program: 'claude-code', calls_today: 2, stored_today: 2, given_today: 1, last_error: null },
      { program: 'codex', calls_today: 1, stored_today: 0, given_today: 0, last_error: null },
    ]);
  });

  it('gives at most what a program passes on whole, whatever the budget is', async () => {
    const user = createUser();
    const memories = Array.from({ length: 60 }, (_, n) => ({
      ...{ user_id: user, content: `narwhal ${n} ${'internationalization '.repeat(40)}` },
    }));
    await memoryd.storeAll(memories);
    const query = '&budget=20000';
    const claude = getContext(await callHook(start('a'), { user, query }));
    expect(claude.length).toBeGreaterThan(8000);
    expect(claude.length).toBeLessThanOrEqual(10_000);
    const codex = getContext(await callHook(start('b'), { user, query, program: 'codex' }));
    expect(estimateTokens(codex)).toBeGreaterThan(2000);
    expect(estimateTokens(codex)).toBeLessThanOrEqual(2500);
    const gemini = getContext(await callHook(start('c'), { user, query, program: 'gemini-cli' }));
    expect(gemini.length).toBeGreaterThan(2 * claude.length);
  });
});

describe('a refused hook', () => {
  const expectRefused = async (
    client: Client,
    request: Request,
    code: 'FORBIDDEN' | 'UNAUTHORIZED',
    reader: object,
  ) => {
    const before = await client.ok<object>({ path: '/stats', headers: reader });
    expectError(await client.send(request), { code });
    const after = await client.ok({ path: '/stats', headers: reader });
    expect(after).toEqual({ ...before, db_size_mb: expect.any(Number) });
  };

  it('keeps the status of an access error, and stores nothing', async () => {
    const client = await startClient({ env: WORDS_ONLY });
    const addKey = async (json: NewKey, headers = {}) => {
      const { key } = await client.ok<ApiKeyWithSecret>({ method: 'POST', path: '/keys', json, headers });
      return { authorization: `Bearer ${key}` };
    };
    const operator = await addKey({ namespace: 'default', scope: 'operate' });
    const reader = await addKey({ namespace: 'default', scope: 'read' }, operator);
    const ada = await addKey({ namespace: 'default', scope: 'write', user_id: 'ada' }, operator);
    const send = (headers: Record<string, string>, user?: string) =>
      toRequest(prompt('a', STATEMENT), { headers, ...(user !== undefined && { user }) });
    await expectRefused(client, send({}), 'UNAUTHORIZED', operator);
    await expectRefused(client, send({ authorization: 'Bearer mmd_wrong' }), 'UNAUTHORIZED', operator);
    await expectRefused(client, send(reader), 'FORBIDDEN', operator);
    await expectRefused(client, send(ada, 'ben'), 'FORBIDDEN', operator);
    await expectRefused(client, send({ ...ada, origin: 'https://example.org' }), 'FORBIDDEN', operator);
    await callHook(prompt('a', STATEMENT), { headers: ada, client });
    const { memories } = await client.ok<{ memories: Memory[] }>({ path: '/memories', headers: operator });
    expect(memories).toMatchObject([{ content: STATEMENT, user_id: 'ada' }]);
    expect(getContext(await callHook(prompt('b', QUESTION), { headers: ada, client }))).toContain('hall');
    await expectCleanEnd(client.server);
  });

  it('returns an error for an unknown program, a large or malformed body, and a wrong parameter', async () => {
    const body = prompt('a', STATEMENT);
    const unknown = await memoryd.send(toRequest(body, { program: 'emacs' }));
    expectError(unknown, { code: 'NOT_FOUND' });
    for (const program of PROGRAM_NAMES) expect(unknown.text).toContain(program);
    const large = await memoryd.send(toRequest({ ...body, prompt: 'x'.repeat(65_536) }, {}));
    expectError(large, { code: 'PAYLOAD_TOO_LARGE' });
    expect(large.text).not.toContain('SERVICE_');
    expectError(await memoryd.send({ method: 'POST', path: '/hooks/codex', body: '{' }));
    for (const query of ['capture=all', 'recall=yes', 'budget=49', 'deadline_ms=9', 'user_id=', 'x=1']) {
      const answer = await memoryd.send({ method: 'POST', path: `/hooks/codex?${query}`, json: body });
      expectError(answer, { field: query.split('=', 1)[0] ?? '' });
    }
    const largest = { ...body, prompt: 'x'.repeat(65_000) };
    const user = createUser();
    await callHook(largest, { user });
    expect(await getContents(user)).toEqual([largest.prompt]);
  });
});

describe('the deadline of a hook', () => {
  it('responds without a context that is late, which does not count as given, and keeps what was stored', async () => {
    const embeddings = await startEmbeddingServer();
    onTestFinished(() => embeddings.close());
    const env = { SERVICE_EMBEDDER: 'openai:hashed-words', SERVICE_EMBEDDING_URL: embeddings.url };
    const client = await startClient({ env: { ...WORDS_ONLY, ...env } });
    await client.store({ content: STATEMENT, user_id: 'ada' });
    // The embedder answers nothing from now on: neither queries nor stores get vectors.
    embeddings.fault = () => 'hang';
    const query = '&deadline_ms=200';
    const path = `/hooks/claude-code?user_id=ada${query}`;
    const late = await client.ok({ method: 'POST', path, json: prompt('b', QUESTION) });
    expect(late).toEqual({});
    await expect.poll(() => getContents('ada', client)).toEqual([STATEMENT, QUESTION]);
    embeddings.fault = undefined;
    const given = await callHook(prompt('b', `Once more: ${QUESTION}`), { user: 'ada', client });
    expect(getContext(given)).toContain('stands in the hall');
    const { programs } = await client.get<HooksResponse>('/hooks?user_id=ada');
    expect(programs[0]?.last_error?.message).toMatch(/deadline/);
    await expectCleanEnd(client.server);
  });

  it('responds before a stored prompt has vectors', async () => {
    const embeddings = await startEmbeddingServer();
    onTestFinished(() => embeddings.close());
    const env = { SERVICE_EMBEDDER: 'openai:hashed-words', SERVICE_EMBEDDING_URL: embeddings.url };
    const client = await startClient({ env: { ...WORDS_ONLY, ...env } });
    embeddings.fault = () => 'hang';
    const path = '/hooks/claude-code?user_id=ada&recall=off&deadline_ms=10000';
    expect(await client.ok({ method: 'POST', path, json: prompt('b', STATEMENT) })).toEqual({});
    expect(await client.stats()).toMatchObject({ pending_embeddings: 1 });
    const { programs } = await client.get<HooksResponse>('/hooks?user_id=ada');
    // Neither its own deadline nor the five seconds of a store have passed.
    expect(programs).toMatchObject([{ stored_today: 1, last_error: null }]);
    embeddings.fault = undefined;
    await expectCleanEnd(client.server);
  });
});

describe('the hooks of two users in two projects', () => {
  it('store each of 500 prompts once, and give each memory once in a session, to its user and project only', async () => {
    const names = ['ada', 'ben'];
    const folders = ['garden', 'house'];
    const syllables = ['ba', 'ke', 'li', 'mo', 'nu', 'pa', 're', 'si', 'to', 'vu'];
    const toThing = (n: number) => [...String(n).padStart(3, '0')].map((digit) => syllables[Number(digit)]).join('');
    const run = createUser();
    // The second half asks about what the first half says.
    const calls = Array.from({ length: 500 }, (_, n) => {
      const about = n % 250;
      const [name = '', folder = ''] = [names[about % 2], folders[(about >> 1) % 2]];
      const place = `${toThing(about)} of ${name} on a shelf of the ${folder}`;
      const text = n < 250 ? `I put the ${place}, the one number ${about % 7}.` : `Is the ${place}, and which one?`;
      return { n, name, folder, text, thing: toThing(about), user: `${run} ${name}`, session: `${folder} ${n % 7}` };
    });
    const given = new Map<string, string[]>();
    for (let from = 0; from < calls.length; from += 20) {
      const batch = calls.slice(from, from + 20).map(async ({ n, name, folder, text, user, session }) => {
        const injected = `<hook_context>From before: the shelf of nobody</hook_context>\n${text}`;
        const body = prompt(session, injected, { cwd: `/home/${folder}` });
        const again = n % 3 === 0 ? [callHook({ ...body, prompt_id: undefined }, { user, program: 'vscode' })] : [];
        const answers = await Promise.all([callHook(body, { user }), ...again]);
        const key = JSON.stringify([user, session]);
        const entries = answers.flatMap((answer) => getContext(answer).match(/^ {2}.*$/gm) ?? []);
        for (const entry of entries) expect(entry).toContain(`of ${name} on a shelf of the ${folder}`);
        given.set(key, [...(given.get(key) ?? []), ...entries]);
      });
      await Promise.all(batch);
    }
    for (const name of names) {
      const expected = calls.filter((call) => call.name === name).map(({ text }) => text);
      expect((await getContents(`${run} ${name}`)).toSorted()).toEqual(expected.toSorted());
    }
    const all = [...given.values()];
    const answered = calls.slice(250).filter(({ thing, user, session }) => {
      return given.get(JSON.stringify([user, session]))?.some((entry) => entry.includes(`I put the ${thing} of`));
    });
    expect(answered.length).toBeGreaterThan(240);
    for (const entries of all) expect(new Set(entries).size).toBe(entries.length);
  });
});
