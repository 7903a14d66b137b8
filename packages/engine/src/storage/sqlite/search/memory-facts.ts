import { dotInt8 } from '../../../vector/int8.ts';
import { type Connection, sql } from '../connection.ts';
import { IN_TIER } from '../row.ts';
import { frequencyOf } from '../words.ts';
import type { QueryWord } from './query-words.ts';

/** Where a memory stands in its session, and what corrects it. */
export interface Place {
  sessionId: string | null;
  createdAt: number;
  supersededBy: string | null;
}

type Side = 'before' | 'after';

interface QueryVector {
  modelNo: number;
  values: Float32Array;
}

interface MemoryWords {
  ordinal: number;
  length: number;
  terms: Buffer;
}

/**
 * What ranking needs to know of single memories, for one query in one snapshot. Words and cosines are known of
 * those memories for which they were prepared.
 */
export class MemoryFacts {
  readonly #connection: Connection;
  readonly #namespace: string;
  readonly #words: readonly QueryWord[];
  readonly #vector: QueryVector | undefined;
  readonly #cosines = new Map<number, number>();
  readonly #memoryWords = new Map<number, MemoryWords>();
  readonly #neighbours = {
    before: new Map<number, number | undefined>(),
    after: new Map<number, number | undefined>(),
  };

  constructor(connection: Connection, namespace: string, words: readonly QueryWord[], vector: QueryVector | undefined) {
    this.#connection = connection;
    this.#namespace = namespace;
    this.#words = words;
    this.#vector = vector;
  }

  /** Reads what is not yet known of these memories' words. */
  prepareWords(ordinals: readonly number[]): void {
    const unknown = ordinals.filter((ordinal) => !this.#memoryWords.has(ordinal));
    const rows = sql(
      this.#connection,
      'SELECT ordinal, length, terms FROM memory_words WHERE ordinal IN (SELECT value FROM json_each(?))',
    ).all(JSON.stringify(unknown)) as MemoryWords[];
    for (const row of rows) this.#memoryWords.set(row.ordinal, row);
  }

  /** Reads what is not yet known of these memories' vectors. */
  prepareCosines(ordinals: readonly number[]): void {
    if (!this.#vector) return;
    const { modelNo, values } = this.#vector;
    const unknown = ordinals.filter((ordinal) => !this.#cosines.has(ordinal));
    for (const ordinal of unknown) this.#cosines.set(ordinal, Number.NaN);
    const rows = sql(
      this.#connection,
      `SELECT v.ordinal, v.vector FROM json_each(?) j CROSS JOIN memory_vector v
       ON v.model_no = ? AND v.ordinal = j.value`,
    ).all(JSON.stringify(unknown), modelNo) as { ordinal: number; vector: Buffer }[];
    for (const { ordinal, vector } of rows) {
      const cosine = dotInt8(values, vector);
      if (!(cosine <= (this.#cosines.get(ordinal) as number))) this.#cosines.set(ordinal, cosine);
    }
  }

  /** Writes how often each word of the query occurs to `frequencies` at `offset`; answers the memory's length. */
  readWords(ordinal: number, frequencies: Uint16Array, offset: number): number {
    const row = this.#memoryWords.get(ordinal);
    if (!row) return 0;
    this.#words.forEach((queried, word) => {
      frequencies[offset + word] = wordFrequency(queried, row.terms);
    });
    return row.length;
  }

  /** Cosine of the query's vector and the nearest of the memory's; NaN where either has none. */
  cosine(ordinal: number): number {
    return this.#cosines.get(ordinal) ?? Number.NaN;
  }

  /** Whether it shares a word with the query or leans the same way as the query's vector. */
  isRelevant(ordinal: number): boolean {
    if (this.cosine(ordinal) > 0) return true;
    const terms = this.#memoryWords.get(ordinal)?.terms;
    return terms !== undefined && this.#words.some((word) => wordFrequency(word, terms) > 0);
  }

  place(ordinal: number): Place {
    return sql(
      this.#connection,
      'SELECT session_id AS sessionId, created_at AS createdAt, superseded_by AS supersededBy FROM memory WHERE ordinal = ?',
    ).get(ordinal) as Place;
  }

  /** The memory next to a place in its session, before or after it; undefined at either end or in no session. */
  neighbour(ordinal: number, place: Place, side: Side): number | undefined {
    if (place.sessionId === null) return undefined;
    const known = this.#neighbours[side];
    if (!known.has(ordinal)) known.set(ordinal, this.#findNeighbour(ordinal, place, side));
    return known.get(ordinal);
  }

  #findNeighbour(ordinal: number, place: Place, side: Side): number | undefined {
    const [operator, order] = side === 'before' ? ['<', 'DESC'] : ['>', 'ASC'];
    return sql(
      this.#connection,
      `SELECT ordinal FROM memory m WHERE namespace = ? AND session_id = ?
         AND (created_at, ordinal) ${operator} (?, ?) AND ${IN_TIER}
       ORDER BY created_at ${order}, ordinal ${order} LIMIT 1`,
    )
      .pluck()
      .get(this.#namespace, place.sessionId, place.createdAt, ordinal) as number | undefined;
  }

  /** The ordinal of a memory that is in a tier. */
  ordinalOf(id: string): number | undefined {
    return sql(this.#connection, `SELECT ordinal FROM memory m WHERE namespace = ? AND id = ? AND ${IN_TIER}`)
      .pluck()
      .get(this.#namespace, id) as number | undefined;
  }
}

/** How often a word occurs in a memory whose terms are given: as its plain term and as its stem it is the same word. */
function wordFrequency({ digests }: QueryWord, terms: Buffer): number {
  return Math.max(...digests.map((digest) => frequencyOf(digest, terms)));
}
