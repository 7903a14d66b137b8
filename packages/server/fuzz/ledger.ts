import {
  type Memory,
  parseTime,
  type StoreBatchResponse,
  type StoreFields,
  StoreRequest,
  type UpdateFields,
  UpdateRequest,
  withoutNullFields,
} from '@memoryd/contract';

/** Logical times at which a request was sent and its response arrived. */
export interface Span {
  start: number;
  end: number;
}

type Fields = Partial<Omit<StoreFields, 'expires_at'>> & { expires_at?: string | null };

/** An acknowledged write. */
interface Write extends Span {
  fields: Fields;
}

interface Entry {
  id: string;
  stored: Write;
  updates: Write[];
  /** Whether a response acknowledged that the memory was forgotten, by its id or as a duplicate. */
  isForgotten: boolean;
}

/** An acknowledged request that forgets many memories. */
interface ForgetMany extends Span {
  user_id?: string;
  agent_id?: string;
  shared?: string;
  session_id?: string;
  source?: string;
  tag?: string;
  before?: string;
  /** Whether the request also filters by metadata, which the ledger does not evaluate. */
  hasMetadata: boolean;
}

/** Records acknowledged writes, and decides which memories must, may and must not exist in the end. */
export class Ledger {
  readonly #entries = new Map<string, Entry>();
  readonly #forgets: ForgetMany[] = [];
  /** Texts of stores without a response: they may or may not exist. */
  readonly #uncertain = new Set<string>();
  #byText: Map<string, Set<Entry>> | undefined;

  stored(id: string, request: StoreRequest, span: Span): void {
    // A retry with the same idempotency key returns the same id.
    if (!this.#entries.has(id))
      this.#entries.set(id, {
        id,
        stored: { ...span, fields: withoutNullFields(StoreRequest, request) as StoreFields },
        updates: [],
        isForgotten: false,
      });
  }

  storedBatch({ results }: StoreBatchResponse, requests: unknown[], span: Span): void {
    results.forEach((result, i) => {
      if ('id' in result) this.stored(result.id, requests[i] as StoreRequest, span);
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

  forgottenMany(filter: Record<string, string>, span: Span): void {
    const hasMetadata = Object.keys(filter).some((name) => /^metadata[.[]/.test(name));
    this.#forgets.push({ ...filter, hasMetadata, ...span });
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
      const isAllowed = actual?.tier === 'semantic' || this.#uncertain.has(actual?.content ?? '');
      return isAllowed ? [] : [`${id} was never acknowledged as stored: ${JSON.stringify(actual)}`];
    }
    if (!actual) return this.#mayBeAbsent(entry) ? [] : [`${id} is missing: ${JSON.stringify(entry)}`];
    if (this.#mustBeAbsent(entry)) return [`${id} was forgotten but exists: ${JSON.stringify(actual)}`];
    return this.#getDifferences(entry, actual).map((difference) => `${id}: ${difference}`);
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
    const last = <Field extends keyof Fields>(field: Field) => getLastValues(entry, field);
    compare('content', actual.content, last('content'));
    compare(
      'metadata',
      actual.metadata,
      last('metadata').map((value) => value ?? {}),
    );
    compare('source', actual.source, [entry.stored.fields.source ?? 'api']);
    compare('user_id', actual.user_id, [entry.stored.fields.user_id]);
    compare('agent_id', actual.agent_id, [entry.stored.fields.agent_id]);
    compare('session_id', actual.session_id, [entry.stored.fields.session_id ?? 'default']);
    compare('supersedes', actual.supersedes, [...this.#getSuperseded(entry), null]);
    if (entry.stored.fields.created_at)
      compare('created_at', actual.created_at, [toIsoTime(entry.stored.fields.created_at)]);
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

  /**
   * Returns the ids that a memory may name as superseded. If the memory that it superseded may be gone, these are the one
   * that it superseded in turn, and the members of its group.
   */
  #getSuperseded(entry: Entry): Set<string> {
    const superseded = new Set<string>();
    const queue = [entry.stored.fields.supersedes];
    for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
      if (superseded.has(id)) continue;
      superseded.add(id);
      const next = this.#entries.get(id);
      if (!next || !this.#mayBeAbsent(next)) continue;
      const { supersedes } = next.stored.fields;
      queue.push(...Array.from(this.#getGroup(next), (member) => member.id), ...(supersedes ? [supersedes] : []));
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
        selects(forget, entry.stored.fields),
    );
  }

  #mayBeAbsent(entry: Entry): boolean {
    if (this.#mustBeAbsent(entry)) return true;
    // If the visible memory of a group is deleted, its hidden duplicates are deleted too.
    const group = [...this.#getGroup(entry)];
    if (group.some((member) => getLastValues(member, 'expires_at').some(isPast))) return true;
    const later = this.#forgets.filter((forget) => forget.end > entry.stored.start);
    const states = group.flatMap(getWrites);
    return (
      group.some((member) => member.isForgotten) ||
      later.some((forget) => states.some((state) => selects(forget, state)))
    );
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
  return [
    ...new Set(contents.map((content) => [user_id, agent_id, session_id, content.normalize('NFC').trim()].join('\n'))),
  ];
}

/** Returns every state of a memory's fields. */
function getWrites({ stored, updates }: Entry): Fields[] {
  return [stored.fields, ...updates.map(({ fields }) => ({ ...stored.fields, ...fields }))];
}

function selects(forget: ForgetMany, fields: Fields): boolean {
  const { user_id, agent_id, shared, session_id, source, tag, before } = forget;
  const matchesOwner = (filter: string | undefined, owner: string | undefined) =>
    filter === undefined || filter === owner || (shared === 'true' && owner === undefined);
  const createdMs = fields.created_at === undefined ? Date.now() : toMs(fields.created_at);
  return (
    matchesOwner(user_id, fields.user_id) &&
    matchesOwner(agent_id, fields.agent_id) &&
    (session_id === undefined || session_id === (fields.session_id ?? 'default')) &&
    (source === undefined || source === (fields.source ?? 'api')) &&
    (tag === undefined || (fields.tags ?? []).includes(tag)) &&
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
