import { type Session, session } from '@memoryd/client/session';
import type { MemoryApi } from '@memoryd/contract';

/** The user messages since the last answer, and the new answer. */
export interface Turn {
  /** Texts of all user and model messages before the answer. */
  all: readonly string[];
  /** Texts of the user messages after the last answer. */
  unanswered: readonly string[];
  /** Empty if no answer should be stored. */
  answer: string;
}

/**
 * Period in which the answer to a repeated turn supersedes the earlier answer. Equal to the lifetime of idempotency
 * keys in the service.
 */
const REPEAT_WINDOW_MS = 24 * 60 * 60 * 1000;

/** Stores the turns of a conversation as messages of a session. */
export class Turns {
  readonly #memory: MemoryApi;
  readonly #sessionId: string;
  readonly #conversation: Session;

  /** @param memory limited to one user */
  constructor(memory: MemoryApi, sessionId: string) {
    this.#memory = memory;
    this.#sessionId = sessionId;
    this.#conversation = session(memory, sessionId, { userId: null });
  }

  /**
   * Stores the user messages, unless an earlier call for the same turn has stored these messages. Then stores the
   * answer, which supersedes an earlier answer to the same turn.
   */
  async store({ all, unanswered, answer }: Turn): Promise<void> {
    const turn = await getDigest(this.#sessionId, all);
    const messages = unanswered.map((content) => ({ role: 'user', content }));
    const [earlier] = await Promise.all([
      answer === '' ? undefined : this.#findAnswer(turn),
      messages.length === 0 ? undefined : this.#conversation.add(messages, { idempotencyKey: `turn ${turn}` }),
    ]);
    if (answer === '') return;
    const supersedes = earlier === undefined ? {} : { supersedes: earlier };
    await this.#conversation.add([{ role: 'assistant', content: answer, metadata: { turn }, ...supersedes }]);
  }

  /** Returns the id of the newest answer to a turn within the repeat window. */
  async #findAnswer(turn: string): Promise<string | undefined> {
    const since = new Date(Date.now() - REPEAT_WINDOW_MS).toISOString();
    const request = { session_id: this.#sessionId, metadata: { turn }, since, limit: 1 };
    const { memories } = await this.#memory.memories(request);
    return memories[0]?.id;
  }
}

/**
 * Returns the SHA-256, in hexadecimal, of the session id and all messages before an answer. The digest identifies the
 * turn, so that any process recognizes a repeated call.
 */
async function getDigest(sessionId: string, texts: readonly string[]): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([sessionId, ...texts]));
  const digest = await crypto.subtle.digest('SHA-256', bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
