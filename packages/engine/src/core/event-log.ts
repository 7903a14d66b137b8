import { assertValid, checkOf, EventsRequest, LIMITS, MemoryError, MemoryEvent } from '@memoryd/contract';
import { NOTICE_BYTES, type Notices } from '../ports/coordination.ts';
import type { Clock, IdSource } from '../ports/runtime.ts';
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

const eventProblems = checkOf(MemoryEvent, 'event');
const check = checkOf(EventsRequest, 'request');

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
        const told = toldOf(text);
        if (told) this.#add(told);
        // Another version, or anybody who may use the database, has said what nobody here can tell.
        else this.#begin();
      },
      missed: () => this.#begin(),
    });
  }

  /** Tells that something was done with memories; of many, the first are named. */
  publishMemories(
    namespace: string,
    type: 'stored' | 'updated' | 'forgotten' | 'recalled',
    ids: readonly string[],
    count = ids.length,
  ): void {
    this.publish(namespace, { type, memory_ids: ids.slice(0, LIMITS.eventIds), count });
  }

  publish(namespace: string, happening: Happening): void {
    const told = { namespace, at: toTimestamp(this.#clock.now()), happening };
    this.#add(told);
    this.#notices?.tell('events', noticeOf(told));
  }

  #add({ namespace, at, happening }: Told): void {
    const backlog = this.#backlogOf(namespace);
    this.#backlogs.delete(namespace);
    this.#backlogs.set(namespace, backlog);
    backlog.add(happening, at);
  }

  /**
   * See `MemoryApi.events`. A reader who falls behind by more than is kept comes to the end of the stream, and may come
   * back. UNAVAILABLE when too many streams are open, or too many of the namespace.
   */
  follow(namespace: string, request: EventsRequest = {}, signal?: AbortSignal): AsyncIterable<MemoryEvent> {
    assertValid(check, request);
    if (this.#closed) throw new MemoryError('UNAVAILABLE', 'the service is stopping');
    const own = this.#backlogs.get(namespace)?.streams.size ?? 0;
    const { maxStreams, maxStreamsOfNamespace } = this.#limits;
    if (this.#streams >= maxStreams) throw tooManyStreams(maxStreams, 'maxEventStreams');
    if (own >= maxStreamsOfNamespace) {
      throw tooManyStreams(maxStreamsOfNamespace, 'maxEventStreamsPerNamespace');
    }
    const backlog = this.#backlogOf(namespace);
    const stream = new EventStream(backlog, request, toTimestamp(this.#clock.now()), () => {
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

  #backlogOf(namespace: string): Backlog {
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
function noticeOf(told: Told): string {
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
function toldOf(text: string): Told | undefined {
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
    const event = { id: this.idOf(this.next), at, ...happening };
    this.#events.push(event);
    this.#named += namedIn(event);
    while (this.#events.length > BACKLOG_EVENTS || this.#named > BACKLOG_IDS) {
      this.#named -= namedIn(this.#events.shift() as MemoryEvent);
      this.first++;
    }
    for (const stream of this.streams) stream.wake();
  }

  idOf(number: number): string {
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

/** One reader's way through a backlog; to be asked for one event after the other. */
class EventStream implements AsyncIterableIterator<MemoryEvent> {
  readonly #backlog: Backlog;
  readonly #types: EventsRequest['type'];
  readonly #onEnd: () => void;
  #gap: MemoryEvent | undefined;
  #place: number;
  #ended = false;
  #wake: (() => void) | undefined;

  constructor(backlog: Backlog, { type, last_event_id: seen }: EventsRequest, at: string, onEnd: () => void) {
    this.#backlog = backlog;
    this.#types = type;
    this.#onEnd = onEnd;
    const place = seen === undefined ? backlog.next : backlog.after(seen);
    // What is kept follows a gap, so that as little as possible is missed.
    this.#place = place ?? backlog.first;
    if (place === undefined) this.#gap = { id: backlog.idOf(this.#place - 1), at, type: 'gap' };
  }

  async next(): Promise<IteratorResult<MemoryEvent>> {
    while (!this.#ended) {
      const value = this.#take();
      if (value) return { value, done: false };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return { value: undefined, done: true };
  }

  #take(): MemoryEvent | undefined {
    const gap = this.#gap;
    this.#gap = undefined;
    if (gap) return gap;
    while (this.#place < this.#backlog.next) {
      const event = this.#backlog.at(this.#place++);
      if (event.type === 'gap' || (this.#types?.includes(event.type) ?? true)) return event;
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
