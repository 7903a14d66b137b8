import {
  assertValid,
  createCheck,
  EventsRequest,
  type FilterCondition,
  LIMITS,
  MemoryError,
  MemoryEvent,
  PROJECT_TAG,
  type RedactedSecrets,
} from '@memoryd/contract';
import type { FilterFields, Owner, OwnerFilter } from '@memoryd/search';
import { belongsTo, groupByOwner, isLimited, meetsCondition, pickFilterFields } from '@memoryd/search';
import type { CountCache } from './count-cache.ts';
import { toPurpose } from './cursor.ts';
import { MAX_NOTICE_BYTES, type Notices } from './ports/coordination.ts';
import type { Clock, IdSource, Seal } from './ports/runtime.ts';
import { toCondition, toOwner, toOwnerFilter } from './request-filter.ts';
import { toTimestamp } from './time.ts';

/** Maximum events per namespace that are stored for clients that reconnect. */
const MAX_BACKLOG_EVENTS = 1024;

/** Maximum memory ids in the stored events of a namespace. */
const MAX_BACKLOG_IDS = 16 * 1024;

/** Maximum UTF-16 units of the fields of memories in all stored events. */
const MAX_FIELD_CHARS = 8 * 2 ** 20;

/**
 * Maximum number of open streams, in all and per namespace, so that one client cannot use up the streams of all others.
 */
export interface EventLimits {
  maxStreams: number;
  maxStreamsPerNamespace: number;
}

interface EventLogOptions extends Partial<EventLimits> {
  notices?: Notices | undefined;
  /** Dropped if memories that were stored before have changed or were forgotten, in any process. */
  counts?: CountCache | undefined;
}

const DEFAULT_LIMITS: EventLimits = { maxStreams: 96, maxStreamsPerNamespace: 64 };

/**
 * Number of backlogs that are stored in addition to the maximum number of streams. With more backlogs than streams, at
 * least one namespace has no stream, so that its backlog can be dropped.
 */
const IDLE_BACKLOGS = 32;

type Without<Event, Field extends PropertyKey> = Event extends unknown ? Omit<Event, Field> : never;

/** An event without its id and time. */
type EventBody = Without<Exclude<MemoryEvent, { type: 'gap' }>, 'id' | 'at'>;

/** The progress of a consolidation run. */
export type RunProgress = Omit<Extract<EventBody, { type: 'consolidation' }>, 'type'>;

/** The progress of an import. */
export type ImportProgress = Omit<Extract<EventBody, { type: 'import' }>, 'type' | 'user_id' | 'agent_id'>;

/** A memory of an event. `fields`: the `FilterFields` that it had just before the event, as JSON. */
interface EventMemory {
  id: string;
  fields: string;
}

/** An event as sent between processes that share a database. `memories`: see `StoredEvent`. */
interface EventNotice {
  namespace: string;
  at: string;
  happening: EventBody;
  memories?: EventMemory[] | undefined;
}

/** A stored event. `memories`: all memories of the event, also those that it only counts; undefined if unknown. */
interface StoredEvent {
  event: MemoryEvent;
  memories: EventMemory[] | undefined;
}

/** A memory of an event that is published. `redacted`: the secrets that were removed from a stored memory. */
type PublishedMemory = Owner & FilterFields & { id: string; redacted?: RedactedSecrets[] | undefined };

/** An event of memories without its id and time. */
type MemoriesBody = Extract<EventBody, { memory_ids: string[] }>;

/** The request for a context: its session and the project that its filter names, if any. */
export type ContextAsker = Pick<MemoriesBody, 'session_id' | 'project'>;

/** Purpose of sealed notices. Every role of a database can listen to its notices. */
const NOTICE_PURPOSE = 'event notice';

const checkEvent = createCheck(MemoryEvent, 'event');
const check = createCheck(EventsRequest, 'request');

function tooManyStreams(max: number, option: string): MemoryError {
  return new MemoryError(
    'UNAVAILABLE',
    `the maximum of ${max} open event streams is reached (${option}); close another stream and retry`,
  );
}

/**
 * The recent events of each namespace. Delivers new events to the streams of this process and, through notices, to the
 * other processes on the database.
 */
export class EventLog {
  readonly #clock: Clock;
  readonly #ids: IdSource;
  /** Backlogs by namespace, in the order of their last events or, without events, of their creation. */
  readonly #backlogs = new Map<string, Backlog>();
  readonly #notices: Notices | undefined;
  readonly #counts: CountCache | undefined;
  readonly #limits: EventLimits;
  #seal: Seal | undefined;
  #fields = new FieldStore();
  #streams = 0;
  #closed = false;

