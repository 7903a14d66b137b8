import { describe, expect, it } from 'vitest';
import { createAnswerKey, createPromptKey } from '../../hooks/keys.ts';
import { codex } from './codex.ts';
import { readFile, recognizes, toLines } from './transcript.fixture.ts';

// UUIDs of version 7 begin with their time, so that each id here is newer than the one before.
const PARENT = '01a22000-0000-7000-8000-000000000001';
const OLD_TURN = '01a22000-1000-7000-8000-000000000002';
const SESSION = '01a22111-0000-7000-8000-000000000003';
const TURN = '01a22111-1000-7000-8000-000000000004';
const NEXT_TURN = '01a22111-2000-7000-8000-000000000005';

const ROSE = 'The red rose stands behind the shed.';
const FERN = 'Where does the tall fern stand?';
const TIME = '2026-11-20T10:00:30.000Z';

const line = (type: string, payload: object, timestamp = TIME) => ({ timestamp, type, payload });
const event = (type: string, fields: object, timestamp?: string) => line('event_msg', { type, ...fields }, timestamp);
const item = (role: string, text: string, fields: object = {}) =>
  line('response_item', {
    ...{ type: 'message', role, content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }] },
    ...fields,
  });
const meta = (fields: object = {}) =>
  line('session_meta', {
    ...{ id: SESSION, timestamp: TIME, cwd: '/home/ada/garden', cli_version: '0.171.0', thread_source: 'user' },
    ...{ git: { branch: 'spring', repository_url: 'https://ada:secret@git.example/ada/garden.git' }, ...fields },
  });

/** The lines of a prompt in the present form. */
const prompt = (text: string, turnId: string) => [
  event('task_started', { turn_id: turnId }),
  item('user', text, {
    internal_chat_message_metadata_passthrough: { turn_id: turnId, content_item_kinds: ['user.text'] },
  }),
  event('item_completed', { turn_id: turnId, item: { type: 'UserMessage', content: [{ type: 'text', text }] } }),
];

const toKey = (session: string, promptId: string | undefined, text: string, at = 0) =>
  createPromptKey({ session, promptId, text, at });

