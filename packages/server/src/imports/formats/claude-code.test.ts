import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAnswerKey, createPromptKey } from '../../hooks/keys.ts';
import { claudeCode } from './claude-code.ts';
import { readFile, recognizes, toLines } from './transcript.fixture.ts';

const SESSION = '7a1c0d52-0000-4000-8000-000000000001';
const ROSE = 'The red rose stands behind the shed.';
const FERN = 'Where does the tall fern stand?';

/** A line of a transcript in the present form. */
function toLine(type: string, fields: object): object {
  return {
    ...{ parentUuid: null, isSidechain: false, type, timestamp: '2026-11-20T10:00:30.000Z', cwd: '/home/ada/garden' },
    ...{ sessionId: SESSION, version: '2.1.332', gitBranch: 'spring', ...fields },
  };
}

const prompt = (content: unknown, fields: object = {}) =>
  toLine('user', { promptId: 'p1', uuid: 'u1', message: { role: 'user', content }, ...fields });

const answer = (content: unknown, fields: object = {}) =>
  toLine('assistant', { uuid: 'a1', message: { role: 'assistant', id: 'm1', content }, ...fields });

const text = (words: string) => [{ type: 'text', text: words }];

describe('transcripts of Claude Code', () => {
  it('reads a prompt and its last answer as the hooks store them', async () => {
    const { texts, leftOut } = await readFile(
      claudeCode,
      toLines(
        { type: 'queue-operation', operation: 'enqueue', timestamp: '2026-11-20T10:00:29.000Z', sessionId: SESSION },
        prompt(ROSE),
        toLine('attachment', { attachment: { type: 'date', date: '2026-11-20' } }),
        answer([{ type: 'thinking', thinking: 'A rose.' }]),
        answer(text('I look at the shed.')),
        answer([{ type: 'tool_use', id: 't1', name: 'Bash', input: {} }]),
        prompt([{ type: 'tool_result', tool_use_id: 't1', content: 'shed' }], { uuid: 'u2' }),
        answer(text('It does.'), { timestamp: '2026-11-20T10:00:40.000Z' }),
      ),
    );
    const key = createPromptKey({ session: SESSION, promptId: 'p1', text: ROSE, at: 0 });
    const common = { source: 'claude-code', session_id: `claude-code:${SESSION}` };
    const metadata = { project: expect.stringMatching(/^garden-[0-9a-f]{8}$/) };
    expect(texts).toEqual([
      {
        ...{ ...common, content: ROSE, tags: ['role:user', 'project:garden'], external_id: key, metadata },
        created_at: '2026-11-20T10:00:30.000Z',
      },
      {
        ...{ ...common, content: 'It does.', tags: ['role:assistant', 'project:garden'], metadata },
        ...{ external_id: createAnswerKey(key), created_at: '2026-11-20T10:00:40.000Z' },
      },
    ]);
    expect(leftOut).toEqual({ thought: 1, tool: 2 });
  });

  it('reads only prompts unless answers are requested', async () => {
    const lines = toLines(prompt(ROSE), answer(text('It does.')));
    const { contents, leftOut } = await readFile(claudeCode, lines, { capture: 'prompts' });
    expect(contents).toEqual([ROSE]);
    expect(leftOut).toEqual({ answer: 1 });
  });

  it('uses the minute of a prompt without an id, as transcripts before 2026 have them', async () => {
    const lines = toLines(
      { type: 'summary', summary: 'Roses and ferns', leafUuid: 'u9' },
      prompt(ROSE, { promptId: undefined }),
      prompt(text(FERN), { promptId: undefined, uuid: 'u2', timestamp: '2026-11-20T10:01:58.000Z' }),
    );
    const { texts, leftOut } = await readFile(claudeCode, lines);
    const toKey = (words: string, time: string) =>
      createPromptKey({ session: SESSION, text: words, at: Date.parse(`2026-11-20T${time}Z`) });
    expect(texts.map(({ external_id, aliases }) => [external_id, aliases])).toEqual([
      [toKey(ROSE, '10:00:00'), undefined],
      // A hook may have stored this prompt under the next minute.
      [toKey(FERN, '10:01:00'), [toKey(FERN, '10:02:00')]],
    ]);
    expect(leftOut).toEqual({ system: 1 });
  });

  it.each([
    ['of a sub-agent', prompt(ROSE, { isSidechain: true, agentId: 'x' }), 'agent'],
    ['of a scheduled task', prompt(ROSE, { promptSource: 'system' }), 'agent'],
    ['of a loop', prompt(ROSE, { wakeupSource: 'loop_wakeup' }), 'agent'],
    ['of another session', prompt(ROSE, { origin: { kind: 'peer' } }), 'agent'],
    ['with the result of a task', prompt('<task-notification>done</task-notification>'), 'agent'],
    ['that the program hides', prompt(ROSE, { isMeta: true }), 'system'],
    ['with the summary of a conversation', prompt(ROSE, { isCompactSummary: true }), 'system'],
    ['with the output of a command', prompt('<local-command-stdout>1 $</local-command-stdout>'), 'system'],
    ['with a command', prompt('<command-name>/cost</command-name>\n<command-args></command-args>'), 'command'],
    ['of a few letters', prompt('go on'), 'short'],
    ['without a text', prompt(' '), 'empty'],
    ['with an image alone', prompt([{ type: 'image', source: {} }]), 'attachment'],
  ])('leaves out and counts a prompt %s', async (_title, line, reason) => {
    const { contents, leftOut } = await readFile(claudeCode, toLines(line, prompt(FERN, { uuid: 'u2' })));
    expect(contents).toEqual([FERN]);
    expect(leftOut).toEqual({ [reason]: 1 });
  });

  it('reads the answer to a short prompt, and to a command, as hooks store it', async () => {
    const command =
      '<command-message>plant</command-message><command-name>/plant</command-name><command-args>a rose</command-args>';
    const { texts } = await readFile(
      claudeCode,
      toLines(
        prompt('yes'),
        answer(text('Planted.')),
        prompt(command, { uuid: 'u2', promptId: 'p2' }),
        answer(text('Done so.')),
      ),
    );
    const toKey = (promptId: string, words: string) =>
      createAnswerKey(createPromptKey({ session: SESSION, promptId, text: words, at: 0 }));
    expect(texts.map(({ content, external_id }) => [content, external_id])).toEqual([
      ['Planted.', toKey('p1', 'yes')],
      ['Done so.', toKey('p2', '/plant a rose')],
    ]);
  });

  it.each([
    ['that a person interrupted', prompt(text('[Request interrupted by user]'), { uuid: 'u2' })],
    ['that the service refused', answer(text('API Error: 500'), { isApiErrorMessage: true })],
  ])('leaves out the answer of a turn %s', async (_title, line) => {
    const { contents } = await readFile(claudeCode, toLines(prompt(ROSE), answer(text('Let me see.')), line));
    expect(contents).toEqual([ROSE]);
  });

  it('stores a message that a person sent during a turn under the id of that turn, with the answer', async () => {
    const queued = { type: 'queued_command', prompt: text(FERN), commandMode: 'prompt' };
    const notification = { type: 'queued_command', prompt: ROSE, commandMode: 'task-notification' };
    const { texts, leftOut } = await readFile(
      claudeCode,
      toLines(
        prompt(ROSE),
        toLine('attachment', { uuid: 'q1', attachment: queued }),
        toLine('attachment', { uuid: 'q2', attachment: notification }),
        answer(text('Behind the shed.')),
      ),
    );
    const toKey = (words: string) => createPromptKey({ session: SESSION, promptId: 'p1', text: words, at: 0 });
    expect(texts.map(({ external_id }) => external_id)).toEqual([
      toKey(ROSE),
      toKey(FERN),
      createAnswerKey(toKey(FERN)),
    ]);
    expect(leftOut).toEqual({ agent: 1 });
  });

  it('removes what memoryd and the program put into a prompt', async () => {
    const { texts } = await readFile(
      claudeCode,
      toLines(
        prompt(text(`<system-reminder>Be brief.</system-reminder>\n${ROSE}`)),
        prompt(`${ROSE}\0`, { uuid: 'u2' }),
      ),
    );
    expect(texts.map(({ content }) => content)).toEqual([ROSE]);
  });

  it('marks the copied part of a forked session, whose own prompts keep their keys', async () => {
    const copied = { promptId: 'p9', sessionId: 'fork' };
    const { parts } = await readFile(
      claudeCode,
      toLines(
        { type: 'queue-operation', operation: 'enqueue', timestamp: '2026-11-21T08:00:00.000Z', sessionId: 'fork' },
        prompt(ROSE, copied),
        answer(text('It does.'), { sessionId: 'fork', requestSessionId: SESSION }),
        prompt(FERN, { ...copied, uuid: 'u2', timestamp: '2026-11-21T08:00:01.000Z' }),
      ),
    );
    expect(
      parts.map(({ text: { content, session_id }, copyKey, isCopy }) => [content, session_id, copyKey, isCopy]),
    ).toEqual([
      [ROSE, `claude-code:${SESSION}`, 'user:u1', true],
      ['It does.', `claude-code:${SESSION}`, 'assistant:u1', true],
      [FERN, 'claude-code:fork', 'user:u2', undefined],
    ]);
    const own = createPromptKey({ session: 'fork', promptId: 'p9', text: FERN, at: 0 });
    expect(parts[2]?.text.external_id).toBe(own);
  });

  it('uses the external id of its own session for a prompt before a branch', async () => {
    const original = await readFile(claudeCode, toLines(prompt(ROSE)));
    const forkedFrom = { sessionId: SESSION, messageUuid: 'u1' };
    const branch = await readFile(claudeCode, toLines(prompt(ROSE, { sessionId: 'branch', forkedFrom })));
    expect(branch.texts).toEqual(original.texts);
  });

  it('names the remote of the repository only if folders may be read', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'memoryd-transcript-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, '.git'));
    writeFileSync(
      join(folder, '.git/config'),
      '[remote "origin"]\n\turl = https://ada:secret@git.example/ada/garden.git\n',
    );
    const lines = toLines(prompt(ROSE, { cwd: folder }));
    const detached = await readFile(claudeCode, toLines(prompt(ROSE, { cwd: folder, gitBranch: 'HEAD' })), {
      readsRepositories: true,
    });
    expect(detached.texts[0]?.metadata).toEqual({ project: 'git.example/ada/garden' });
    const [read] = (await readFile(claudeCode, lines, { readsRepositories: true })).texts;
    expect(read?.metadata).toEqual({ project: 'git.example/ada/garden', branch: 'spring' });
    const [unread] = (await readFile(claudeCode, lines)).texts;
    expect(unread?.metadata?.project).toMatch(/^memoryd-transcript-.*-[0-9a-f]{8}$/);
    expect(unread?.external_id).toBe(read?.external_id);
  });

  it.each([
    [
      'a byte order mark and line breaks of Windows',
      `\uFEFF${toLines(prompt(ROSE), prompt(FERN, { uuid: 'u2' })).replaceAll('\n', '\r\n')}`,
    ],
    [
      'null fields',
      toLines(prompt(ROSE, { cwd: null, gitBranch: null, origin: null, parentUuid: null }), prompt(FERN)),
    ],
    [
      'numbers and lists as texts',
      toLines(prompt([{ type: 'text', text: 7 }, ...text(ROSE)]), prompt([FERN], { uuid: 'u2' })),
    ],
  ])('reads a transcript with %s', async (_title, content) => {
    const { texts, refused } = await readFile(claudeCode, content);
    expect(recognizes(claudeCode, content.replace('\uFEFF', ''))).toBe(true);
    expect(texts.map(({ content: words }) => words)).toEqual([ROSE, FERN]);
    expect(refused).toEqual([]);
  });

  it('refuses broken lines of Claude Code with their numbers, and reads the others', async () => {
    const content = toLines(
      '{"type":"user","mess',
      prompt(ROSE),
      '[1]',
      '\0\0\0',
      prompt(FERN, { uuid: 'u2' }),
      '{"type":"us',
    );
    const { contents, refused } = await readFile(claudeCode, content.slice(0, -1));
    expect(contents).toEqual([ROSE, FERN]);
    expect(refused.map(({ place }) => place)).toEqual(['line 1', 'line 3', 'line 4', 'line 6']);
    expect(refused[0]?.reason).toBe('the line is not a complete JSON object');
  });

  it('recognizes lines of Claude Code of any length, and no other JSON lines', () => {
    const long = toLines(prompt('x'.repeat(70_000)));
    expect(recognizes(claudeCode, long)).toBe(true);
    expect(recognizes(claudeCode, toLines({ type: 'summary', summary: 'Roses', leafUuid: 'u1' }))).toBe(true);
    expect(recognizes(claudeCode, toLines({ type: 'user', text: ROSE, user: 'ada' }))).toBe(false);
    expect(
      recognizes(claudeCode, toLines({ display: ROSE, timestamp: 1, project: '/home/ada', sessionId: SESSION })),
    ).toBe(false);
  });
});
