import { assertValid, createCheck, EventsRequest, LIMITS, MemoryError, MemoryEvent } from '@memoryd/contract';
import { NOTICE_BYTES, type Notices } from '../ports/coordination.ts';
import type { Clock, IdSource, Seal } from '../ports/runtime.ts';
import type { OwnedCount, Owner, OwnerFilter } from '../ports/storage-owner.ts';
import { belongsTo, groupedByOwner, isLimited } from './owner.ts';
import { toOwner, toOwnerFilter } from './owner-request.ts';
import { toTimestamp } from './time.ts';

/** Events of a namespace that are kept for readers who come back, and most ids of memories that they name in all. */
const BACKLOG_EVENTS = 1024;
const BACKLOG_IDS = 16 * 1024;

/** Limits of streams, without which a reader that opens more and more would keep others from being heard. */
export interface EventLimits {
  maxStreams: number;
  maxStreamsOfNamespace: number;
}

interface EventLogOptions extends Partial<EventLimits> {
  notices?: Notices | undefined;
}

const DEFAULT_LIMITS: EventLimits = { maxStreams: 96, maxStreamsOfNamespace: 64 };

/** Namespaces whose events are kept beside those with a stream, so that one without a stream can go. */
const FURTHER_NAMESPACES = 32;

type Without<Event, Field extends PropertyKey> = Event extends unknown ? Omit<Event, Field> : never;

/** An event before it has its place and time. */
type Happening = Without<Exclude<MemoryEvent, { type: 'gap' }>, 'id' | 'at'>;

/** How far a run of consolidation is. */
export type RunProgress = Omit<Extract<Happening, { type: 'consolidation' }>, 'type'>;

/** An event as processes that share a database tell each other of it. */
interface Told {
  namespace: string;
  at: string;
  happening: Happening;
}

const eventProblems = createCheck(MemoryEvent, 'event');
const check = createCheck(EventsRequest, 'request');

function tooManyStreams(most: number, option: string): MemoryError {
  return new MemoryError('UNAVAILABLE', `too many streams of events are open: at most ${most} may be (${option})`);
}

/**
 * What lately happened in each namespace, told to whoever follows: in this process and, where there are notices, in
 * those that share the database.
 */
export class EventLog {
  readonly #clock: Clock;
  readonly #ids: IdSource;
  /** By namespace, the one that was quiet for longest first. */
  readonly #backlogs = new Map<string, Backlog>();
  readonly #notices: Notices | undefined;
  readonly #limits: EventLimits;
  #streams = 0;
  #closed = false;

  constructor(clock: Clock, ids: IdSource, { notices, ...limits }: EventLogOptions = {}) {
    this.#clock = clock;
    this.#ids = ids;
    this.#notices = notices;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
  }

