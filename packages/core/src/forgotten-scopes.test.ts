import { beforeEach, describe, expect, it } from 'vitest';
import { type ForgottenScope, ForgottenScopes } from './forgotten-scopes.ts';
import type { NoticeListener, Notices } from './ports/coordination.ts';
import { createSeal } from './system.ts';

const SEAL = createSeal('0'.repeat(32));
const SCOPE: ForgottenScope = { namespace: 'home', userId: 'ada' };

let listeners: NoticeListener[];
let sent: string[];

/** Returns the notices of one process. A notice reaches the other processes. */
function createNotices(): Notices {
  let own: NoticeListener | undefined;
  return {
    publish(_topic, text) {
      sent.push(text);
      for (const listener of listeners) if (listener !== own) listener.onNotice(text);
    },
    async subscribe(_topic, listener) {
      own = listener;
      listeners.push(listener);
    },
  };
}

async function startProcess(): Promise<{ scopes: ForgottenScopes; forgotten: (ForgottenScope | 'all')[] }> {
  const forgotten: (ForgottenScope | 'all')[] = [];
  const listener = {
    forget: (scope: ForgottenScope) => void forgotten.push(scope),
    forgetAll: () => void forgotten.push('all'),
  };
  const scopes = new ForgottenScopes([listener], createNotices());
  await scopes.start(SEAL);
  return { scopes, forgotten };
}

describe('ForgottenScopes', () => {
  beforeEach(() => {
    listeners = [];
    sent = [];
  });

  it('tells every process on the database once that a scope was forgotten, without a readable name', async () => {
    const [one, other] = [await startProcess(), await startProcess()];
    one.scopes.publish(SCOPE);
    expect(one.forgotten).toEqual([SCOPE]);
    expect(other.forgotten).toEqual([SCOPE]);
    expect(sent.join()).not.toMatch(/ada|home/);
  });

  it('forgets everything after a gap in the notices, and after a notice that cannot be read', async () => {
    const { forgotten } = await startProcess();
    listeners[0]?.onGap();
    listeners[0]?.onNotice('not sealed');
    expect(forgotten).toEqual(['all', 'all']);
  });
});
