/** The owner of hook calls. `userId` is empty for calls that name no user. */
export interface HookOwner {
  namespace: string;
  userId: string;
}

/**
 * A value for each owner, of at most `maxOwners`. At the limit, the least recently used owner is dropped, in the
 * namespace with the most owners, so that no namespace displaces the owners of another.
 */
export class OwnerMap<Value> {
  /** By namespace and user, the least recently used user first. */
  readonly #namespaces = new Map<string, Map<string, Value>>();
  readonly #maxOwners: number;
  #owners = 0;

  constructor(maxOwners: number) {
    this.#maxOwners = maxOwners;
  }

  /** Returns the value of an owner; undefined without one. */
  get({ namespace, userId }: HookOwner): Value | undefined {
    return this.#namespaces.get(namespace)?.get(userId);
  }

  /** Returns the value of an owner, who becomes the most recently used one. Creates the value of a new owner. */
  take(owner: HookOwner, create: () => Value): Value {
    const { namespace, userId } = owner;
    const known = this.get(owner);
    const value = known ?? create();
    const users = this.#namespaces.get(namespace) ?? new Map<string, Value>();
    this.#namespaces.set(namespace, users);
    users.delete(userId);
    users.set(userId, value);
    if (known === undefined && ++this.#owners > this.#maxOwners) this.#dropOldest();
    return value;
  }

  #dropOldest(): void {
    const [namespace, users] = [...this.#namespaces].reduce((most, each) =>
      each[1].size > most[1].size ? each : most,
    );
    const [oldest = ''] = users.keys();
    users.delete(oldest);
    if (users.size === 0) this.#namespaces.delete(namespace);
    this.#owners -= 1;
  }
}
