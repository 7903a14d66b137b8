import { describe, expect, it } from 'vitest';
import type { Body, HookEvent } from './program.ts';
import { PROGRAM_NAMES, PROGRAMS, type ProgramName } from './programs.ts';

/** A body that a program sends, the event that it means, and the response with the context `C`. */
interface Row {
  program: ProgramName;
  body: Body;
  event: Partial<HookEvent> & Pick<HookEvent, 'kind' | 'session'>;
  given?: object;
}

const claude = (hook_event_name: string, fields: Body = {}) => ({
  ...{ session_id: 's', transcript_path: '/home/ada/.claude/s.jsonl', cwd: '/home/ada/garden', hook_event_name },
  ...fields,
});
const toClaude = (hookEventName: string) => ({ hookSpecificOutput: { hookEventName, additionalContext: 'C' } });
const START = { kind: 'start', session: 's', folder: '/home/ada/garden', reset: false } as const;
const PROMPT = { kind: 'prompt', session: 's', folder: '/home/ada/garden', text: 'Fix it.' } as const;
const END = { kind: 'turn-end', session: 's', folder: '/home/ada/garden', answer: 'Fixed.' } as const;
const COMPACT = { kind: 'compact', session: 's' } as const;
const answered = { last_assistant_message: 'Fixed.', stop_hook_active: false };
const time = '2026-11-28T01:28:20.414Z';
const gemini = (name: string, fields: Body = {}) => claude(name, { timestamp: time, ...fields });
const code = (hookEventName: string, fields: Body = {}) => ({
  ...{ sessionId: 's', hookEventName, timestamp: time, cwd: '/home/ada/garden', transcript_path: '/x.json' },
  ...fields,
});
const cursor = (hook_event_name: string, fields: Body = {}) => ({
  ...{ conversation_id: 's', generation_id: 'g', hook_event_name, workspace_roots: ['/home/ada/garden'] },
  ...fields,
});
const copilot = (fields: Body) => ({ sessionId: 's', timestamp: 1795829300414, cwd: '/home/ada/garden', ...fields });
const agy = (fields: Body = {}) => ({
  ...{ conversationId: 's', workspacePaths: ['/home/ada/garden'], transcriptPath: '/home/ada/t.jsonl' },
  ...fields,
});
const open = (event: string, fields: Body = {}) => ({
  ...{ event, session_id: 's', directory: '/home/ada/garden' },
  ...fields,
});

