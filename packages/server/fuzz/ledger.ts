import type { Memory, StoreBatchResponse, StoreRequest, UpdateRequest } from '@memoryd/contract';

/** From when a request was sent until it was answered, in steps of one clock. */
export interface Span {
  start: number;
  end: number;
}

type Fields = Partial<Omit<StoreRequest, 'expires_at'>> & { expires_at?: string | null };

/** A write that was answered as done. */
interface Write extends Span {
  fields: Fields;
}

interface Entry {
  stored: Write;
  updates: Write[];
  /** Answered as forgotten by its id, or named as a twin of one that was. */
  isForgotten: boolean;
}

/** A forget of many that was answered as done. */
interface ForgetMany extends Span {
  session_id?: string;
  source?: string;
  tag?: string;
  before?: string;
}

/** What the service has said that it did: what must be there in the end, what may be, and what must not. */
export class Ledger {
  readonly #entries = new Map<string, Entry>();
  readonly #forgets: ForgetMany[] = [];
  /** Texts of stores that nobody answered: they may be there or not. */
  readonly #unanswered = new Set<string>();
  #twins: Map<string, Set<Entry>> | undefined;

  stored(id: string, request: StoreRequest, span: Span): void {
    // The same id again answers a retry.
    if (!this.#entries.has(id))
      this.#entries.set(id, { stored: { ...span, fields: request }, updates: [], isForgotten: false });
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

  forgottenMany(filter: Omit<ForgetMany, keyof Span>, span: Span): void {
    this.#forgets.push({ ...filter, ...span });
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
    compare('expires_at', found.expires_at, last('expires_at').map(asTime));
    compare('source', found.source, [entry.stored.fields.source ?? 'api']);
    compare('session_id', found.session_id, [entry.stored.fields.session_id ?? 'default']);
    compare('supersedes', found.supersedes, [...this.#correctedBy(entry), null]);
    if (entry.stored.fields.created_at)
      compare('created_at', found.created_at, [asTime(entry.stored.fields.created_at)]);
    // The survivor of a merge has gained from its twins.
    if (this.#hasTwin(entry)) return wrong;
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

  /** What a memory may correct: what it was stored to, and where that may be gone, what that corrected. */
  #correctedBy(entry: Entry): string[] {
    const corrected: string[] = [];
    for (let id = entry.stored.fields.supersedes; id !== undefined; ) {
      corrected.push(id);
      const next = this.#entries.get(id);
      id = next && this.#mayBeGone(next) ? next.stored.fields.supersedes : undefined;
    }
    return corrected;
  }

  #mustBeGone(entry: Entry): boolean {
    const expiries = lastWritten(entry, 'expires_at');
    if (entry.isForgotten || expiries.every((at) => at && Date.parse(at) < Date.now())) return true;
    return this.#forgets.some(
      (forget) => entry.stored.end < forget.start && entry.updates.length === 0 && selects(forget, entry.stored.fields),
    );
  }

  #mayBeGone(entry: Entry): boolean {
    if (this.#mustBeGone(entry)) return true;
    if (lastWritten(entry, 'expires_at').some((at) => at && Date.parse(at) < Date.now())) return true;
    // A twin takes the memory along, whatever selected the twin.
    const twins = [...this.#twinsOf(entry)];
    const later = this.#forgets.filter((forget) => forget.end > entry.stored.start);
    const states = twins.flatMap(writesOf);
    return (
      twins.some((twin) => twin.isForgotten) || later.some((forget) => states.some((state) => selects(forget, state)))
    );
  }

  #hasTwin(entry: Entry): boolean {
    return this.#twinsOf(entry).size > 1;
  }

  /** Those that a consolidation may have taken for the same, itself among them. */
  #twinsOf(entry: Entry): Set<Entry> {
    this.#twins ??= groupTwins([...this.#entries.values()]);
    const groups = textsOf(entry).map((text) => this.#twins?.get(text) ?? new Set<Entry>());
    return new Set(groups.flatMap((group) => [...group]));
  }
}

function groupTwins(entries: Entry[]): Map<string, Set<Entry>> {
  const groups = new Map<string, Set<Entry>>();
  for (const entry of entries) {
    for (const text of textsOf(entry)) groups.set(text, (groups.get(text) ?? new Set()).add(entry));
  }
  return groups;
}

/** The texts that a memory has had, with its session, as consolidation compares them. */
function textsOf({ stored, updates }: Entry): string[] {
  const session = stored.fields.session_id ?? 'default';
  const contents = [stored, ...updates].flatMap(({ fields }) => fields.content ?? []);
  return [...new Set(contents.map((content) => `${session}\n${content.normalize('NFC').trim()}`))];
}

/** Every state of the fields that a forget of many looks at. */
function writesOf({ stored, updates }: Entry): Fields[] {
  return [stored.fields, ...updates.map(({ fields }) => ({ ...stored.fields, ...fields }))];
}

function selects({ session_id, source, tag, before }: Omit<ForgetMany, keyof Span>, fields: Fields): boolean {
  const createdMs = fields.created_at === undefined ? Date.now() : Date.parse(fields.created_at);
  return (
    (session_id === undefined || session_id === (fields.session_id ?? 'default')) &&
    (source === undefined || source === (fields.source ?? 'api')) &&
    (tag === undefined || (fields.tags ?? []).includes(tag)) &&
    (before === undefined || createdMs < Date.parse(before))
  );
}

/** What a field may be in the end: of writes side by side, any may have been the last. */
function lastWritten<Field extends keyof Fields>({ stored, updates }: Entry, field: Field): Fields[Field][] {
  const writes = [stored, ...updates.filter(({ fields }) => fields[field] !== undefined)];
  return writes.filter(({ end }) => !writes.some((other) => other.start > end)).map(({ fields }) => fields[field]);
}

function asTime(text: string | null | undefined): string | null {
  return text ? new Date(text.replace('z', 'Z')).toISOString() : null;
}

/** The JSON text of a value with the fields of its objects in order, and numbers as JSON has them. */
function canonical(value: unknown): string | undefined {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? { fields: Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)) }
      : inner,
  );
}