  constructor(clock: Clock, ids: IdSource, { notices, counts, ...limits }: EventLogOptions = {}) {
    this.#clock = clock;
    this.#ids = ids;
    this.#notices = notices;
    this.#counts = counts;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
  }

  /**
   * Subscribes to the events of other processes.
   *
   * @param seal seals the notices of events; equal in all processes
   */
  async start(seal: Seal): Promise<void> {
    this.#seal = seal;
    await this.#notices?.subscribe('events', {
      onNotice: (text) => {
        const notice = parseNotice(seal, text);
        if (notice) this.#add(notice);
        // The notice is unreadable: another version sent it, or another user of the database.
        else this.#reset();
      },
      onGap: () => this.#reset(),
    });
  }

  /** Publishes one event per user and agent. An event lists at most `LIMITS.eventIds` ids. */
  publishMemories(
    namespace: string,
    type: 'stored' | 'updated' | 'forgotten' | 'recalled',
    memories: readonly PublishedMemory[],
  ): void {
    for (const [owner, owned] of groupByOwner(memories)) {
      const origin = type === 'stored' ? getOrigin(owned) : {};
      this.#publishOne(namespace, { type, ...toOwner(owner), ...toList(owned), ...origin }, owned);
    }
  }

  /**
   * Publishes a recall, even one without results. A recall limited to a user or an agent is published for that user or
   * agent only, even if the recall returned shared memories. Otherwise the memories of each owner are an event of their
   * own, and only that of shared memories names the asker.
   *
   * @param asker the asker of a context; absent for a recall
   */
  publishRecalled(
    namespace: string,
    memories: readonly PublishedMemory[],
    of: OwnerFilter,
    asker?: ContextAsker,
  ): void {
    const publish = (owner: Owner, owned: readonly PublishedMemory[], named: ContextAsker = {}) => {
      const context = asker && { context: true as const, ...named };
      this.#publishOne(namespace, { type: 'recalled', ...toOwner(owner), ...toList(owned), ...context }, owned);
    };
    if (isLimited(of) || memories.length === 0) {
      publish({ userId: of.userIds?.[0] ?? '', agentId: of.agentIds?.[0] ?? '' }, memories, asker);
      return;
    }
    for (const [owner, owned] of groupByOwner(memories)) {
      publish(owner, owned, owner.userId === '' && owner.agentId === '' ? asker : {});
    }
  }

  /** Publishes how many memories were deleted, without their ids. */
  publishCounts(namespace: string, type: 'forgotten', memories: readonly PublishedMemory[]): void {
    for (const [owner, owned] of groupByOwner(memories)) {
      this.#publishOne(namespace, { type, ...toOwner(owner), memory_ids: [], count: owned.length }, owned);
    }
  }

  /** Publishes progress of a consolidation run. */
  publishProgress(namespace: string, progress: RunProgress): void {
    this.#publish({ namespace, at: this.#now(), happening: { type: 'consolidation', ...progress } });
  }

  /** Publishes progress of an import to clients that see its owner. */
  publishImport(namespace: string, owner: Owner, progress: ImportProgress): void {
    this.#publish({ namespace, at: this.#now(), happening: { type: 'import', ...toOwner(owner), ...progress } });
  }

  #publishOne(namespace: string, happening: EventBody, of: readonly PublishedMemory[]): void {
    const memories = this.#mayBeRead(namespace)
      ? of.map((memory) => ({ id: memory.id, fields: JSON.stringify(pickFilterFields(memory)) }))
      : undefined;
    this.#publish({ namespace, at: this.#now(), happening, memories });
  }

  /** Whether a client, of this or another process, has ever followed a namespace. Most namespaces are never followed. */
  #mayBeRead(namespace: string): boolean {
    return this.#notices !== undefined || (this.#backlogs.get(namespace)?.isFollowed ?? false);
  }

  #publish(notice: EventNotice): void {
    this.#add(notice);
    if (this.#notices && this.#seal) this.#notices.publish('events', formatNotice(this.#seal, notice));
  }

  #now(): string {
    return toTimestamp(this.#clock.now());
  }

  #add({ namespace, at, happening, memories }: EventNotice): void {
    if (happening.type === 'updated' || happening.type === 'forgotten') this.#counts?.drop(namespace);
    const backlog = this.#getBacklog(namespace);
    this.#backlogs.delete(namespace);
    this.#backlogs.set(namespace, backlog);
    backlog.add(happening, at, memories);
  }

  /**
   * See `MemoryApi.events`. A stream that falls behind the stored events ends; the client may reconnect. Throws
   * UNAVAILABLE after `close`, or if too many streams are open in all or in the namespace.
   *
   * @param seal seals event ids for clients that see some users only, so that ids do not reveal the number of other
   * events
   */
  follow(seal: Seal, namespace: string, request: EventsRequest = {}, signal?: AbortSignal): AsyncIterable<MemoryEvent> {
    assertValid(check, request);
    if (this.#closed) throw new MemoryError('UNAVAILABLE', 'the service is stopping; retry later');
    const own = this.#backlogs.get(namespace)?.streams.size ?? 0;
    const { maxStreams, maxStreamsPerNamespace } = this.#limits;
    if (this.#streams >= maxStreams) throw tooManyStreams(maxStreams, 'maxEventStreams');
    if (own >= maxStreamsPerNamespace) {
      throw tooManyStreams(maxStreamsPerNamespace, 'maxEventStreamsPerNamespace');
    }
    const backlog = this.#getBacklog(namespace);
    const from = { backlog, namespace, seal };
    const stream = new EventStream(from, request, this.#now(), () => {
      this.#streams--;
      backlog.streams.delete(stream);
      signal?.removeEventListener('abort', end);
    });
    const end = () => stream.end();
    this.#streams++;
    backlog.streams.add(stream);
    backlog.isFollowed = true;
    if (signal?.aborted) end();
    signal?.addEventListener('abort', end);
    return stream;
  }

  // Every client may have missed events, and gets a `gap` event when it reconnects.
  #reset(): void {
    this.#counts?.drop();
    this.#endStreams();
    this.#backlogs.clear();
    this.#fields = new FieldStore();
  }

  /** Ends all streams, and prevents new streams. */
  close(): void {
    this.#closed = true;
    this.#endStreams();
  }

  #endStreams(): void {
    for (const { streams } of this.#backlogs.values()) for (const stream of streams) stream.end();
  }

  #getBacklog(namespace: string): Backlog {
    const known = this.#backlogs.get(namespace);
    if (known) return known;
    // A new name for each backlog, so that ids from a dropped backlog are not mistaken for ids of this one.
    const backlog = new Backlog(this.#ids.next(), this.#fields);
    this.#backlogs.set(namespace, backlog);
    if (this.#backlogs.size > this.#limits.maxStreams + IDLE_BACKLOGS) this.#dropOldest();
    return backlog;
  }

  #dropOldest(): void {
    for (const [namespace, backlog] of this.#backlogs) {
      if (backlog.streams.size > 0) continue;
      backlog.clear();
      this.#backlogs.delete(namespace);
      return;
    }
  }
}