const ROWS: Row[] = [
  {
    program: 'claude-code',
    body: claude('SessionStart', { source: 'startup' }),
    event: START,
    given: toClaude('SessionStart'),
  },
  ...['resume', 'clear', 'compact'].map((source) => ({
    program: 'claude-code' as const,
    body: claude('SessionStart', { source }),
    event: { ...START, reset: true },
  })),
  {
    program: 'claude-code',
    body: claude('UserPromptSubmit', { prompt: 'Fix it.', prompt_id: 'p', agent_type: 'reviewer' }),
    event: { ...PROMPT, promptId: 'p', isByAgent: false, isAutomatic: false },
    given: toClaude('UserPromptSubmit'),
  },
  {
    program: 'claude-code',
    body: claude('UserPromptSubmit', { prompt: 'Fix it.', source: 'schedule_wakeup' }),
    event: { ...PROMPT, isAutomatic: true },
  },
  {
    program: 'claude-code',
    body: claude('UserPromptSubmit', { prompt: 'Fix it.', agent_id: 'a' }),
    event: { ...PROMPT, isByAgent: true },
  },
  {
    program: 'claude-code',
    body: claude('Stop', { ...answered, prompt_id: 'p', session_crons: [{ id: 1, prompt: 'Water it.' }, null] }),
    event: { ...END, promptId: 'p', scheduled: ['Water it.'] },
  },
  { program: 'claude-code', body: claude('PreCompact', { trigger: 'auto' }), event: COMPACT },
  { program: 'codex', body: claude('SessionStart', { source: 'startup', model: 'm' }), event: START },
  {
    program: 'codex',
    body: claude('UserPromptSubmit', { prompt: 'Fix it.', turn_id: 't' }),
    event: { ...PROMPT, promptId: 't' },
    given: toClaude('UserPromptSubmit'),
  },
  { program: 'codex', body: claude('Stop', { ...answered, turn_id: 't' }), event: { ...END, promptId: 't' } },
  { program: 'gemini-cli', body: gemini('SessionStart', { source: 'startup' }), event: START },
  {
    program: 'gemini-cli',
    body: gemini('BeforeAgent', { prompt: 'Fix it.' }),
    event: { ...PROMPT, at: Date.parse(time) },
    given: toClaude('BeforeAgent'),
  },
  { program: 'gemini-cli', body: gemini('AfterAgent', { prompt: 'Fix it.', prompt_response: 'Fixed.' }), event: END },
  { program: 'gemini-cli', body: gemini('PreCompress', { trigger: 'auto' }), event: COMPACT },
  {
    program: 'vscode',
    body: code('SessionStart', { source: 'new' }),
    event: START,
    given: toClaude('SessionStart'),
  },
  { program: 'vscode', body: code('UserPromptSubmit', { prompt: 'Fix it.' }), event: PROMPT },
  { program: 'vscode', body: code('Stop', { stop_hook_active: false }), event: { ...END, answer: '' } },
  {
    program: 'claude-code',
    body: code('UserPromptSubmit', { prompt: 'Fix it.' }),
    event: { ...PROMPT, at: Date.parse(time) },
  },
  {
    program: 'cursor',
    body: cursor('sessionStart', { session_id: 'other' }),
    event: START,
    given: { continue: true, additional_context: 'C' },
  },
  {
    program: 'cursor',
    body: cursor('beforeSubmitPrompt', { prompt: 'Fix it.', attachments: [] }),
    event: { ...PROMPT, promptId: 'g' },
    given: { continue: true },
  },
  { program: 'cursor', body: cursor('afterAgentResponse', { text: 'Fixed.' }), event: { ...END, promptId: 'g' } },
  {
    program: 'copilot-cli',
    body: copilot({ source: 'new', initialPrompt: 'Fix it.' }),
    event: START,
    given: { additionalContext: 'C' },
  },
  { program: 'copilot-cli', body: copilot({ source: 'resume' }), event: { ...START, reset: true } },
  { program: 'copilot-cli', body: copilot({ prompt: 'Fix it.' }), event: PROMPT },
  { program: 'copilot-cli', body: copilot({ stopReason: 'end_turn' }), event: { ...END, answer: '' } },
  { program: 'copilot-cli', body: claude('UserPromptSubmit', { prompt: 'Fix it.' }), event: PROMPT },
  {
    program: 'copilot-cli',
    body: { timestamp: 1, cwd: '/home/ada/garden', source: 'new' },
    event: { ...START, session: '/home/ada/garden', reset: true },
  },
  {
    program: 'antigravity',
    body: agy({ invocationNum: 0 }),
    event: { ...START, isRepeated: true },
    given: { injectSteps: [{ ephemeralMessage: 'C' }] },
  },
  {
    program: 'antigravity',
    body: agy({ prompt: 'Fix it.', prompt_id: '4' }),
    event: { ...PROMPT, promptId: '4' },
    given: { injectSteps: [{ ephemeralMessage: 'C' }] },
  },
  { program: 'antigravity', body: agy({ hookEventName: 'Stop', answer: 'Fixed.' }), event: END },
  { program: 'opencode', body: open('session.start'), event: START, given: { context: 'C' } },
  {
    program: 'opencode',
    body: open('chat.message', {
      message_id: 'm',
      parts: [
        { type: 'text', text: '"Fix it."' },
        { type: 'text', text: 'x', synthetic: true },
        { type: 'file' },
        null,
      ],
    }),
    event: { ...PROMPT, promptId: 'm' },
    given: { context: 'C' },
  },
  {
    program: 'opencode',
    body: open('chat.message', { text: '"Fix \\"it\\" now."', parent_id: 'p' }),
    event: { ...PROMPT, text: 'Fix "it" now.', isByAgent: true },
  },
  { program: 'opencode', body: open('chat.message', { text: 'Fix "it"' }), event: { ...PROMPT, text: 'Fix "it"' } },
  { program: 'opencode', body: open('chat.message', { text: '"a" or "b"' }), event: { ...PROMPT, text: '"a" or "b"' } },
  {
    program: 'opencode',
    body: open('session.idle', { answer: 'Fixed.', message_id: 'm' }),
    event: { ...END, promptId: 'm' },
  },
  { program: 'opencode', body: open('session.compacted'), event: COMPACT },
];

describe('an agent program', () => {
  it.each(ROWS)('$program: reads $event.kind in $body', ({ program, body, event, given }) => {
    const read = PROGRAMS[program].read(body);
    expect(read).toMatchObject(event);
    if (given && read) expect(PROGRAMS[program].respond(read, 'C')).toEqual(given);
  });

  it.each(PROGRAM_NAMES)('%s: ignores bodies of other forms and unknown events', (program) => {
    const wrong = [[], 7, null, { a: 1 }, '', true];
    const bodies: Body[] = [
      ...[{}, { session_id: 's' }, { session_id: 's', hook_event_name: 'Other' }, { hook_event_name: 'SessionStart' }],
      ...wrong.flatMap((value) => [
        { session_id: value, hook_event_name: 'SessionStart', event: 'chat.message' },
        { session_id: 's', hook_event_name: value, event: value },
      ]),
    ];
    for (const body of bodies) {
      const event = PROGRAMS[program].read(body);
      // Antigravity sends no name of the event.
      if (program === 'antigravity' && event?.kind === 'start') continue;
      expect(event, JSON.stringify(body)).toBeUndefined();
    }
  });

  it.each(PROGRAM_NAMES)('%s: reads fields of other types as absent', (program) => {
    for (const { body } of ROWS.filter((row) => row.program === program)) {
      for (const [name, value] of Object.entries(body)) {
        for (const wrong of [7, null, {}, [], [7], true]) {
          if (typeof value === typeof wrong && value !== null) continue;
          expect(() => PROGRAMS[program].read({ ...body, [name]: wrong })).not.toThrow();
        }
      }
    }
  });
});
