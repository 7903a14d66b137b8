import { type Session, session } from '@memoryd/client/session';
import type { MemoryApi } from '@memoryd/contract';

/** What came to be said: the answer to what users said since the one before. */
export interface Turn {
  /** The text of every message of users and models before the answer. */
  all: readonly string[];
  /** Those of users that no other answer has followed. */
  unanswered: readonly string[];
  /** Empty where none is to be kept. */
  answer: string;
}

/** For so long another call for a turn is for another answer: as long as services keep idempotency keys. */
const TURN_MS = 24 * 60 * 60 * 1000;

/** The turns of a conversation, stored as messages of a session. */
export class Turns {
  readonly #memory: MemoryApi;
  readonly #sessionId: string;
  readonly #conversation: Session;

  /** @param memory that of one user */
  constructor(memory: MemoryApi, sessionId: string) {
    this.#memory = memory;
    this.#sessionId = sessionId;
    this.#conversation = session(memory, sessionId, { userId: null });
  }

  /** Stores what users said, unless it is there from an earlier answer to the same turn, then the answer in place of that. */
  async store({ all, unanswered, answer }: Turn): Promise<void> {
    const turn = await getDigest(this.#sessionId, all);
    const said = unanswered.map((content) => ({ role: 'user', content }));
    const [earlier] = await Promise.all([
      answer === '' ? undefined : this.#answerTo(turn),
      said.length === 0 ? undefined : this.#conversation.add(said, { idempotencyKey: `turn ${turn}` }),
    ]);
    if (answer === '') return;
    const supersedes = earlier === undefined ? {} : { supersedes: earlier };
    await this.#conversation.add([{ role: 'assistant', content: answer, metadata: { turn }, ...supersedes }]);
  }

  /** The id of the newest answer to a turn, if there is one that it is not too late to correct. */
  async #answerTo(turn: string): Promise<string | undefined> {
    const since = new Date(Date.now() - TURN_MS).toISOString();
    const request = { session_id: this.#sessionId, metadata: { turn }, since, limit: 1 };
    const { memories } = await this.#memory.memories(request);
    return memories[0]?.id;
  }
}

/**
 * Names a turn of a conversation by all that was said before its answer, so that another call for the same turn is known as
 * one, by whichever process: the SHA-256, in hexadecimal digits.
 */
async function getDigest(sessionId: string, said: readonly string[]): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify([sessionId, ...said]));
  const digest = await crypto.subtle.digest('SHA-256', bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
