import { describe, expect, it } from 'vitest';
import type { Store, Turn } from '../dataset.ts';
import { putIntoSessions } from './mixed-sessions.ts';

function createStore(sessions: (string | null)[]): Store {
  const turns = sessions.map(
    (session, i): Turn => ({ id: `${i}`, text: 'text', session, timestamp: null, speaker: null }),
  );
  return { name: 'notes', turns, questions: [] };
}

const getSessions = ({ turns }: Store) => turns.map(({ session }) => session);

describe('putIntoSessions', () => {
  it('puts every second turn without a session into one session', () => {
    const mixed = putIntoSessions(createStore([null, 'own', null, null]), 'one');
    expect(getSessions(mixed)).toEqual([null, 'own', 'mixed', null]);
  });

  it('puts the first 30 of each 100 turns without a session into their own session', () => {
    const sessions = getSessions(putIntoSessions(createStore(Array(200).fill(null)), 'hundreds'));
    expect(sessions.filter((session) => session === 'mixed 0')).toHaveLength(30);
    expect(sessions.slice(98, 102)).toEqual([null, null, 'mixed 1', 'mixed 1']);
  });
});