function toList(memories: readonly { id: string }[]): Pick<MemoriesBody, 'memory_ids' | 'count'> {
  return { memory_ids: memories.slice(0, LIMITS.eventIds).map(({ id }) => id), count: memories.length };
}

/** Returns where stored memories come from, as far as all of them agree, and the secrets removed from all of them. */
function getOrigin(memories: readonly PublishedMemory[]): Partial<MemoriesBody> {
  const getCommon = (get: (memory: PublishedMemory) => string | null | undefined) => {
    const first = memories[0] && get(memories[0]);
    return memories.every((memory) => get(memory) === first) ? (first ?? undefined) : undefined;
  };
  const source = getCommon((memory) => memory.source);
  const session_id = getCommon((memory) => memory.sessionId);
  const project = getCommon(getProject);
  const redacted = sumRedacted(memories.flatMap((memory) => memory.redacted ?? []));
  return {
    ...(source !== undefined && { source }),
    ...(session_id !== undefined && { session_id }),
    ...(project !== undefined && { project }),
    ...(redacted.length > 0 && { redacted }),
  };
}

function getProject({ metadata, tags }: PublishedMemory): string | undefined {
  const { project = tags.find((tag) => tag.startsWith(PROJECT_TAG))?.slice(PROJECT_TAG.length) } = metadata;
  return toEventProject(project);
}

/** Returns a project that fits into an event; undefined for any other value. */
export function toEventProject(project: unknown): string | undefined {
  const isProject = typeof project === 'string' && project !== '' && project.length <= LIMITS.projectChars;
  return isProject ? project : undefined;
}

function sumRedacted(all: readonly RedactedSecrets[]): RedactedSecrets[] {
  const counts = new Map<string, number>();
  for (const { kind, count } of all) counts.set(kind, (counts.get(kind) ?? 0) + count);
  return Array.from(counts, ([kind, count]) => ({ kind, count }));
}

