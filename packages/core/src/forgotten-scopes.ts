import type { Notices } from './ports/coordination.ts';
import type { Seal } from './ports/runtime.ts';

/**
 * The memories that were all forgotten at once: of a user, an agent, a session, or of these together; of the whole
 * namespace if all are absent.
 */
export interface ForgottenScope {
  namespace: string;
  userId?: string;
  agentId?: string;
  sessionId?: string;
}

/** Holds in memory what must go with the memories of a scope. */
export interface ScopeListener {
  forget(scope: ForgottenScope): void;
  /** Drops everything, because a notice may have been missed. */
  forgetAll(): void;
}

/** Notices are sealed with this purpose, because any role of the database can read and send them. */
const NOTICE_PURPOSE = 'forgotten scope';

/**
 * Tells the caches of this process, and through notices those of the other processes on the database, that all memories
 * of a scope were forgotten. Processes that share a SQLite file send each other no notices.
 */
export class ForgottenScopes {
  readonly #notices: Notices | undefined;
  readonly #listeners: readonly ScopeListener[];
  #seal: Seal | undefined;

  constructor(listeners: readonly ScopeListener[], notices?: Notices) {
    this.#listeners = listeners;
    this.#notices = notices;
  }

  /** Subscribes to the notices of other processes. See `EventLog.start`. */
  async start(seal: Seal): Promise<void> {
    this.#seal = seal;
    const forgetAll = () => {
      for (const listener of this.#listeners) listener.forgetAll();
    };
    await this.#notices?.subscribe('forgotten', {
      onNotice: (text) => {
        const opened = seal.open(text, NOTICE_PURPOSE);
        if (opened === undefined) forgetAll();
        else this.#forget(JSON.parse(opened));
      },
      onGap: forgetAll,
    });
  }

  publish(scope: ForgottenScope): void {
    this.#forget(scope);
    if (this.#seal) this.#notices?.publish('forgotten', this.#seal.seal(JSON.stringify(scope), NOTICE_PURPOSE));
  }

  #forget(scope: ForgottenScope): void {
    for (const listener of this.#listeners) listener.forget(scope);
  }
}
