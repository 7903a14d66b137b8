import { MemoryError } from '@memoryd/contract/errors';
import type { EmbedPurpose } from '../ports/embedder.ts';
import type { EmbeddedPart, EmbedPart } from './embed-part.ts';
import { windowAt } from './parts.ts';
import { QUERY_PARTS, vectorsOf } from './pool.ts';
import { AT_HAND } from './thread.ts';

/** Most calls that wait in a lane: a query takes a millisecond, a memory of 1 MiB many seconds. */
export const LANE_LIMITS: Record<EmbedPurpose, number> = { query: 256, memory: 16 };

/** A call under way: `vectors` holds what is done, `parts` what is done of the text after that. */
interface Job {
  texts: readonly string[];
  purpose: EmbedPurpose;
  vectors: Float32Array[][];
  parts: EmbeddedPart[];
  from: number;
  resolve(vectors: Float32Array[][]): void;
  reject(error: unknown): void;
}

/**
 * Two lanes before one model, which lets queries go first: a query waits for one stretch of a memory's part at most.
 * Calls in a lane take turns part by part, so a long text holds up nobody.
 */
export class Lanes {
  readonly #embedPart: EmbedPart;
  readonly #waiting: Record<EmbedPurpose, Job[]> = { query: [], memory: [] };
  readonly #underWay: Record<EmbedPurpose, Set<Promise<void>>> = { query: new Set(), memory: new Set() };
  #closed = false;

  constructor(embedPart: EmbedPart) {
    this.#embedPart = embedPart;
  }

  /** UNAVAILABLE when the lane is full or closed; any other error is the model's. */
  embed(texts: readonly string[], purpose: EmbedPurpose): Promise<Float32Array[][]> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(closedError());
      if (this.#waiting[purpose].length >= LANE_LIMITS[purpose]) {
        return reject(busyError());
      }
      if (texts.length === 0) return resolve([]);
      this.#waiting[purpose].push({ texts, purpose, vectors: [], parts: [], from: 0, resolve, reject });
      this.#goOn(purpose);
    });
  }

  /** Rejects every call that waits or is under way, and resolves when the model is at rest. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const lane of Object.values(this.#waiting)) for (const job of lane.splice(0)) job.reject(closedError());
    await Promise.all(Object.values(this.#underWay).flatMap((steps) => [...steps]));
  }

  #goOn(purpose: EmbedPurpose): void {
    const steps = this.#underWay[purpose];
    while (steps.size < AT_HAND[purpose]) {
      const job = this.#waiting[purpose].shift();
      if (!job) return;
      const step = this.#advance(job).then(() => {
        steps.delete(step);
        this.#goOn(purpose);
      });
      steps.add(step);
    }
  }

  async #advance(job: Job): Promise<void> {
    try {
      await this.#step(job);
      if (this.#closed) job.reject(closedError());
      else if (job.vectors.length === job.texts.length) job.resolve(job.vectors);
      else this.#waiting[job.purpose].push(job);
    } catch (error) {
      job.reject(error);
    }
  }

  async #step(job: Job): Promise<void> {
    const text = job.texts[job.vectors.length] as string;
    const part = await this.#embedPart(windowAt(text, job.from), job.purpose);
    job.from += part.length;
    const done = job.from >= text.length || (job.purpose === 'query' && job.parts.length + 1 === QUERY_PARTS);
    // A part of white space, or of characters that the model does not know, says nothing.
    if (part.tokens > 0) job.parts.push(part);
    if (!done) return;
    job.vectors.push(vectorsOf(job.parts, job.purpose));
    job.parts = [];
    job.from = 0;
  }
}

/** What a call to a closed embedder gets. */
export function closedError(): MemoryError {
  return new MemoryError('UNAVAILABLE', 'the embedder is closed');
}

/** What a call gets while as many wait as may. */
export function busyError(): MemoryError {
  return new MemoryError('UNAVAILABLE', 'too many texts wait to be embedded');
}
