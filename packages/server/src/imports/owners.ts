import { type ImportedText, invalidRequest, LIMITS, type OwnScopeRequest } from '@memoryd/contract';

/** Maximum users that an error lists. */
const MAX_NAMED_USERS = 10;

/** The owner of the memories of an import. */
export interface OwnerOptions {
  /** The owner of all stored memories. */
  scope: OwnScopeRequest;
  /** The user of the source whose texts are stored; the texts of all users if absent. */
  sourceUser?: string | undefined;
}

/**
 * Decides who owns the texts of a source. With a requested user, all texts go to that user, and `metadata.source_user`
 * keeps the user of the source. The source must then have one user, or `sourceUser` selects one. Without a requested
 * user, each text keeps the user of the source. A requested agent owns all texts; otherwise they keep the agent of the
 * source.
 */
export class Owners {
  readonly #scope: OwnScopeRequest;
  readonly #sourceUser: string | undefined;
  readonly #users = new Set<string>();
  #hasMoreUsers = false;

  constructor({ scope, sourceUser }: OwnerOptions) {
    this.#scope = scope;
    this.#sourceUser = sourceUser;
  }

  /** The users that the texts so far name, at most `LIMITS.previewedUsers`. */
  get users(): string[] {
    return [...this.#users];
  }

  /** Returns a text with its owner; `undefined` for a text of another user than `sourceUser`. */
  assign(text: ImportedText): ImportedText | undefined {
    const user = text.user_id ?? undefined;
    if (user !== undefined) this.#note(user);
    if (this.#sourceUser !== undefined && user !== this.#sourceUser) return undefined;
    const { user_id, agent_id } = this.#scope;
    const owned = { ...text, ...(agent_id !== undefined && { agent_id }) };
    if (user_id === undefined) return owned;
    return { ...owned, user_id, ...(user !== undefined && { metadata: withSourceUser(text.metadata, user) }) };
  }

  /**
   * Throws INVALID_REQUEST if the texts so far have several users but one requested owner, or if none is of
   * `sourceUser`.
   */
  assertClear(): void {
    const sourceUser = this.#sourceUser;
    if (sourceUser !== undefined) {
      // A user beyond the limit of remembered users may be the requested one.
      if (this.#users.has(sourceUser) || this.#hasMoreUsers) return;
      throw createError(
        this.#users.size > 0
          ? `source_user must be a user of the source (${this.#list()}), not ${JSON.stringify(sourceUser)}`
          : 'source_user must be absent, because the source names no users',
      );
    }
    if (this.#scope.user_id === undefined || this.#users.size < 2) return;
    throw createError(
      `source_user must name one user of the source (${this.#list()}), because all memories would belong to ` +
        JSON.stringify(this.#scope.user_id),
    );
  }

  #note(user: string): void {
    if (this.#users.size < LIMITS.previewedUsers || this.#users.has(user)) this.#users.add(user);
    else this.#hasMoreUsers = true;
  }

  #list(): string {
    const named = this.users.slice(0, MAX_NAMED_USERS).map((user) => JSON.stringify(user));
    const others = this.#users.size - named.length;
    if (others === 0) return named.join(', ');
    return `${named.join(', ')} and ${this.#hasMoreUsers ? 'more than ' : ''}${others} others`;
  }
}

/** Adds the user of the source to metadata, if it has room and no such field. */
function withSourceUser(metadata: ImportedText['metadata'], user: string): NonNullable<ImportedText['metadata']> {
  const added = { source_user: user, ...metadata };
  return Buffer.byteLength(JSON.stringify(added)) <= LIMITS.metadataBytes ? added : (metadata ?? {});
}

function createError(message: string) {
  return invalidRequest([{ path: '/source_user', message }]);
}
