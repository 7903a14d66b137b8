/** The fields of a memory in a period. Times count from the start of the test. */
export interface State {
  from: number;
  text: string;
  tag: string;
  importance: number;
  session: string;
  begin: number;
  end: number;
  version: number;
  supersedes: string | null;
  mergedInto: string | null;
}

export interface Held {
  id: string;
  storedAt: number;
  /** Only the present expiry counts. */
  expiry: number;
  /** In order. The last one is the present state. */
  states: State[];
}

interface Link {
  superseded: Held;
  successor: Held;
  from: number;
  until: number;
}

/** A question about what held at `at`, by what was known at `known`, in a present of `now`. */
export interface Question {
  at: number;
  known: number;
  now: number;
}

/** A memory as it was known. */
export type Known = Held & { state: State };

/** Everything that was ever stored, except what was forgotten: the rule of validity, told by reading all of it. */
export class Model {
  /** In order of arrival. */
  memories: Held[] = [];
  links: Link[] = [];

  store(memory: Held): void {
    this.memories.push(memory);
  }

  find(id: string): Held | undefined {
    return this.memories.find((memory) => memory.id === id);
  }

  getPresent({ states }: Held): State {
    return states.at(-1) as State;
  }

  /** Returns the time of a change at `at`: never before the last change. */
  getChangeTime(memory: Held, at: number): number {
    return Math.max(at, this.getPresent(memory).from);
  }

  change(memory: Held, at: number, fields: Partial<State>): void {
    const present = this.getPresent(memory);
    const from = this.getChangeTime(memory, at);
    const changed = { ...present, ...fields, from };
    if (from === present.from) memory.states[memory.states.length - 1] = changed;
    else memory.states.push(changed);
  }

  /** Links a memory, and the memories with its text that arrived before the successor, to the successor. */
  supersede(successor: Held, superseded: Held, at: number): void {
    const { text, session, mergedInto } = this.getPresent(superseded);
    const earlier = this.memories.slice(0, this.memories.indexOf(successor));
    const withText = earlier.filter((each) => this.getPresent(each).text === text);
    const visible = this.memories.filter((each) => {
      const { mergedInto: survivor, session: ofEach } = this.getPresent(each);
      return each.id === mergedInto || (withText.includes(each) && survivor === null && ofEach === session);
    });
    const ids = [superseded, ...visible].map(({ id }) => id);
    const merged = withText.filter((each) => ids.includes(this.getPresent(each).mergedInto ?? ''));
    for (const each of new Set([superseded, ...visible, ...merged])) {
      const isLinked = this.links.some(
        (link) => link.superseded === each && link.successor === successor && link.until === Number.POSITIVE_INFINITY,
      );
      if (isLinked || this.leadsTo(successor, each)) continue;
      const from = this.getChangeTime(successor, at);
      this.links.push({ superseded: each, successor, from, until: Number.POSITIVE_INFINITY });
    }
  }

  /** Returns true if the chains of corrections of a memory reach another one. */
  leadsTo(memory: Held, other: Held): boolean {
    if (memory === other) return true;
    const next = this.links.filter(
      ({ superseded, until }) => superseded === memory && until === Number.POSITIVE_INFINITY,
    );
    return next.some(({ successor }) => this.leadsTo(successor, other));
  }

  unlink(successor: Held, at: number): void {
    for (const link of this.links) {
      if (link.successor !== successor || link.until !== Number.POSITIVE_INFINITY) continue;
      link.until = this.getChangeTime(successor, at);
    }
  }

  /** Forgets a memory. Its successors pass on to what it superseded, and its duplicates are memories of their own. */
  forget(gone: Held): void {
    this.memories = this.memories.filter((each) => each !== gone);
    const { supersedes, mergedInto } = this.getPresent(gone);
    const passedTo = supersedes ?? mergedInto;
    const before = this.links.filter(({ successor }) => successor === gone);
    const after = this.links.filter(({ superseded }) => superseded === gone);
    this.links = this.links.filter((link) => ![link.superseded, link.successor].includes(gone));
    for (const one of before) for (const other of after) this.#linkThrough(one, other);
    for (const { id, states } of this.memories) {
      for (const state of states.filter((each) => each.mergedInto === gone.id)) state.mergedInto = null;
      for (const state of states.filter((each) => each.supersedes === gone.id)) {
        state.supersedes = passedTo === id ? null : passedTo;
      }
    }
  }

  /** Links past a forgotten memory, while both links to it were known. */
  #linkThrough({ superseded, ...one }: Link, { successor, ...other }: Link): void {
    const [from, until] = [Math.max(one.from, other.from), Math.min(one.until, other.until)];
    if (superseded !== successor && from < until) this.links.push({ superseded, successor, from, until });
  }

  /** Returns the memories that were neither merged nor forgotten, and have not expired, as they were known. */
  getVisible(question: Question): Known[] {
    return this.memories.flatMap((memory) => {
      const state = this.#getKnown(memory, question);
      return state?.mergedInto === null && memory.expiry > question.now ? [{ ...memory, state }] : [];
    });
  }

  #getKnown({ storedAt, states }: Held, { known, now }: Question): State | undefined {
    if (known >= now) return states.at(-1);
    return storedAt > known ? undefined : states.findLast(({ from }) => from <= known);
  }

  holds({ id, state: { begin, end } }: Known, question: Question): boolean {
    return begin <= question.at && question.at < end && this.getSupersededBy(id, question) === null;
  }

  getSupersededBy(id: string, question: Question): string | null {
    const [first] = this.#getReplacing(this.find(id) as Held, question, new Set()).sort(
      (a, b) => a.begin - b.begin || this.#getPlace(a.id) - this.#getPlace(b.id),
    );
    return first?.id ?? null;
  }

  #getPlace(id: string): number {
    return this.memories.findIndex((memory) => memory.id === id);
  }

  /** Returns the memories that replace one at a time: of each chain the first that counts. */
  #getReplacing(memory: Held, question: Question, seen: Set<Held>): { id: string; begin: number }[] {
    const isKnown = ({ from, until }: Link) =>
      question.known >= question.now
        ? until === Number.POSITIVE_INFINITY
        : from <= question.known && question.known < until;
    return this.links
      .filter((link) => link.superseded === memory && isKnown(link))
      .flatMap(({ successor }) => {
        const state = this.#getKnown(successor, question);
        if (!state || state.begin > question.at || seen.has(successor)) return [];
        seen.add(successor);
        if (successor.expiry > question.now && state.end > question.at)
          return [{ id: successor.id, begin: state.begin }];
        return this.#getReplacing(successor, question, seen);
      });
  }
}
