import {
  type Memory,
  parseTime,
  type StoreBatchResponse,
  type StoreFields,
  type StoreRequest,
  type UpdateRequest,
  withoutNulls,
} from '@memoryd/contract';

/** From when a request was sent until it was answered, in steps of one clock. */
export interface Span {
  start: number;
  end: number;
}

type Fields = Partial<Omit<StoreFields, 'expires_at'>> & { expires_at?: string | null };

/** A write that was answered as done. */
interface Write extends Span {
  fields: Fields;
}

interface Entry {
  id: string;
  stored: Write;
  updates: Write[];
  /** Answered as forgotten by its id, or named as a duplicate of one that was. */
  isForgotten: boolean;
}

/** A forget of many that was answered as done. */
interface ForgetMany extends Span {
  user_id?: string;
  agent_id?: string;
  shared?: string;
  session_id?: string;
  source?: string;
  tag?: string;
  before?: string;
  /** Whether it selects by metadata too, of which nothing is known here. */
  hasMetadata: boolean;
}

/** What the service has said that it did: what must be there in the end, what may be, and what must not. */
export class Ledger {
  readonly #entries = new Map<string, Entry>();
  readonly #forgets: ForgetMany[] = [];
  /** Texts of stores that nobody answered: they may be there or not. */
  readonly #unanswered = new Set<string>();
  #byText: Map<string, Set<Entry>> | undefined;

