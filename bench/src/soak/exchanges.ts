import { performance } from 'node:perf_hooks';
import { Pool } from 'undici';

// Consolidations take turns with recalls.
const ANSWER_TIMEOUT_MS = 600_000;

/** A request under the name by which its figures are told. */
export interface SoakRequest {
  verb: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  path: string;
  headers?: Record<string, string>;
  json?: unknown;
  /** Error codes with which the service may answer it. */
  intended?: readonly string[];
}

/** Sends requests and keeps account of how long they took and of every error. */
export class Exchanges {
  /** Durations in milliseconds, by minute and verb. */
  readonly durationsMs: Map<string, number[]>[] = [];
  /** Errors by verb and code, such as `forget NOT_FOUND`. */
  readonly intended = new Map<string, number>();
  readonly unintended = new Map<string, number>();
  readonly #pool: Pool;
  #startMs = performance.now();

  constructor(origin: string, connections: number) {
    this.#pool = new Pool(origin, { connections, headersTimeout: ANSWER_TIMEOUT_MS, bodyTimeout: ANSWER_TIMEOUT_MS });
  }

  /** Forgets durations until now, and counts minutes from now on. Errors stay. */
  restart(): void {
    this.durationsMs.length = 0;
    this.#startMs = performance.now();
  }

  /** Minutes since the start, from 0. */
  get minute(): number {
    return Math.floor((performance.now() - this.#startMs) / 60_000);
  }

  /** The body of the answer; undefined where the service, or the way to it, answered with an error, which is counted. */
  async send<Body>({ verb, method, path, headers = {}, json, intended = [] }: SoakRequest): Promise<Body | undefined> {
    const sentAtMs = performance.now();
    try {
      const { statusCode, body } = await this.#pool.request({
        method,
        path,
        headers: { ...headers, ...(json !== undefined && { 'content-type': 'application/json' }) },
        ...(json !== undefined && { body: JSON.stringify(json) }),
      });
      const answer = (await body.json()) as Body & { error?: { code: string } };
      if (statusCode === 200) {
        this.#took(verb, performance.now() - sentAtMs);
        return answer;
      }
      const code = answer.error?.code ?? String(statusCode);
      count(intended.includes(code) ? this.intended : this.unintended, `${verb} ${code}`);
    } catch (error) {
      count(this.unintended, `${verb} ${error instanceof Error ? error.message : String(error)}`);
    }
    return undefined;
  }

  /** Notes an error that no answer told. */
  fail(what: string): void {
    count(this.unintended, what);
  }

  close(): Promise<void> {
    return this.#pool.destroy();
  }

  #took(verb: string, durationMs: number): void {
    const verbs = (this.durationsMs[this.minute] ??= new Map());
    const durations = verbs.get(verb);
    if (durations) durations.push(durationMs);
    else verbs.set(verb, [durationMs]);
  }
}

function count(counts: Map<string, number>, what: string): void {
  counts.set(what, (counts.get(what) ?? 0) + 1);
}
