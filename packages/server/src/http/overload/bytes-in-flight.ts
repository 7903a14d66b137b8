import { Socket } from 'node:net';
import { MemoryError } from '@memoryd/contract';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Bytes of bodies that arrive or are worked on, and of answers that are not yet taken: four of the largest there can be. */
const BODIES_LIMIT = 256 * 1024 * 1024;
const ANSWERS_LIMIT = 256 * 1024 * 1024;

/** What the bodies of one namespace may take of it: whoever sends much, or slowly, keeps no other away. */
const SHARE = 1 / 2;

/** An answer that fits the system's buffer leaves at once, whoever reads it. */
const SMALL_ANSWER_BYTES = 64 * 1024;

/** Longest time for taking a large answer: 64 MiB at 220 KiB a second. */
const ANSWER_TAKEN_MS = 300_000;

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

/** Bytes that namespaces hold of a limit. */
class HeldBytes {
  readonly #limit: number;
  readonly #of = new Map<string, number>();
  #all = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Answers what gives them back; nothing where there is no room for them. */
  take(namespace: string, bytes: number): (() => void) | undefined {
    const own = this.#of.get(namespace) ?? 0;
    // One alone may be of any size.
    if (this.#all + bytes > this.#limit || (own > 0 && own + bytes > this.#limit * SHARE)) return undefined;
    this.#add(namespace, bytes);
    return () => this.#add(namespace, -bytes);
  }

  #add(namespace: string, bytes: number): void {
    const own = (this.#of.get(namespace) ?? 0) + bytes;
    if (own > 0) this.#of.set(namespace, own);
    else this.#of.delete(namespace);
    this.#all += bytes;
  }
}

/** What a body will take: what the request says, or the most it may, which a body of unknown length has to stay below. */
function bodyBytes({ raw: { headers }, routeOptions: { bodyLimit } }: FastifyRequest): number {
  if (headers['transfer-encoding'] !== undefined) return bodyLimit;
  return Math.min(Number(headers['content-length'] ?? 0), bodyLimit);
}

/**
 * Makes heavy requests UNAVAILABLE while answers that were not taken hold too much memory, and ends the connection of a
 * reader who takes nothing of an answer for `idleMs`, or has not taken all of a large one in time.
 */
export function limitAnswers(app: FastifyInstance, idleMs: number, limitBytes = ANSWERS_LIMIT): void {
  let held = 0;
  app.addHook('onRequest', ({ routeOptions }, _reply, done) => {
    done(routeOptions.config.heavy !== undefined && held > limitBytes ? tooMuch('waits to be read') : undefined);
  });
  app.addHook('onSend', (_request, { raw }, payload, done) => {
    const bytes = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload.length : 0;
    // Not where a request was made without a connection.
    if (raw.socket instanceof Socket) raw.setTimeout(idleMs);
    // A reader who has gone closes nothing any more.
    if (bytes > SMALL_ANSWER_BYTES && !raw.destroyed) {
      held += bytes;
      const late = setTimeout(() => raw.destroy(), ANSWER_TAKEN_MS);
      raw.once('close', () => {
        held -= bytes;
        clearTimeout(late);
      });
    }
    done();
  });
}

function tooMuch(what: string): MemoryError {
  return new MemoryError('UNAVAILABLE', `too much ${what} at a time`);
}
