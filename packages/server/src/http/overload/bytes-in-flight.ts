import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { MemoryError } from '@memoryd/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Bytes of bodies that arrive or are worked on, and of answers that are not yet taken: four of the largest there can be. */
const BODIES_LIMIT = 256 * 1024 * 1024;
const ANSWERS_LIMIT = 256 * 1024 * 1024;

/** What one namespace may take of either: whoever sends or reads much, or slowly, keeps no other away. */
const SHARE = 1 / 2;

/** An answer that fits the system's buffer leaves at once, whoever reads it. */
const SMALL_ANSWER_BYTES = 64 * 1024;

/** Longest time for taking a large answer: 64 MiB at 220 KiB a second. */
const ANSWER_TAKEN_MS = 300_000;

/** Methods that change nothing, so that what they would have answered may be asked for again. */
const READING_METHODS = new Set(['GET', 'HEAD']);

declare module 'fastify' {
  interface FastifyInstance {
    /** Room for answers that are made in parts, each of which counts from when it is made. */
    answerRoom: AnswerRoom;
  }
}

interface AnswerRoom {
  /** UNAVAILABLE while the namespace, or all together, hold as much as they may. */
  assert(namespace: string): void;
  /** Counts a part of an answer until that has been taken or given up. */
  hold(namespace: string, response: ServerResponse, bytes: number): void;
}

/**
 * Makes requests with a body UNAVAILABLE while earlier ones, until they are answered, hold too much memory, or those of the
 * same namespace hold half as much. Bodies of heavy requests count apart, so that a few slow ones keep no others away.
 */
export function limitBodies(app: FastifyInstance, limitBytes = BODIES_LIMIT): void {
  const held = { heavy: new HeldBytes(limitBytes), other: new HeldBytes(limitBytes) };
  app.addHook('onRequest', (request, { raw }, done) => {
    const kind = request.routeOptions.config.heavy === undefined ? 'other' : 'heavy';
    const bytes = bodyBytes(request);
    // A caller who has gone while waiting for a turn closes nothing any more.
    if (bytes === 0 || raw.destroyed) return done();
    const release = held[kind].take(request.caller.namespace, bytes);
    if (!release) return done(tooMuch('is being sent'));
    raw.once('close', release);
    done();
  });
}

/** Bytes that namespaces hold of a limit. What one holds beyond its share keeps no other away. */
class HeldBytes {
  readonly #limit: number;
  readonly #share: number;
  readonly #of = new Map<string, number>();
  #all = 0;

  constructor(limit: number) {
    this.#limit = limit;
    this.#share = limit * SHARE;
  }

  /** Answers what gives them back; nothing where there is no room for them. */
  take(namespace: string, bytes: number): (() => void) | undefined {
    const own = this.#own(namespace);
    // One alone may be of any size.
    if (own > 0 && own + bytes > this.#share) return undefined;
    if (this.#all + this.#counted(own + bytes) - this.#counted(own) > this.#limit) return undefined;
    return this.hold(namespace, bytes);
  }

  /** Takes them whether or not there is room, and answers what gives them back. */
  hold(namespace: string, bytes: number): () => void {
    this.#add(namespace, bytes);
    return () => this.#add(namespace, -bytes);
  }

  /** Whether a namespace may hold nothing more. */
  isFull(namespace: string): boolean {
    return this.#all >= this.#limit || this.#own(namespace) >= this.#share;
  }

  #own(namespace: string): number {
    return this.#of.get(namespace) ?? 0;
  }

  #counted(own: number): number {
    return Math.min(own, this.#share);
  }

  #add(namespace: string, bytes: number): void {
    const before = this.#own(namespace);
    const own = before + bytes;
    if (own > 0) this.#of.set(namespace, own);
    else this.#of.delete(namespace);
    this.#all += this.#counted(own) - this.#counted(before);
  }
}

/** What a body will take: what the request says, or the most it may, which a body of unknown length has to stay below. */
function bodyBytes({ raw: { headers }, routeOptions: { bodyLimit } }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return bodyLimit;
  return Math.min(Number(headers['content-length'] ?? 0), bodyLimit);
}

/**
 * Makes heavy requests UNAVAILABLE while answers that were not taken hold too much memory, or those of the same namespace
 * half as much, and large answers to whoever only reads; ends the connection of a reader who takes nothing of an answer for
 * `idleMs`, or has not taken all of a large one in time.
 */
export function limitAnswers(app: FastifyInstance, idleMs: number, limitBytes = ANSWERS_LIMIT): void {
  const held = new HeldBytes(limitBytes);
  app.decorate('answerRoom', getRoom(held));
  app.addHook('onRequest', ({ caller, routeOptions }, _reply, done) => {
    const isRefused = routeOptions.config.heavy !== undefined && held.isFull(caller.namespace);
    done(isRefused ? tooMuch('waits to be read') : undefined);
  });
  app.addHook('onSend', ({ caller, method }, { raw }, payload, done) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
    // Not where a request was made without a connection.
    if (raw.socket instanceof Socket) raw.setTimeout(idleMs);
    // A reader who has gone closes nothing any more.
    if (bytes <= SMALL_ANSWER_BYTES || raw.destroyed) return done();
    // What has been written is told, or it would be written again.
    const { namespace } = caller;
    const release = READING_METHODS.has(method) ? held.take(namespace, bytes) : held.hold(namespace, bytes);
    if (!release) return done(tooMuch('waits to be read'));
    const late = setTimeout(() => raw.destroy(), ANSWER_TAKEN_MS);
    raw.once('close', () => {
      release();
      clearTimeout(late);
    });
    done();
  });
}

function getRoom(held: HeldBytes): AnswerRoom {
  /** What gives back the parts of an answer that has not been taken. */
  const releases = new WeakMap<ServerResponse, (() => void)[]>();
  return {
    assert(namespace) {
      if (held.isFull(namespace)) throw tooMuch('waits to be read');
    },
    hold(namespace, response, bytes) {
      // A reader who has gone closes nothing any more.
      if (response.destroyed) return;
      const parts = releases.get(response) ?? [];
      parts.push(held.hold(namespace, bytes));
      if (parts.length > 1) return;
      releases.set(response, parts);
      response.once('close', () => {
        for (const release of parts) release();
      });
    },
  };
}

function tooMuch(what: string): MemoryError {
  return new MemoryError('UNAVAILABLE', `too much ${what} at a time`);
}