  /** Begins to hear of what other processes do. */
  async start(): Promise<void> {
    await this.#notices?.hear('events', {
      heard: (text) => {
        const told = getTold(text);
        if (told) this.#add(told);
        // Another version, or anybody who may use the database, has said what nobody here can tell.
        else this.#begin();
      },
      missed: () => this.#begin(),
    });
  }

  /** Tells that something was done with memories: those of each user and agent in an event, of many the first by name. */
  publishMemories(
    namespace: string,
    type: 'stored' | 'updated' | 'forgotten' | 'recalled',
    memories: readonly (Owner & { id: string })[],
  ): void {
    for (const [owner, owned] of groupedByOwner(memories)) {
      const ids = owned.slice(0, LIMITS.eventIds).map(({ id }) => id);
      this.publish(namespace, { type, ...toOwner(owner), memory_ids: ids, count: owned.length });
    }
  }

  /**
   * Tells that a recall was answered, with nothing too. One for a user is told of that user alone, even if others share what
   * it found.
   */
  publishRecalled(namespace: string, memories: readonly (Owner & { id: string })[], of: OwnerFilter): void {
    if (!isLimited(of) && memories.length > 0) {
      this.publishMemories(namespace, 'recalled', memories);
      return;
    }
    const owner = toOwner({ userId: of.userIds?.[0] ?? '', agentId: of.agentIds?.[0] ?? '' });
    const ids = memories.slice(0, LIMITS.eventIds).map(({ id }) => id);
    this.publish(namespace, { type: 'recalled', ...owner, memory_ids: ids, count: memories.length });
  }

  /** Tells that so many memories that nobody names are gone. */
  publishCounts(namespace: string, type: 'forgotten', owned: readonly OwnedCount[]): void {
    for (const [owner, counts] of groupedByOwner(owned)) {
      const count = counts.reduce((sum, some) => sum + some.count, 0);
      this.publish(namespace, { type, ...toOwner(owner), memory_ids: [], count });
    }
  }

  publish(namespace: string, happening: Happening): void {
    const told = { namespace, at: toTimestamp(this.#clock.now()), happening };
    this.#add(told);
    this.#notices?.tell('events', getNotice(told));
  }

  #add({ namespace, at, happening }: Told): void {
    const backlog = this.#getBacklog(namespace);
    this.#backlogs.delete(namespace);
    this.#backlogs.set(namespace, backlog);
    backlog.add(happening, at);
  }

  /**
   * See `MemoryApi.events`. A reader who falls behind by more than is kept comes to the end of the stream, and may come
   * back. UNAVAILABLE when too many streams are open, or too many of the namespace.
   *
   * @param seal makes ids of events for a reader who sees those of some users alone, and may not count the others
   */
  follow(seal: Seal, namespace: string, request: EventsRequest = {}, signal?: AbortSignal): AsyncIterable<MemoryEvent> {
    assertValid(check, request);
    if (this.#closed) throw new MemoryError('UNAVAILABLE', 'the service is stopping');
    const own = this.#backlogs.get(namespace)?.streams.size ?? 0;
    const { maxStreams, maxStreamsOfNamespace } = this.#limits;
    if (this.#streams >= maxStreams) throw tooManyStreams(maxStreams, 'maxEventStreams');
    if (own >= maxStreamsOfNamespace) {
      throw tooManyStreams(maxStreamsOfNamespace, 'maxEventStreamsPerNamespace');
    }
    const backlog = this.#getBacklog(namespace);
    const stream = new EventStream({ backlog, seal }, request, toTimestamp(this.#clock.now()), () => {
      this.#streams--;
      backlog.streams.delete(stream);
      signal?.removeEventListener('abort', end);
    });
    const end = () => stream.end();
    this.#streams++;
    backlog.streams.add(stream);
    if (signal?.aborted) end();
    signal?.addEventListener('abort', end);
    return stream;
  }

  // What was missed is a gap for every reader, who is told of it when they come back.
  #begin(): void {
    this.#endStreams();
    this.#backlogs.clear();
  }

  /** Ends all streams. */
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
    // A new name each time, so that places in one that was dropped are not taken for places in this one.
    const backlog = new Backlog(this.#ids.next());
    this.#backlogs.set(namespace, backlog);
    if (this.#backlogs.size > this.#limits.maxStreams + FURTHER_NAMESPACES) this.#dropOldest();
    return backlog;
  }

  #dropOldest(): void {
    for (const [namespace, { streams }] of this.#backlogs) {
      if (streams.size > 0) continue;
      this.#backlogs.delete(namespace);
      return;
    }
  }
}

/** Fewer ids, where they are so long that not as many fit. */
function getNotice(told: Told): string {
  const { happening } = told;
  const count = 'memory_ids' in happening ? happening.memory_ids.length : 0;
  for (let most = count; ; most = Math.floor(most / 2)) {
    const named =
      'memory_ids' in happening ? { ...happening, memory_ids: happening.memory_ids.slice(0, most) } : happening;
    const text = JSON.stringify({ ...told, happening: named });
    if (most === 0 || new TextEncoder().encode(text).length <= NOTICE_BYTES) return text;
  }
}

/** What a notice tells; undefined where it is none that this version makes. */
function getTold(text: string): Told | undefined {
  try {
    const told = JSON.parse(text) as Told;
    const isEvent = eventProblems({ ...told.happening, id: '', at: told.at }).length === 0;
    return isEvent && typeof told.namespace === 'string' ? told : undefined;
  } catch {
    return undefined;
  }
}

/** The last events of a namespace, numbered from 1; an event's id is the backlog's name and its number. */
class Backlog {
  readonly streams = new Set<EventStream>();
  readonly #name: string;
  readonly #events: MemoryEvent[] = [];
  #named = 0;
  /** Number of the first event that is kept. */
  first = 1;

  constructor(name: string) {
    this.#name = name;
  }

  /** Number of the next event. */
  get next(): number {
    return this.first + this.#events.length;
  }

  at(number: number): MemoryEvent {
    return this.#events[number - this.first] as MemoryEvent;
  }

  add(happening: Happening, at: string): void {
    const event = { id: this.getId(this.next), at, ...happening };
    this.#events.push(event);
    this.#named += namedIn(event);
    while (this.#events.length > BACKLOG_EVENTS || this.#named > BACKLOG_IDS) {
      this.#named -= namedIn(this.#events.shift() as MemoryEvent);
      this.first++;
    }
    for (const stream of this.streams) stream.wake();
  }

  getId(number: number): string {
    return `${this.#name}.${number}`;
  }

  /** Number of the event after one that was seen; undefined where that one is not known any more. */
  after(id: string): number | undefined {
    const [, name, number] = /^(.*)\.([0-9]{1,15})$/s.exec(id) ?? [];
    const next = Number(number) + 1;
    return name === this.#name && next >= this.first && next <= this.next ? next : undefined;
  }
}

function namedIn(event: MemoryEvent): number {
  return 'memory_ids' in event ? event.memory_ids.length : 0;
}

/** Whether an event is about memories of some users and agents; a consolidation is about those of all. */
function isOfOwners(event: MemoryEvent, of: OwnerFilter): boolean {
  if (!isLimited(of)) return true;
  if (!('memory_ids' in event) || isOfNobody(event)) return false;
  return belongsTo({ userId: event.user_id ?? '', agentId: event.agent_id ?? '' }, of);
}

/** Whether an event tells of a recall of the whole namespace that found nothing. */
function isOfNobody({ type, user_id, agent_id, count }: Extract<MemoryEvent, { memory_ids: string[] }>): boolean {
  return type === 'recalled' && count === 0 && user_id === undefined && agent_id === undefined;
}

/** The purpose of sealed ids of events, and their length before they are sealed: one for all, so that it tells no number. */
const SEALED_FOR = 'event';
const ID_CHARS = 64;

/** One reader's way through a backlog; to be asked for one event after the other. */
class EventStream implements AsyncIterableIterator<MemoryEvent> {
  readonly #backlog: Backlog;
  readonly #types: EventsRequest['type'];
  readonly #of: OwnerFilter;
  /** Undefined for a reader who sees all events. */
  readonly #seal: Seal | undefined;
  readonly #onEnd: () => void;
  #gap: MemoryEvent | undefined;
  #place: number;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(
    { backlog, seal }: { backlog: Backlog; seal: Seal },
    request: EventsRequest,
    at: string,
    onEnd: () => void,
  ) {
    const { type, last_event_id } = request;
    this.#backlog = backlog;
    this.#types = type;
    this.#of = toOwnerFilter(request);
    this.#onEnd = onEnd;
    this.#seal = isLimited(this.#of) ? seal : undefined;
    const seen = last_event_id === undefined ? undefined : this.#opened(last_event_id);
    const place = seen === undefined ? backlog.next : backlog.after(seen);
    // What is kept follows a gap, so that as little as possible is missed.
    this.#place = place ?? backlog.first;
    if (place === undefined) this.#gap = { id: backlog.getId(this.#place - 1), at, type: 'gap' };
  }

  async next(): Promise<IteratorResult<MemoryEvent>> {
    while (!this.#ended) {
      const value = this.#take();
      if (value) return { value: this.#sealed(value), done: false };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return { value: undefined, done: true };
  }

  #sealed(event: MemoryEvent): MemoryEvent {
    return this.#seal ? { ...event, id: this.#seal.seal(event.id.padEnd(ID_CHARS), SEALED_FOR) } : event;
  }

  /** Returns the id of an event that a reader has seen; an empty one, which is not known, where it was not made for them. */
  #opened(id: string): string {
    return this.#seal ? (this.#seal.open(id, SEALED_FOR)?.trimEnd() ?? '') : id;
  }

  #take(): MemoryEvent | undefined {
    const gap = this.#gap;
    this.#gap = undefined;
    if (gap) return gap;
    while (this.#place < this.#backlog.next) {
      const event = this.#backlog.at(this.#place++);
      if (event.type === 'gap') return event;
      if ((this.#types?.includes(event.type) ?? true) && isOfOwners(event, this.#of)) return event;
    }
    return undefined;
  }

  /** To be called when something has happened. A reader who has fallen behind what is kept comes to the end. */
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