describe('transcripts of Codex', () => {
  it('reads a prompt of Codex and its last answer as the hooks store them', async () => {
    const kinds = {
      internal_chat_message_metadata_passthrough: { content_item_kinds: ['environments.environment_context'] },
    };
    const { texts, leftOut } = await readFile(
      codex,
      toLines(
        meta(),
        item('developer', 'Be brief.'),
        item('user', '<environment_context>bash</environment_context>', kinds),
        line('turn_context', { turn_id: TURN, cwd: '/home/ada' }),
        ...prompt(ROSE, TURN),
        line('response_item', { type: 'reasoning', summary: [] }),
        item('assistant', 'I look at the shed.'),
        line('response_item', { type: 'function_call', name: 'exec_command', arguments: '{}' }),
        line('response_item', { type: 'function_call_output', output: 'shed' }),
        event('token_count', { info: null }),
        event('item_completed', {
          turn_id: TURN,
          item: { type: 'AgentMessage', content: [{ type: 'Text', text: 'It does.' }] },
        }),
        item('assistant', 'It does.'),
        event('task_complete', { turn_id: TURN, last_agent_message: 'It does.' }, '2026-11-20T10:00:40.000Z'),
      ),
    );
    const common = {
      ...{ source: 'codex', session_id: `codex:${SESSION}` },
      metadata: { project: 'git.example/ada/garden', branch: 'spring' },
    };
    const key = toKey(SESSION, TURN, ROSE);
    expect(texts).toEqual([
      { ...common, content: ROSE, tags: ['role:user', 'project:garden'], external_id: key, created_at: TIME },
      {
        ...{ ...common, content: 'It does.', tags: ['role:assistant', 'project:garden'] },
        ...{ external_id: createAnswerKey(key), created_at: '2026-11-20T10:00:40.000Z' },
      },
    ]);
    expect(leftOut).toEqual({ system: 2, thought: 1, tool: 2 });
  });

  it('reads the answer to the later of two prompts in one turn', async () => {
    const { texts } = await readFile(
      codex,
      toLines(
        meta(),
        ...prompt(ROSE, TURN),
        ...prompt(FERN, TURN).slice(1),
        event('task_complete', { last_agent_message: 'Here.' }),
      ),
    );
    expect(texts.map(({ external_id }) => external_id)).toEqual([
      toKey(SESSION, TURN, ROSE),
      toKey(SESSION, TURN, FERN),
      createAnswerKey(toKey(SESSION, TURN, FERN)),
    ]);
  });

  it('leaves out the answer of an aborted turn', async () => {
    const lines = toLines(meta(), ...prompt(ROSE, TURN), item('assistant', 'Let me see.'), event('turn_aborted', {}));
    expect((await readFile(codex, lines)).contents).toEqual([ROSE]);
  });

  it.each([
    [
      'sends the instructions of the project',
      [item('user', '# AGENTS.md instructions for /home/ada\n\n<INSTRUCTIONS>Be brief.</INSTRUCTIONS>')],
    ],
    ['sends the environment', [item('user', '<environment_context>bash</environment_context>')]],
    ['sends its own note', [item('user', 'The user changed the model.')]],
  ])('leaves out a message of early 2026 in which the program %s', async (_title, lines) => {
    const { contents, leftOut } = await readFile(
      codex,
      toLines(
        meta(),
        ...lines,
        item('user', ROSE),
        event('user_message', { message: ROSE }),
        event('agent_message', { message: 'It does.' }),
      ),
    );
    expect(contents).toEqual([ROSE, 'It does.']);
    expect(leftOut).toEqual({ system: 1 });
  });

  it('reads transcripts of 2025, which have neither events nor envelopes', async () => {
    const { timestamp: _time, payload: former } = item('user', '<environment_context>bash</environment_context>');
    const toFormer = (role: string, text: string) => item(role, text).payload;
    const content = toLines(
      { id: PARENT, timestamp: TIME, instructions: null, git: { branch: 'main' } },
      { record_type: 'state' },
      former,
      toFormer('user', ROSE),
      { type: 'reasoning', summary: [] },
      toFormer('assistant', 'It does.'),
      toFormer('user', FERN),
    );
    expect(recognizes(codex, content)).toBe(true);
    const { texts, leftOut } = await readFile(codex, content);
    const at = Date.parse(TIME);
    expect(texts.map(({ content: text, external_id }) => [text, external_id])).toEqual([
      [ROSE, toKey(PARENT, undefined, ROSE, at)],
      ['It does.', createAnswerKey(toKey(PARENT, undefined, ROSE, at))],
      [FERN, toKey(PARENT, undefined, FERN, at)],
    ]);
    expect(leftOut).toEqual({ system: 1, thought: 1 });
  });

  it('uses the external ids of the original session for the prompts that a fork repeats', async () => {
    const { texts } = await readFile(
      codex,
      toLines(
        meta({ forked_from_id: PARENT }),
        meta({ id: PARENT }),
        ...prompt(ROSE, OLD_TURN),
        ...prompt(FERN, NEXT_TURN),
      ),
    );
    expect(texts.map(({ session_id, external_id }) => [session_id, external_id])).toEqual([
      [`codex:${PARENT}`, toKey(PARENT, OLD_TURN, ROSE)],
      [`codex:${SESSION}`, toKey(SESSION, NEXT_TURN, FERN)],
    ]);
  });

  it.each([
    ['a thread source', { thread_source: 'subagent' }],
    ['the thread that spawned it', { source: { subagent: { thread_spawn: { parent_thread_id: PARENT } } } }],
  ])('leaves out the transcript of a sub-agent that is known by %s', async (_title, fields) => {
    const { contents, leftOut } = await readFile(
      codex,
      toLines(meta(fields), ...prompt(ROSE, TURN), item('assistant', 'It does.')),
    );
    expect(contents).toEqual([]);
    expect(leftOut.agent).toBeGreaterThan(0);
  });

  it('refuses broken lines of Codex with their numbers, and reads the others', async () => {
    const content = toLines(
      meta(),
      '{"timestamp',
      ...prompt(ROSE, TURN),
      line('event_msg', { type: 'item_completed', item: null }),
      '{"t',
    );
    const { contents, refused } = await readFile(codex, content);
    expect(contents).toEqual([ROSE]);
    expect(refused.map(({ place }) => place)).toEqual(['line 2', 'line 7']);
  });

  it('reads a transcript that names 30,000 sessions within the time of a test', async () => {
    const others = Array.from({ length: 30_000 }, (_, index) => meta({ id: `session ${index}`, git: {} }));
    const { texts } = await readFile(codex, toLines(meta(), ...others, ...prompt(ROSE, TURN)));
    expect(texts).toEqual([expect.objectContaining({ content: ROSE, external_id: toKey(SESSION, TURN, ROSE) })]);
  });

  it('recognizes transcripts of Codex with a first line of any length, and no other JSON lines', () => {
    expect(recognizes(codex, toLines(meta({ base_instructions: { text: 'x'.repeat(70_000) } })))).toBe(true);
    expect(recognizes(codex, toLines({ type: 'message', text: ROSE }))).toBe(false);
    expect(
      recognizes(codex, toLines({ id: '1', timestamp: TIME, text: ROSE }, { id: '2', timestamp: TIME, text: FERN })),
    ).toBe(false);
  });
});
