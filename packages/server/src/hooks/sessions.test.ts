import { describe, expect, it } from 'vitest';
import { HookSession, HookSessions } from './sessions.ts';

const ADA = { namespace: 'default', userId: 'ada' };
const AT = Date.parse('2026-11-28T10:00:59.900Z');

interface Report {
  program: string;
  promptId?: string;
  seconds?: number;
  text?: string;
}

/** Returns the external ids of reports of the text `Fix the gate.`, each `seconds` after the first. */
function report(...reports: Report[]): string[] {
  const session = new HookSession('a');
  return reports.map(({ program, promptId, seconds = 0, text = 'Fix the gate.' }) => {
    const at = AT + seconds * 1000;
    return session.report(program, { session: 's', promptId, text, at }, { now: at }).key;
  });
}

describe('HookSession', () => {
  it.each<[string, Report, Report]>([
    ['without ids, across the border of a minute', { program: 'a' }, { program: 'b', seconds: 1 }],
    ['the first with an id', { program: 'a', promptId: '1' }, { program: 'b' }],
    ['the second with an id', { program: 'a' }, { program: 'b', promptId: '1' }],
    ['with different ids', { program: 'a', promptId: '1' }, { program: 'b', promptId: '2' }],
    ['with the same id and another text', { program: 'a', promptId: '1' }, { program: 'b', promptId: '1', text: 'x' }],
    [
      'with the same id, an hour later',
      { program: 'a', promptId: '1' },
      { program: 'b', promptId: '1', seconds: 3600 },
    ],
  ])('gives a prompt of two programs one external id: %s', (_name, ...reports) => {
    expect(new Set(report(...reports)).size).toBe(1);
  });

  it.each<[string, Report, Report]>([
    ['two ids of one program', { program: 'a', promptId: '1' }, { program: 'a', promptId: '2' }],
    [
      'one id of one program for the texts of one turn',
      { program: 'a', promptId: '1' },
      { program: 'a', promptId: '1', text: 'Wait.' },
    ],
    ['other texts', { program: 'a' }, { program: 'b', text: 'Fix the fence.' }],
    ['the same text minutes later', { program: 'a' }, { program: 'b', seconds: 180 }],
    ['the same text of one program in two minutes', { program: 'a' }, { program: 'a', seconds: 1 }],
  ])('gives two prompts two external ids: %s', (_name, ...reports) => {
    expect(new Set(report(...reports)).size).toBe(2);
  });

  it('matches prompts that two programs report in turn, the second program without ids', () => {
    const keys = report(
      ...[{ program: 'a', promptId: '1' }, { program: 'b' }],
      ...[{ program: 'a', promptId: '2' }, { program: 'b' }],
    );
    expect(new Set(keys).size).toBe(2);
  });

  it('gives a prompt that a program reports with each call of the model one external id', () => {
    const session = new HookSession('a');
    const keys = [0, 50, 100, 150].map((seconds) => {
      const now = AT + seconds * 1000;
      return session.report('a', { session: 's', text: 'Fix it.', at: now }, { now, isRepeated: true }).key;
    });
    expect(new Set(keys).size).toBe(1);
  });

  it('finds the prompt of an answer by its id, or the last one', () => {
    const session = new HookSession('a');
    const [first, last] = ['one', 'two'].map((promptId) =>
      session.report('a', { session: 's', promptId, text: promptId, at: AT }, { now: AT }),
    );
    expect(session.findKey('one')).toBe(first?.key);
    expect(session.findKey(undefined)).toBe(last?.key);
    expect(session.findKey('three')).toBeUndefined();
  });
});

describe('HookSessions', () => {
  it('returns one session for two programs that report the same id, and others for other owners', () => {
    const sessions = new HookSessions();
    const first = sessions.open(ADA, 'vscode', 's');
    expect(first.id).toBe('vscode:s');
    expect(sessions.open(ADA, 'claude-code', 's')).toBe(first);
    expect(sessions.open({ ...ADA, userId: 'ben' }, 'codex', 's').id).toBe('codex:s');
    expect(sessions.open({ ...ADA, namespace: 'app' }, 'codex', 's').id).toBe('codex:s');
  });

  it('shortens the id of a session that would be too long', () => {
    const { id } = new HookSessions().open(ADA, 'codex', 'x'.repeat(300));
    expect(id).toMatch(/^codex:[\w-]{43}$/);
  });

  it('forgets the owners of the namespace with the most owners first', () => {
    const sessions = new HookSessions(3);
    const own = sessions.open({ namespace: 'small', userId: 'ada' }, 'codex', 's');
    const first = sessions.open({ ...ADA, userId: '0' }, 'codex', 's');
    for (let n = 1; n < 9; n += 1) sessions.open({ ...ADA, userId: `${n}` }, 'codex', 's');
    expect(sessions.open({ namespace: 'small', userId: 'ada' }, 'codex', 's')).toBe(own);
    expect(sessions.open({ ...ADA, userId: '0' }, 'codex', 's')).not.toBe(first);
  });

  it('forgets the oldest sessions of an owner, and none of another owner', () => {
    const sessions = new HookSessions();
    const own = sessions.open(ADA, 'codex', 'own');
    const other = { ...ADA, userId: 'ben' };
    const first = sessions.open(other, 'codex', '0');
    for (let n = 1; n < 200; n += 1) sessions.open(other, 'codex', `${n}`);
    expect(sessions.open(ADA, 'codex', 'own')).toBe(own);
    expect(sessions.open(other, 'codex', '0')).not.toBe(first);
  });
});
