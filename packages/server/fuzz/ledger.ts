import {
  type Memory,
  type MemoryChanges,
  parseTime,
  type StoreBatchResponse,
  type StoreFields,
  StoreRequest,
  type StoreResponse,
  type UpdateFields,
  UpdateRequest,
  withoutNullFields,
} from '@memoryd/contract';

/** Logical times at which a request was sent and its response arrived. */
export interface Span {
  start: number;
  end: number;
}

/** Fields that an update can remove. */
type Nullable = 'expires_at' | 'valid_from' | 'valid_to' | 'supersedes';

type Fields = Partial<Omit<StoreFields, Nullable>> & Partial<Pick<UpdateFields, Nullable>>;

/** An acknowledged write. */
interface Write extends Span {
  fields: Fields;
}

interface Entry {
  id: string;
  /**
   * The write that created the memory. A stand-in without fields if only repeated stores of its external id were
   * acknowledged.
   */
  stored: Write;
  isCreationKnown: boolean;
  updates: Write[];
  /** Whether a response acknowledged that the memory was forgotten, by its id or as a duplicate. */
  isForgotten: boolean;
}

/** The conditions of a request that forgets many memories, those given once as they are in its URL. */
interface ForgetConditions {
  ids: string[];
  tags: string[];
  user_id?: string;
  agent_id?: string;
  shared?: string;
  session_id?: string;
  source?: string;
  external_id?: string;
  before?: string;
}

/** An acknowledged request that forgets many memories. */
interface ForgetMany extends Span, ForgetConditions {
  /** Whether the request also filters by metadata or a JSON filter, which the ledger does not evaluate. */
  hasMetadata: boolean;
}

/** An acknowledged request that changes the labels of many memories, of one session or of all. */
interface ChangeMany extends Span {
  session: string | undefined;
  changes: MemoryChanges;
}

/** Records acknowledged writes, and decides which memories must, may and must not exist in the end. */
export class Ledger {
  readonly #entries = new Map<string, Entry>();
  readonly #forgets: ForgetMany[] = [];
  readonly #changes: ChangeMany[] = [];
  /** Texts of stores without a response: they may or may not exist. */
  readonly #uncertain = new Set<string>();
  #byText: Map<string, Set<Entry>> | undefined;

  stored({ id, created = true }: StoreResponse, request: StoreRequest, span: Span, isKeyed: boolean): void {
    // The response to a repeated idempotency key may belong to an earlier request.
    const start = isKeyed && request.external_id != null ? 0 : span.start;
    const write = { ...span, start, fields: withoutNullFields(StoreRequest, request) as StoreFields };
    const entry = this.#entries.get(id);
    if (!entry) {
      // Any store of an external id has the same owner as the first, whose response may arrive later.
      const { user_id, agent_id, external_id } = write.fields;
      const fields = { user_id, agent_id, external_id } as Fields;
      const stored = created ? write : { start: 0, end: 0, fields };
      const updates = created ? [] : [write];
      this.#entries.set(id, { id, stored, isCreationKnown: created, updates, isForgotten: false });
    } else if (!created) entry.updates.push(write);
    else if (!entry.isCreationKnown) Object.assign(entry, { stored: write, isCreationKnown: true });
    // Otherwise a retry with the same idempotency key has returned the first response.
  }

  storedBatch({ results }: StoreBatchResponse, requests: unknown[], span: Span, isKeyed: boolean): void {
    results.forEach((result, i) => {
      if ('id' in result) this.stored(result, requests[i] as StoreRequest, span, isKeyed);
    });
  }

  updated(id: string, change: UpdateRequest, span: Span): void {
    this.#entries.get(id)?.updates.push({ ...span, fields: withoutNullFields(UpdateRequest, change) as UpdateFields });
  }

  forgotten(ids: string[]): void {
    for (const id of ids) {
      const entry = this.#entries.get(id);
      if (entry) entry.isForgotten = true;
    }
  }