/** Formats a notice. Omits the fields of memories that exceed `MAX_NOTICE_BYTES`. */
function formatNotice(seal: Seal, notice: EventNotice): string {
  const sealed = seal.seal(JSON.stringify(notice), NOTICE_PURPOSE);
  if (sealed.length <= MAX_NOTICE_BYTES) return sealed;
  const { memories: _, ...others } = notice;
  return seal.seal(JSON.stringify(others), NOTICE_PURPOSE);
}

/** Parses a notice; undefined if this version cannot read it. */
function parseNotice(seal: Seal, text: string): EventNotice | undefined {
  try {
    const notice = JSON.parse(seal.open(text, NOTICE_PURPOSE) ?? '') as EventNotice;
    const isEvent = checkEvent({ ...notice.happening, id: '', at: notice.at }).length === 0;
    return isEvent && typeof notice.namespace === 'string' ? notice : undefined;
  } catch {
    return undefined;
  }
}

/** The stored events with fields of memories. Drops the oldest fields beyond `MAX_FIELD_CHARS`. */
class FieldStore {
  readonly #events = new Set<StoredEvent>();
  #chars = 0;

  add(event: StoredEvent): void {
    if (!event.memories) return;
    this.#events.add(event);
    this.#chars += countChars(event);
    for (const oldest of this.#events) {
      if (this.#chars <= MAX_FIELD_CHARS) return;
      this.drop(oldest);
    }
  }

  drop(event: StoredEvent): void {
    if (this.#events.delete(event)) this.#chars -= countChars(event);
    event.memories = undefined;
  }
}

function countChars({ memories = [] }: StoredEvent): number {
  return memories.reduce((sum, { id, fields }) => sum + id.length + fields.length, 0);
}

/**
 * The last events of a namespace, numbered from 1. An event's id consists of the backlog's name and the event's number.
 */
class Backlog {
  readonly streams = new Set<EventStream>();
  isFollowed = false;
  readonly #name: string;
  readonly #fields: FieldStore;
  readonly #events: StoredEvent[] = [];
  #idCount = 0;
  /** Number of the first stored event. */
  first = 1;

  constructor(name: string, fields: FieldStore) {
    this.#name = name;
    this.#fields = fields;
  }

  /** Number of the next event. */
  get next(): number {
    return this.first + this.#events.length;
  }

  at(number: number): StoredEvent {
    return this.#events[number - this.first] as StoredEvent;
  }

  add(happening: EventBody, at: string, memories: EventMemory[] | undefined): void {
    const stored = { event: { id: this.getId(this.next), at, ...happening }, memories };
    this.#events.push(stored);
    this.#fields.add(stored);
    this.#idCount += countIds(stored);
    while (this.#events.length > MAX_BACKLOG_EVENTS || this.#idCount > MAX_BACKLOG_IDS) {
      const oldest = this.#events.shift() as StoredEvent;
      this.#idCount -= countIds(oldest);
      this.#fields.drop(oldest);
      this.first++;
    }
    for (const stream of this.streams) stream.wake();
  }

  /** Drops the fields of the memories of all events. */
  clear(): void {
    for (const event of this.#events) this.#fields.drop(event);
  }

  getId(number: number): string {
    return `${this.#name}.${number}`;
  }

  /** Returns the number of the event that follows the event `id`; undefined if `id` is unknown. */
  after(id: string): number | undefined {
    const [, name, number] = /^(.*)\.([0-9]{1,15})$/s.exec(id) ?? [];
    const next = Number(number) + 1;
    return name === this.#name && next >= this.first && next <= this.next ? next : undefined;
  }
}

function countIds({ event }: StoredEvent): number {
  return 'memory_ids' in event ? event.memory_ids.length : 0;
}

/**
 * Returns true if a client that is limited by `of` sees an event; always true without a limit. A limited client does
 * not see consolidation runs, and recalls over the whole namespace without results, because such events concern no
 * single user or agent.
 */
function concernsOwners(event: MemoryEvent, of: OwnerFilter): boolean {
  if (!isLimited(of)) return true;
  if (event.type === 'gap' || event.type === 'consolidation' || isEmptyNamespaceRecall(event)) return false;
  return belongsTo({ userId: event.user_id ?? '', agentId: event.agent_id ?? '' }, of);
}

/**
 * Returns an event with the memories that match a filter only, if any. Returns a gap if the fields of the memories are
 * unknown.
 */
function selectMatching(
  event: Exclude<MemoryEvent, { type: 'gap' }>,
  memories: readonly EventMemory[] | undefined,
  condition: FilterCondition,
): MemoryEvent | undefined {
  if (event.type === 'consolidation' || event.type === 'import') return undefined;
  if (!memories) return { id: event.id, at: event.at, type: 'gap' };
  const matches = memories.filter(({ fields }) => meetsCondition(JSON.parse(fields), condition));
  const ids = new Set(matches.map(({ id }) => id));
  if (ids.size === 0) return undefined;
  // The secrets may be those of the other memories.
  const { redacted, ...others } = event;
  const matching = { ...others, ...(redacted && ids.size === memories.length && { redacted }) };
  return { ...matching, memory_ids: event.memory_ids.filter((id) => ids.has(id)), count: ids.size };
}

/** Whether an event is a recall over the whole namespace without results. */
function isEmptyNamespaceRecall(event: Extract<MemoryEvent, { memory_ids: string[] } | { type: 'import' }>): boolean {
  if (event.type !== 'recalled') return false;
  return event.count === 0 && event.user_id === undefined && event.agent_id === undefined;
}

/** Length to which event ids are padded before sealing, so that the length does not reveal the event's number. */
const PADDED_ID_CHARS = 64;

/** One client's position in a backlog. `next` must not be called again before the previous call has resolved. */
class EventStream implements AsyncIterableIterator<MemoryEvent> {
  readonly #backlog: Backlog;
  readonly #types: EventsRequest['type'];
  readonly #of: OwnerFilter;
  readonly #condition: FilterCondition | undefined;
  /** Undefined for a client that sees all events. */
  readonly #seal: Seal | undefined;
  readonly #sealPurpose: string;
  readonly #onEnd: () => void;
  #gap: MemoryEvent | undefined;
  #place: number;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(
    { backlog, namespace, seal }: { backlog: Backlog; namespace: string; seal: Seal },
    request: EventsRequest,
    at: string,
    onEnd: () => void,
  ) {
    const { type, last_event_id } = request;
    this.#backlog = backlog;
    this.#types = type;
    this.#of = toOwnerFilter(request);
    this.#condition = toCondition(request).condition;
    this.#onEnd = onEnd;
    this.#seal = isLimited(this.#of) ? seal : undefined;
    this.#sealPurpose = toPurpose('events', { namespace, filters: this.#of });
    const seen = last_event_id === undefined ? undefined : this.#unsealId(last_event_id);
    const place = seen === undefined ? backlog.next : backlog.after(seen);
    // After a gap the stream continues with the first stored event, so that as few events as possible are missed.
    this.#place = place ?? backlog.first;
    if (place === undefined) this.#gap = { id: backlog.getId(this.#place - 1), at, type: 'gap' };
  }

  async next(): Promise<IteratorResult<MemoryEvent>> {
    while (!this.#ended) {
      const value = this.#take();
      if (value) return { value: this.#sealId(value), done: false };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return { value: undefined, done: true };
  }

  #sealId(event: MemoryEvent): MemoryEvent {
    return this.#seal ? { ...event, id: this.#seal.seal(event.id.padEnd(PADDED_ID_CHARS), this.#sealPurpose) } : event;
  }

  /**
   * Returns the plain id of an event. If the client is limited and the id was not sealed by `#sealId` for the same
   * namespace, users and agents, returns an empty text, which is the id of no event.
   */
  #unsealId(id: string): string {
    return this.#seal ? (this.#seal.open(id, this.#sealPurpose)?.trimEnd() ?? '') : id;
  }

  #take(): MemoryEvent | undefined {
    const gap = this.#gap;
    this.#gap = undefined;
    if (gap) return gap;
    while (this.#place < this.#backlog.next) {
      const event = this.#select(this.#backlog.at(this.#place++));
      if (event) return event;
    }
    return undefined;
  }

  /** Returns the part of an event that the client requested, if any. */
  #select({ event, memories }: StoredEvent): MemoryEvent | undefined {
    if (event.type === 'gap') return event;
    if (!(this.#types?.includes(event.type) ?? true) || !concernsOwners(event, this.#of)) return undefined;
    return this.#condition ? selectMatching(event, memories, this.#condition) : event;
  }

  /** Continues the stream after a new event. Ends the stream if the event at its position is no longer stored. */
  wake(): void {
    if (this.#place < this.#backlog.first) this.end();
    this.#wake?.();
  }

  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd();
    this.#wake?.();
  }

  async return(): Promise<IteratorResult<MemoryEvent>> {
    this.end();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}
