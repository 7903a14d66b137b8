import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AskingSession, GivenMemories } from './given-memories.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const ADA = { namespace: 'home', userId: 'ada', agentId: '', sessionId: 's' };
const BEN = { ...ADA, userId: 'ben' };

const getGiven = (given: GivenMemories, session: AskingSession, now = 0) => [...given.get(session, now).ordinals];

describe('GivenMemories', () => {
  it('remembers what each session was given, by namespace, user and agent', () => {
    const given = new GivenMemories();
    given.add(ADA, [1, 2], 0);
    given.add(ADA, [2, 3], 0);
    expect(getGiven(given, ADA)).toEqual([1, 2, 3]);
    const others = [BEN, { ...ADA, namespace: 'work' }, { ...ADA, agentId: 'cook' }, { ...ADA, sessionId: 't' }];
    for (const other of others) expect(getGiven(given, other)).toEqual([]);
  });

  it('remembers for a day after the last context of a session', () => {
    const given = new GivenMemories();
    given.add(ADA, [1], 0);
    given.add(ADA, [2], DAY_MS - 1);
    expect(getGiven(given, ADA, 2 * DAY_MS - 2)).toEqual([1, 2]);
    expect(getGiven(given, ADA, 2 * DAY_MS - 1)).toEqual([]);
    given.add(ADA, [3], 2 * DAY_MS);
    expect(getGiven(given, ADA, 2 * DAY_MS)).toEqual([3]);
  });

  it('forgets what was given at a reset, and keeps the time of the reset', () => {
    const given = new GivenMemories();
    given.add(ADA, [1], 0);
    given.reset(ADA, 5);
    given.add(ADA, [2], 6);
    expect(given.get(ADA, 7)).toMatchObject({ ordinals: new Set([2]), resetAt: 5 });
  });

  it('remembers at most 5,000 memories of one session, and forgets the first ones first', () => {
    const given = new GivenMemories();
    given.add(
      ADA,
      Array.from({ length: 4999 }, (_, n) => n),
      0,
    );
    given.add(ADA, [5000, 5001], 0);
    const ordinals = getGiven(given, ADA);
    expect(ordinals).toHaveLength(5000);
    expect(ordinals.slice(0, 1)).toEqual([1]);
    expect(ordinals.slice(-2)).toEqual([5000, 5001]);
  });

  it('forgets the sessions of the user with the most memories first, in the namespace with the most', () => {
    const given = new GivenMemories({ sessions: 100, memories: 100 });
    given.add(BEN, [1, 2, 3], 0);
    given.add({ ...BEN, namespace: 'work' }, [1, 2, 3], 0);
    for (let n = 0; n < 500; n++) given.add({ ...ADA, userId: `user ${n % 7}`, sessionId: `s${n}` }, [1, 2, 3, 4], 0);
    expect(getGiven(given, BEN)).toEqual([1, 2, 3]);
    expect(getGiven(given, { ...BEN, namespace: 'work' })).toEqual([1, 2, 3]);
    expect(getGiven(given, { ...ADA, userId: 'user 2', sessionId: 's499' })).toEqual([1, 2, 3, 4]);
  });

  it('never remembers more sessions and memories than its limits', () => {
    const limits = { sessions: 5, memories: 20 };
    const names = fc.constantFrom('a', 'b', 'c');
    const session = fc.record({ namespace: names, userId: names, agentId: names, sessionId: names });
    const ordinals = fc.array(fc.nat({ max: 30 }), { maxLength: 25 });
    fc.assert(
      fc.property(fc.array(fc.tuple(session, ordinals, fc.boolean()), { maxLength: 60 }), (requests) => {
        const given = new GivenMemories(limits);
        const sessions = new Map(requests.map(([each]) => [JSON.stringify(each), each]));
        for (const [each, some, isReset] of requests) {
          if (isReset) given.reset(each, 0);
          else given.add(each, some, 0);
          const sizes = [...sessions.values()].map((known) => getGiven(given, known).length);
          expect(sizes.filter((size) => size > 0).length).toBeLessThanOrEqual(limits.sessions);
          expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(limits.memories);
        }
      }),
    );
  });
});