  forgottenMany(filter: ForgetConditions, span: Span): void {
    const hasMetadata = Object.keys(filter).some((name) => /^(?:metadata[.[]|filter$)/.test(name));
    this.#forgets.push({ ...filter, hasMetadata, ...span });
  }

  /** Records a change of the memories of a session; without a session, of any memories. */
  changedMany(session: string | undefined, changes: MemoryChanges, span: Span): void {
    this.#changes.push({ session, changes, ...span });
  }

  uncertain(contents: string[]): void {
    for (const content of contents) this.#uncertain.add(content);
  }

  get ids(): string[] {
    return [...this.#entries.keys()];
  }

  /** Compares a stored memory, or its absence, with the acknowledged writes. Returns a sentence for each problem. */
  findProblems(id: string, actual: Memory | undefined): string[] {
    const entry = this.#entries.get(id);
    if (!entry) {
      const isAllowed = actual?.tier === 'semantic' || this.#isUncertain(actual?.content ?? '');
      return isAllowed ? [] : [`${id} was never acknowledged as stored: ${JSON.stringify(actual)}`];
    }
    if (!actual) return this.#mayBeAbsent(entry) ? [] : [`${id} is missing: ${JSON.stringify(entry)}`];
    if (this.#mustBeAbsent(entry)) return [`${id} was forgotten but exists: ${JSON.stringify(actual)}`];
    return this.#getDifferences(entry, actual).map((difference) => `${id}: ${difference}`);
  }

  /** Returns whether a text may have been stored without a response. Imports replace secrets before they store a text. */
  #isUncertain(content: string): boolean {
    if (this.#uncertain.has(content)) return true;
    const parts = content.split(/\[redacted:[\w-]+\]/);
    return parts.length > 1 && [...this.#uncertain].some((text) => containsInOrder(text, parts));
  }

  #getDifferences(entry: Entry, actual: Memory): string[] {
    const differences: string[] = [];
    const compare = (field: string, value: unknown, allowed: unknown[]) => {
      const text = toCanonicalJson(value);
      if (allowed.some((one) => toCanonicalJson(one) === text)) return;
      differences.push(
        `${field} is ${text?.slice(0, 300)}, but must be one of ${allowed.map((one) => toCanonicalJson(one)?.slice(0, 300))}`,
      );
    };
    if (!entry.isCreationKnown) return differences;
    const last = <Field extends keyof Fields>(field: Field) => getLastValues(entry, field);
    compare('content', actual.content, last('content'));
    compare(
      'source',
      actual.source,
      last('source').map((value) => value ?? 'api'),
    );
    compare('external_id', actual.external_id, [entry.stored.fields.external_id]);
    compare('user_id', actual.user_id, [entry.stored.fields.user_id]);
    compare('agent_id', actual.agent_id, [entry.stored.fields.agent_id]);
    compare(
      'session_id',
      actual.session_id,
      last('session_id').map((value) => value ?? 'default'),
    );
    compare('supersedes', actual.supersedes, [...this.#getSuperseded(entry), null]);
    const times = last('created_at');
    if (times.every((time) => time !== undefined)) compare('created_at', actual.created_at, times.map(toIsoTime));
    const changes = this.#getChanges(entry);
    if (changes.length > 0) return [...differences, ...this.#findUnknownLabels(entry, changes, actual)];
    compare(
      'metadata',
      actual.metadata,
      last('metadata').map((value) => value ?? {}),
    );
    // Merging changes these fields of a group's visible memory, and its duplicates expire with it.
    if (this.#hasDuplicate(entry)) return differences;
    compare('expires_at', actual.expires_at, last('expires_at').map(toIsoTime));
    compare(
      'importance',
      actual.importance,
      last('importance').map((value) => value ?? 0.5),
    );
    compare(
      'tags',
      actual.tags,
      last('tags').map((tags) => [...new Set(tags ?? [])]),
    );
    return differences;
  }

  /** Returns the changes of many memories that may have changed this one. Each may have been undone. */
  #getChanges(entry: Entry): ChangeMany[] {
    const states = [...this.#getGroup(entry)].flatMap(getWrites);
    return this.#changes.filter(
      ({ session, end }) =>
        end > entry.stored.start &&
        (session === undefined || states.some(({ session_id = 'default' }) => session_id === session)),
    );
  }

  /** Returns a sentence for each label that neither a write of the memory or of its group nor a change has set. */
  #findUnknownLabels(entry: Entry, changes: ChangeMany[], { tags, importance, metadata }: Memory): string[] {
    const states = [...this.#getGroup(entry)].flatMap(getWrites);
    const sets = [
      ...states.map((state) => state.metadata ?? {}),
      ...changes.map((change) => change.changes.metadata ?? {}),
    ];
    const getLabels = (fields: object) => Object.entries(fields).map((field) => toCanonicalJson(field));
    const known = {
      tags: new Set([...states.flatMap((state) => state.tags ?? []), ...getAddedTags(changes)]),
      importance: new Set([
        ...states.map((state) => state.importance ?? 0.5),
        ...changes.map((change) => change.changes.importance),
      ]),
      metadata: new Set(sets.flatMap(getLabels)),
    };
    return [
      ...tags.filter((tag) => !known.tags.has(tag)).map((tag) => `nobody has set the tag ${tag}`),
      ...(known.importance.has(importance) ? [] : [`nobody has set the importance ${importance}`]),
      ...getLabels(metadata)
        .filter((label) => !known.metadata.has(label))
        .map((label) => `nobody has set the metadata ${label}`),
    ];
  }

  /**
   * Returns the ids that a memory may name as superseded. If the memory that it superseded may be gone, these are the one
   * that it superseded in turn, and the members of its group.
   */
  #getSuperseded(entry: Entry): Set<string> {
    const superseded = new Set<string>();
    const queue = getSupersedes(entry);
    for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
      if (superseded.has(id)) continue;
      superseded.add(id);
      const next = this.#entries.get(id);
      if (!next || !this.#mayBeAbsent(next)) continue;
      queue.push(...Array.from(this.#getGroup(next), (member) => member.id), ...getSupersedes(next));
    }
    return superseded;
  }

  #mustBeAbsent(entry: Entry): boolean {
    if (entry.isForgotten) return true;
    if (!this.#hasDuplicate(entry) && getLastValues(entry, 'expires_at').every(isPast)) return true;
    return this.#forgets.some(
      (forget) =>
        !forget.hasMetadata &&
        entry.stored.end < forget.start &&
        entry.updates.length === 0 &&
        this.#getChanges(entry).length === 0 &&
        selects(forget, entry.id, entry.stored.fields),
    );
  }

  #mayBeAbsent(entry: Entry): boolean {
    if (this.#mustBeAbsent(entry)) return true;
    // If the visible memory of a group is deleted, its hidden duplicates are deleted too.
    const group = [...this.#getGroup(entry)];
    if (group.some((member) => getLastValues(member, 'expires_at').some(isPast))) return true;
    const later = this.#forgets.filter((forget) => forget.end > entry.stored.start);
    const added = getAddedTags(this.#getChanges(entry));
    const isSelected = (member: Entry) => {
      const states = getWrites(member).map((state) => ({ ...state, tags: [...(state.tags ?? []), ...added] }));
      return later.some((forget) => states.some((state) => selects(forget, member.id, state)));
    };
    return group.some((member) => member.isForgotten || isSelected(member));
  }

  #hasDuplicate(entry: Entry): boolean {
    return this.#getGroup(entry).size > 1;
  }

  /**
   * Returns the memories that consolidation may have merged with this one, itself included. A memory stays in its group
   * when it gets another text, by which the group may be merged with further memories.
   */
  #getGroup(entry: Entry): Set<Entry> {
    this.#byText ??= groupByText([...this.#entries.values()]);
    const group = new Set([entry]);
    for (const member of group) {
      for (const text of getTexts(member)) for (const other of this.#byText.get(text) ?? []) group.add(other);
    }
    return group;
  }
}

/** Returns whether a text contains parts in this order, without overlaps. */
function containsInOrder(text: string, parts: readonly string[]): boolean {
  let end = 0;
  return parts.every((part) => {
    const start = text.indexOf(part, end);
    end = start + part.length;
    return start >= 0;
  });
}

function isPast(at: string | null | undefined): boolean {
  return Boolean(at && toMs(at) < Date.now());
}

function groupByText(entries: Entry[]): Map<string, Set<Entry>> {
  const groups = new Map<string, Set<Entry>>();
  for (const entry of entries) {
    for (const text of getTexts(entry)) groups.set(text, (groups.get(text) ?? new Set()).add(entry));
  }
  return groups;
}

/** Returns all texts of a memory with its user, agent and session, in the form that consolidation compares. */
function getTexts({ stored, updates }: Entry): string[] {
  const { user_id = '', agent_id = '', session_id = 'default' } = stored.fields;
  const contents = [stored, ...updates].flatMap(({ fields }) => fields.content ?? []);
  const sessions = [session_id, ...updates.flatMap(({ fields }) => fields.session_id ?? [])];
  const texts = contents.flatMap((content) =>
    sessions.map((session) => [user_id, agent_id, session, content.normalize('NFC').trim()].join('\n')),
  );
  return [...new Set(texts)];
}

/** Returns the ids that a memory has superseded. */
function getSupersedes({ stored, updates }: Entry): string[] {
  return [stored, ...updates].flatMap(({ fields }) => fields.supersedes ?? []);
}

/** Returns every state of a memory's fields. */
function getWrites({ stored, updates }: Entry): Fields[] {
  return [stored.fields, ...updates.map(({ fields }) => ({ ...stored.fields, ...fields }))];
}

function getAddedTags(changes: ChangeMany[]): string[] {
  return changes.flatMap((change) => change.changes.add_tags ?? []);
}

function selects(forget: ForgetMany, id: string, fields: Fields): boolean {
  const { user_id, agent_id, shared, session_id, source, external_id, ids, tags, before } = forget;
  const matchesOwner = (filter: string | undefined, owner: string | undefined) =>
    filter === undefined || filter === owner || (shared === 'true' && owner === undefined);
  const createdMs = fields.created_at === undefined ? Date.now() : toMs(fields.created_at);
  return (
    matchesOwner(user_id, fields.user_id) &&
    matchesOwner(agent_id, fields.agent_id) &&
    (session_id === undefined || session_id === (fields.session_id ?? 'default')) &&
    (source === undefined || source === (fields.source ?? 'api')) &&
    (external_id === undefined || external_id === fields.external_id) &&
    (ids.length === 0 || ids.includes(id)) &&
    tags.every((tag) => (fields.tags ?? []).includes(tag)) &&
    (before === undefined || createdMs < toMs(before))
  );
}

/** Returns the possible final values of a field: of concurrent writes, any may have been the last. */
function getLastValues<Field extends keyof Fields>({ stored, updates }: Entry, field: Field): Fields[Field][] {
  const writes = [stored, ...updates.filter(({ fields }) => fields[field] !== undefined)];
  return writes.filter(({ end }) => !writes.some((other) => other.start > end)).map(({ fields }) => fields[field]);
}

function toIsoTime(text: string | null | undefined): string | null {
  return text ? new Date(toMs(text)).toISOString() : null;
}

function toMs(time: string): number {
  return parseTime(time) ?? Number.NaN;
}

/** Returns the JSON text of a value with sorted object fields. */
function toCanonicalJson(value: unknown): string | undefined {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? { fields: Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)) }
      : inner,
  );
}
