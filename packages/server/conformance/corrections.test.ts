import type {
  Consolidation,
  Correction,
  CorrectionsResponse,
  DecideCorrectionResponse,
  MemoryEvent,
} from '@memoryd/contract';
import { describe, expect, it, onTestFinished } from 'vitest';
import { getJsonInProcess } from './command-in-process.ts';
import { readEvents } from './event-reader.ts';
import { expectRefused } from './refusal.ts';
import { useServer } from './under-test.ts';

/** Turns off automatic consolidation. The default embedder stays on, because suggestions need vectors. */
const memoryd = useServer({ env: { SERVICE_CONSOLIDATION_INTERVAL_SECONDS: '0' } });

const EARLIER = 'The weekly review of the harbor team is on Monday at 9:30.';
const LATER = 'The weekly review of the harbor team has moved to Thursday at 11:00.';
/** Of another team, so no correction of the texts above. */
const OTHER = 'The orchard team has lunch together at the old mill.';

let users = 0;

interface Suggested {
  user: string;
  earlier: string;
  later: string;
  correction: Correction;
}

const list = async (parameters: string) => memoryd.get<CorrectionsResponse>(`/corrections?${parameters}`);

/** Stores the texts for a new user, consolidates, and expects that one correction is suggested. */
async function suggest(): Promise<Suggested> {
  const user = `user-${++users}`;
  const [earlier = '', later = ''] = await memoryd.storeInOrder(
    [EARLIER, LATER, OTHER].map((content) => ({ content, user_id: user })),
  );
  await memoryd.embedded();
  await memoryd.consolidate();
  const { corrections, total } = await list(`user_id=${user}`);
  expect(total).toBe(1);
  return { user, earlier, later, correction: corrections[0] as Correction };
}

const decide = (id: string, accept: boolean, parameters = '') =>
  memoryd.ok<DecideCorrectionResponse>({ method: 'POST', path: `/corrections/${id}${parameters}`, json: { accept } });

const recallTexts = async (user: string) =>
  (await memoryd.recall('When is the weekly review of the harbor team?', `user_id=${user}`)).results;

describe('suggested corrections', () => {
  it('suggested corrections are listed with both texts and the reason after a consolidation, and change no recall', async () => {
    const { user, earlier, later, correction } = await suggest();
    expect(correction).toEqual({
      ...{ id: expect.stringMatching(/\S/), state: 'pending', reason: 'change', user_id: user },
      earlier: { id: earlier, content: EARLIER, created_at: (await memoryd.memory(earlier)).created_at },
      later: { id: later, content: LATER, created_at: (await memoryd.memory(later)).created_at },
      suggested_at: expect.stringMatching(/^20/),
      decided_at: null,
    });
    expect((await memoryd.memory(earlier)).superseded_by).toBeNull();
    const { consolidations } = await memoryd.get<{ consolidations: Consolidation[] }>('/consolidations?limit=1');
    expect(consolidations[0]?.notes).toMatchObject({ suggested_corrections: 1 });
    // A run without new memories suggests nothing.
    await memoryd.consolidate();
    expect((await list(`user_id=${user}`)).corrections).toEqual([correction]);
  });

  it('an accepted correction makes the later memory supersede the earlier one, until it is declined', async () => {
    const { user, earlier, later, correction } = await suggest();
    const reader = await readEvents(memoryd.server.port, `user_id=${user}`);
    onTestFinished(() => reader.leave());
    expect(await decide(correction.id, true)).toEqual({ id: correction.id, state: 'accepted' });
    expect(await memoryd.memory(earlier)).toMatchObject({ superseded_by: later });
    expect(await memoryd.memory(later)).toMatchObject({ supersedes: earlier });
    const results = await recallTexts(user);
    expect(results[0]?.id).toBe(later);
    expect(results.find(({ id }) => id === earlier)).toMatchObject({ superseded_by: later });
    expect((await list(`user_id=${user}`)).total).toBe(0);
    const accepted = (await list(`user_id=${user}&state=accepted`)).corrections;
    expect(accepted).toMatchObject([{ id: correction.id, state: 'accepted', decided_at: expect.any(String) }]);
    // The link goes, whatever runs came later.
    await memoryd.store({ content: 'The harbor team has a new crane.', user_id: user });
    await memoryd.consolidate();
    await memoryd.consolidate();
    expect(await decide(correction.id, false)).toEqual({ id: correction.id, state: 'declined' });
    expect(await memoryd.memory(earlier)).toMatchObject({ superseded_by: null });
    expect(await memoryd.memory(later)).toMatchObject({ supersedes: null });
    const events: MemoryEvent[] = await reader.until(4);
    const updates = events.filter(({ type }) => type === 'updated');
    expect(updates.map((event) => 'memory_ids' in event && event.memory_ids)).toContainEqual([later]);
  });

  it('a declined correction is not suggested again, even after both memories were changed', async () => {
    const { user, earlier, later, correction } = await suggest();
    await decide(correction.id, false);
    for (const id of [earlier, later]) await memoryd.update(id, { valid_from: (await memoryd.memory(id)).created_at });
    await memoryd.consolidate();
    expect((await list(`user_id=${user}`)).total).toBe(0);
    expect((await list(`user_id=${user}&state=declined`)).total).toBe(1);
    expect((await memoryd.memory(earlier)).superseded_by).toBeNull();
  });

  it('a suggested correction disappears with its texts when one of its memories is forgotten', async () => {
    const { later, correction } = await suggest();
    await memoryd.forget(later);
    for (const state of ['pending', 'accepted', 'declined']) {
      expect((await memoryd.send({ path: `/corrections?state=${state}` })).text).not.toContain(correction.id);
    }
    const request = { method: 'POST', path: `/corrections/${correction.id}`, json: { accept: true } };
    await expectRefused(memoryd, request, { code: 'NOT_FOUND' });
  });

  it('corrections of memories with equal texts of two users are suggested, listed and decided for each user alone', async () => {
    const [ada, ben] = [await suggest(), await suggest()];
    expect(ada.correction.earlier.id).not.toBe(ben.correction.earlier.id);
    for (const { earlier, later } of [ada.correction, ben.correction]) {
      const owners = await Promise.all([earlier, later].map(async ({ id }) => (await memoryd.memory(id)).user_id));
      expect(new Set(owners).size).toBe(1);
    }
    const asBen = `/corrections/${ada.correction.id}?user_id=${ben.user}`;
    await expectRefused(memoryd, { method: 'POST', path: asBen, json: { accept: true } }, { code: 'NOT_FOUND' });
    await decide(ada.correction.id, true, `?user_id=${ada.user}`);
    expect((await memoryd.memory(ben.earlier)).superseded_by).toBeNull();
    expect((await list(`user_id=${ben.user}`)).corrections).toEqual([ben.correction]);
  });

  it('the command line lists, accepts and declines corrections', async () => {
    const { user, earlier, later, correction } = await suggest();
    const place = ['--url', `http://127.0.0.1:${memoryd.server.port}`];
    const run = (...args: string[]) => getJsonInProcess(['corrections', ...args, ...place]);
    expect(await run('--user', user)).toEqual(correction);
    expect(await run('accept', correction.id)).toEqual({ id: correction.id, state: 'accepted' });
    expect((await memoryd.memory(earlier)).superseded_by).toBe(later);
    expect(await run('decline', correction.id, '--user', user)).toEqual({ id: correction.id, state: 'declined' });
    expect((await memoryd.memory(earlier)).superseded_by).toBeNull();
  });
});