  stored(id: string, request: StoreRequest, span: Span): void {
    // The same id again answers a retry.
    if (!this.#entries.has(id))
      this.#entries.set(id, {
        id,
        stored: { ...span, fields: withoutNulls(request) },
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
    this.#entries.get(id)?.updates.push({ ...span, fields: change });
  }

  forgotten(ids: string[]): void {
    for (const id of ids) {
      const entry = this.#entries.get(id);
      if (entry) entry.isForgotten = true;
    }
  }

  forgottenMany(filter: Record<string, string>, span: Span): void {
    const hasMetadata = Object.keys(filter).some((name) => name.startsWith('metadata.'));
    this.#forgets.push({ ...filter, hasMetadata, ...span });
  }

  unanswered(contents: string[]): void {
    for (const content of contents) this.#unanswered.add(content);
  }

  get ids(): string[] {
    return [...this.#entries.keys()];
  }

  /** Sentences about what is wrong with what the service holds under an id, or with its holding nothing. */
  complaints(id: string, found: Memory | undefined): string[] {
    const entry = this.#entries.get(id);
    if (!entry) {
      const allowed = found?.tier === 'semantic' || this.#unanswered.has(found?.content ?? '');
      return allowed ? [] : [`${id} was never answered as stored: ${JSON.stringify(found)}`];
    }
    if (!found) return this.#mayBeGone(entry) ? [] : [`${id} is gone: ${JSON.stringify(entry)}`];
    if (this.#mustBeGone(entry)) return [`${id} was forgotten and is there: ${JSON.stringify(found)}`];
    return this.#differences(entry, found).map((difference) => `${id}: ${difference}`);
  }

  #differences(entry: Entry, found: Memory): string[] {
    const wrong: string[] = [];
    const compare = (field: string, value: unknown, allowed: unknown[]) => {
      const text = canonical(value);
      if (allowed.some((one) => canonical(one) === text)) return;
      wrong.push(
        `${field} is ${text?.slice(0, 300)}, and may be ${allowed.map((one) => canonical(one)?.slice(0, 300))}`,
      );
    };
    const last = <Field extends keyof Fields>(field: Field) => lastWritten(entry, field);
    compare('content', found.content, last('content'));
    compare(
      'metadata',
      found.metadata,
      last('metadata').map((value) => value ?? {}),
    );
    compare('source', found.source, [entry.stored.fields.source ?? 'api']);
    compare('user_id', found.user_id, [entry.stored.fields.user_id]);
    compare('agent_id', found.agent_id, [entry.stored.fields.agent_id]);
    compare('session_id', found.session_id, [entry.stored.fields.session_id ?? 'default']);
    compare('supersedes', found.supersedes, [...this.#correctedBy(entry), null]);
    if (entry.stored.fields.created_at)
      compare('created_at', found.created_at, [asTime(entry.stored.fields.created_at)]);
    // The visible memory of a group gains from its duplicates, which expire with it.
    if (this.#hasDuplicate(entry)) return wrong;
    compare('expires_at', found.expires_at, last('expires_at').map(asTime));
    compare(
      'importance',
      found.importance,
      last('importance').map((value) => value ?? 0.5),
    );
    compare(
      'tags',
      found.tags,
      last('tags').map((tags) => [...new Set(tags ?? [])]),
    );
    return wrong;
  }

  /**
   * Returns the ids that a memory may name as superseded. If the memory that it superseded may be gone, these are the one
   * that it superseded in turn, and the members of its group.
   */
  #correctedBy(entry: Entry): Set<string> {
    const corrected = new Set<string>();
    const named = [entry.stored.fields.supersedes];
    for (let id = named.pop(); id !== undefined; id = named.pop()) {
      if (corrected.has(id)) continue;
      corrected.add(id);
      const next = this.#entries.get(id);
      if (!next || !this.#mayBeGone(next)) continue;
      const { supersedes } = next.stored.fields;
      named.push(...Array.from(this.#getGroup(next), (member) => member.id), ...(supersedes ? [supersedes] : []));
    }
    return corrected;
  }

  #mustBeGone(entry: Entry): boolean {
    if (entry.isForgotten) return true;
    if (!this.#hasDuplicate(entry) && lastWritten(entry, 'expires_at').every(isPast)) return true;
    return this.#forgets.some(
      (forget) =>
        !forget.hasMetadata &&
        entry.stored.end < forget.start &&
        entry.updates.length === 0 &&
        selects(forget, entry.stored.fields),
    );
  }

  #mayBeGone(entry: Entry): boolean {
    if (this.#mustBeGone(entry)) return true;
    // The visible memory of a group takes its hidden duplicates along, whatever selected it.
    const group = [...this.#getGroup(entry)];
    if (group.some((member) => lastWritten(member, 'expires_at').some(isPast))) return true;
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

/** The texts that a memory has had, with its user, agent and session, as consolidation compares them. */
function getTexts({ stored, updates }: Entry): string[] {
  const { user_id = '', agent_id = '', session_id = 'default' } = stored.fields;
  const contents = [stored, ...updates].flatMap(({ fields }) => fields.content ?? []);
  return [
    ...new Set(contents.map((content) => [user_id, agent_id, session_id, content.normalize('NFC').trim()].join('\n'))),
  ];
}

/** Every state of the fields that a forget of many looks at. */
function getWrites({ stored, updates }: Entry): Fields[] {
  return [stored.fields, ...updates.map(({ fields }) => ({ ...stored.fields, ...fields }))];
}

function selects(forget: ForgetMany, fields: Fields): boolean {
  const { user_id, agent_id, shared, session_id, source, tag, before } = forget;
  const isOwn = (asked: string | undefined, own: string | undefined) =>
    asked === undefined || asked === own || (shared === 'true' && own === undefined);
  const createdMs = fields.created_at === undefined ? Date.now() : toMs(fields.created_at);
  return (
    isOwn(user_id, fields.user_id) &&
    isOwn(agent_id, fields.agent_id) &&
    (session_id === undefined || session_id === (fields.session_id ?? 'default')) &&
    (source === undefined || source === (fields.source ?? 'api')) &&
    (tag === undefined || (fields.tags ?? []).includes(tag)) &&
    (before === undefined || createdMs < toMs(before))
  );
}

/** What a field may be in the end: of writes side by side, any may have been the last. */
function lastWritten<Field extends keyof Fields>({ stored, updates }: Entry, field: Field): Fields[Field][] {
  const writes = [stored, ...updates.filter(({ fields }) => fields[field] !== undefined)];
  return writes.filter(({ end }) => !writes.some((other) => other.start > end)).map(({ fields }) => fields[field]);
}

function asTime(text: string | null | undefined): string | null {
  return text ? new Date(toMs(text)).toISOString() : null;
}

function toMs(time: string): number {
  return parseTime(time) ?? Number.NaN;
}

/** The JSON text of a value with the fields of its objects in order, and numbers as JSON has them. */
function canonical(value: unknown): string | undefined {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? { fields: Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)) }
      : inner,
  );
}
