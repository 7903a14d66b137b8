import { describe, expect, it } from 'vitest';
import { createAnswerKey, createPromptKey } from '../../hooks/keys.ts';
import { geminiCli } from './gemini-cli.ts';
import { readFile, recognizes, toLines } from './transcript.fixture.ts';

const SESSION = '82019325-0000-4000-8000-000000000001';
const ROSE = 'The red rose stands behind the shed.';
const FERN = 'Where does the tall fern stand?';
const TIME = '2026-11-20T10:00:30.000Z';

const meta = (fields: object = {}) => ({
  ...{ sessionId: SESSION, projectHash: 'b2ac', startTime: TIME, lastUpdated: TIME, kind: 'main', ...fields },
});
const message = (type: string, id: string, content: unknown, fields: object = {}) => ({
  ...{ id, timestamp: TIME, type, content, ...fields },
});
const text = (words: string) => [{ text: words }];
const context = message(
  'user',
  'c1',
  text('<session_context>\n- **Workspace Directories:**\n  - /home/ada/garden\n- **Tree:**\n</session_context>'),
);

const toKey = (words: string, time = TIME) => createPromptKey({ session: SESSION, text: words, at: Date.parse(time) });

describe('transcripts of Gemini CLI', () => {
  it('reads a prompt and its answers as the hooks store them', async () => {
    const call = message('gemini', 'g1', 'I look at the shed.', { thoughts: [{ subject: 'shed' }] });
    const { texts, leftOut } = await readFile(
      geminiCli,
      toLines(
        meta(),
        { $set: { messages: [context] } },
        message('user', 'u1', text(`<hook_context>Ben likes ferns.</hook_context>\n\n${ROSE}`)),
        { $set: { lastUpdated: TIME } },
        call,
        { ...call, toolCalls: [{ id: 't1' }, { id: 't2' }] },
        message('user', 'u2', [{ functionResponse: { id: 't1' } }, { functionResponse: { id: 't2' } }]),
        message('info', 'i1', 'A new version is there.'),
        message('gemini', 'g2', 'It does.', { timestamp: '2026-11-20T10:00:40.000Z' }),
      ),
    );
    const common = {
      ...{ source: 'gemini-cli', session_id: `gemini-cli:${SESSION}` },
      metadata: { project: expect.stringMatching(/^garden-[0-9a-f]{8}$/) },
    };
    expect(texts).toEqual([
      { ...common, content: ROSE, tags: ['role:user', 'project:garden'], external_id: toKey(ROSE), created_at: TIME },
      {
        ...{ ...common, content: 'I look at the shed.\nIt does.', tags: ['role:assistant', 'project:garden'] },
        ...{ external_id: createAnswerKey(toKey(ROSE)), created_at: '2026-11-20T10:00:40.000Z' },
      },
    ]);
    expect(leftOut).toEqual({ system: 1, thought: 1, tool: 2 });
  });

  it('lists the external id of the minute before as an alias of a prompt at the start of a minute', async () => {
    const late = { timestamp: '2026-11-20T10:01:00.050Z' };
    const { texts } = await readFile(
      geminiCli,
      toLines(meta(), message('user', 'u1', text(ROSE), late), message('gemini', 'g1', 'It does.', late)),
    );
    const [own, hook] = [toKey(ROSE, '2026-11-20T10:01:00Z'), toKey(ROSE, '2026-11-20T10:00:59Z')];
    expect(texts.map(({ external_id, aliases }) => [external_id, aliases])).toEqual([
      [own, [hook]],
      [createAnswerKey(own), [createAnswerKey(hook)]],
    ]);
  });

  it('reads a prompt that was sent twice in a minute once, with the later answer', async () => {
    const later = { timestamp: '2026-11-20T10:00:50.000Z' };
    const { contents } = await readFile(
      geminiCli,
      toLines(
        ...[meta(), message('user', 'u1', ROSE), message('gemini', 'g1', 'It does.')],
        ...[message('user', 'u2', ROSE, later), message('gemini', 'g2', 'It still does.', later)],
      ),
    );
    expect(contents).toEqual([ROSE, 'It still does.']);
  });

  it('reads a prompt once if a continued session repeats the prompt with a new time', async () => {
    const later = { timestamp: '2026-11-22T10:00:00.000Z' };
    const { contents } = await readFile(
      geminiCli,
      toLines(
        meta(),
        message('user', 'u1', text(ROSE)),
        meta({ startTime: later.timestamp }),
        { $set: { messages: [context, message('user', 'u1', text(ROSE), later)] } },
        message('user', 'u2', text(FERN), later),
      ),
    );
    expect(contents).toEqual([ROSE, FERN]);
  });

  const former = {
    ...meta({ kind: undefined }),
    messages: [
      message('user', 'u1', ROSE),
      message('gemini', 'g1', 'It does.', { toolCalls: [{ id: 't1' }] }),
      message('user', 'u2', { text: FERN }),
    ],
  };
  const { messages, ...fields } = former;

  it.each([
    ['on one line', JSON.stringify(former)],
    ['on several lines', JSON.stringify(former, undefined, 2)],
    ['with the messages before the other fields', JSON.stringify({ messages, ...fields }, undefined, 2)],
    ['with a byte order mark', `\uFEFF${JSON.stringify(former, undefined, 2)}`],
  ])('reads a transcript before 2026, which is one object %s', async (_title, content) => {
    const { texts, leftOut, refused } = await readFile(geminiCli, content);
    expect(texts.map(({ content: words, external_id }) => [words, external_id])).toEqual([
      [ROSE, toKey(ROSE)],
      ['It does.', createAnswerKey(toKey(ROSE))],
      [FERN, toKey(FERN)],
    ]);
    expect(leftOut).toEqual({ tool: 1 });
    expect(refused).toEqual([]);
  });

  it('leaves out the transcript of a sub-agent', async () => {
    const lines = toLines(
      meta({ kind: 'subagent' }),
      message('user', 'u1', text(ROSE)),
      message('gemini', 'g1', 'It does.'),
    );
    const { contents, leftOut } = await readFile(geminiCli, lines);
    expect(contents).toEqual([]);
    expect(leftOut).toEqual({ agent: 2 });
  });

  it.each([
    ['truncated lines', toLines(meta(), '{"id":"u', message('user', 'u1', text(ROSE)), '{"id"'), ['line 2', 'line 4']],
    ['a truncated object', JSON.stringify(former, undefined, 2).slice(0, -60), ['message 3']],
    ['messages that are none', JSON.stringify({ ...former, messages: [null, ...messages.slice(0, 1)] }), ['message 1']],
    [
      'no session',
      toLines({ ...message('user', 'u1', text(FERN)) }, meta(), message('user', 'u2', text(ROSE))),
      ['line 1'],
    ],
  ])('reads the valid messages of a broken transcript with %s', async (_title, content, places) => {
    const { contents, refused } = await readFile(geminiCli, content, { capture: 'prompts' });
    expect(contents).toEqual([ROSE]);
    expect(refused.map(({ place }) => place)).toEqual(places);
  });

  it('reads 12,000 answers to one prompt within the time of a test, and counts their calls of tools', async () => {
    const answers = Array.from({ length: 12_000 }, (_, index) =>
      message('gemini', `g${index}`, index === 0 ? 'Behind the shed.' : '', { toolCalls: [{ id: `t${index}` }] }),
    );
    const { contents, leftOut } = await readFile(geminiCli, toLines(meta(), message('user', 'u1', FERN), ...answers));
    expect(contents).toEqual([FERN, 'Behind the shed.']);
    expect(leftOut).toEqual({ tool: 12_000 });
  });

  it('recognizes both forms of a transcript, and no other JSON', () => {
    expect(recognizes(geminiCli, toLines(meta()))).toBe(true);
    expect(recognizes(geminiCli, JSON.stringify(former))).toBe(true);
    expect(
      recognizes(
        geminiCli,
        JSON.stringify({ ...fields, messages: [message('user', 'u1', 'x'.repeat(70_000))] }, undefined, 2),
      ),
    ).toBe(true);
    expect(recognizes(geminiCli, JSON.stringify({ sessionId: SESSION, messages: [] }))).toBe(false);
    expect(
      recognizes(geminiCli, JSON.stringify([{ sessionId: SESSION, messageId: 0, type: 'user', message: ROSE }])),
    ).toBe(false);
  });
});
