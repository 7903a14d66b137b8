import type { MemoryEvent } from '@memoryd/client';
import { describe, expect, it } from 'vitest';
import { describeEvent, describeRedaction, getProgramSession } from './activity.ts';

const SESSION = 'claude-code:ab12cd34-5678';

const toEvent = (type: MemoryEvent['type'], fields: object = {}) =>
  ({ id: '1', at: '2026-11-29T12:00:00Z', type, memory_ids: [], count: 1, ...fields }) as unknown as MemoryEvent;
const stored = (fields: object) => toEvent('stored', fields);
const given = (fields: object) => toEvent('recalled', { context: true, ...fields });

describe('an activity', () => {
  it.each([
    ['Stored 1 memory', stored({ source: 'api', session_id: 'default' })],
    ['Recalled 1,200 memories', toEvent('recalled', { count: 1200 })],
    [
      'Claude Code · garden · session ab12… stored 1 memory',
      stored({ source: 'claude-code', session_id: SESSION, project: 'github.com/ada/garden' }),
    ],
    [
      'Codex · garden · session 7 stored 2 memories',
      stored({ source: 'codex', session_id: 'codex:7', project: 'garden-0a1b2c3d', count: 2 }),
    ],
    ['VS Code stored 3 memories', stored({ source: 'vscode', count: 3 })],
    [
      'Claude Code · garden · session ab12… was given 3 memories',
      given({ session_id: SESSION, project: 'github.com/ada/garden/', count: 3 }),
    ],
    ['Claude Code · session ab12… was given nothing', given({ session_id: SESSION, count: 0 })],
    ['An agent was given 1 memory', given({ session_id: 'chat: with Ada', project: 'garden' })],
    ['Consolidation rolled back', toEvent('consolidation', { state: 'reverted' })],
    ['Import started', toEvent('import', { state: 'started', processed_count: 0, expected_count: 2500 })],
    [
      'Import in progress: 1,200 of 2,500 texts',
      toEvent('import', { state: 'progress', processed_count: 1200, expected_count: 2500 }),
    ],
    ['Import failed: 1 text', toEvent('import', { state: 'failed', processed_count: 1 })],
    ['Import undone: 2 memories forgotten', toEvent('import', { state: 'undone', processed_count: 2 })],
  ])('an activity names program, project and session, or the state of a run or an import: %s', (text, event) => {
    expect(describeEvent(event)).toBe(text);
  });

  it('an activity says which secrets were removed before storing', () => {
    expect(describeRedaction(stored({}))).toBeUndefined();
    expect(describeRedaction(stored({ redacted: [{ kind: 'password', count: 1 }] }))).toBe(
      '1 secret removed before storing (password)',
    );
    const redacted = [
      { kind: 'github-token', count: 2 },
      { kind: 'password', count: 1 },
    ];
    expect(describeRedaction(stored({ redacted }))).toBe('3 secrets removed before storing (github-token, password)');
  });

  it('an activity has the session of an agent program, and no other session', () => {
    expect(getProgramSession(given({ session_id: SESSION }))).toBe(SESSION);
    expect(getProgramSession(stored({ source: 'api', session_id: 'default' }))).toBeUndefined();
    expect(getProgramSession(toEvent('gap'))).toBeUndefined();
  });
});
