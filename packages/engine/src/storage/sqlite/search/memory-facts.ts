import { dotInt8 } from '../../../vector/int8.ts';
import { type Connection, sql } from '../connection.ts';
import { IN_TIER } from '../row.ts';
import { frequencyOf } from '../words.ts';
import type { QueryWord } from './query-words.ts';
import { vectorsOf } from './vector-indexes.ts';

/** Where a memory stands in its session, and what corrects it. */
export interface Place {
  sessionId: string | null;
  createdAt: number;
  supersededBy: string | null;
}

type Side = 'before' | 'after';

interface MemoryWords {
  length: number;
  terms: Buffer;
}

/** What ranking needs to know of single memories, for one query in one snapshot. */
export class MemoryFacts {
  readonly #connection: Connection;
  readonly #namespace: string;
  readonly #words: readonly QueryWord[];
  readonly #vector: { modelNo: number; values: Float32Array } | undefined;
  readonly #cosines = new Map<number, number>();
  readonly #memoryWords = new Map<number, MemoryWords>();
  readonly #neighbours = {
    before: new Map<number, number | undefined>(),
    after: new Map<number, number | undefined>(),
  };

  constructor(
    connection: Connection,
    namespace: string,
    words: readonly QueryWord[],
    vector: { modelNo: number; values: Float32Array } | undefined,
  ) {
    this.#connection = connection;
    this.#namespace = namespace;
    this.#words = words;
    this.#vector = vector;
  }

  /** Writes how often each word of the query occurs to `frequencies` at `offset`; answers the memory's length. */
  readWords(ordinal: number, frequencies: Uint16Array, offset: number): number {
    const row = this.#wordsOf(ordinal);
    if (!row) return 0;
    this.#words.forEach(({ digest }, term) => {
      frequencies[offset + term] = frequencyOf(digest, row.terms);
    });
    return row.length;
  }

  #wordsOf(ordinal: number): MemoryWords | undefined {
    let row = this.#memoryWords.get(ordinal);
    if (!row) {
      row = sql(this.#connection, 'SELECT length, terms FROM memory_words WHERE ordinal = ?').get(ordinal) as
        | MemoryWords
        | undefined;
      if (row) this.#memoryWords.set(ordinal, row);
    }
    return row;
  }

  /** Cosine of the query's vector and the nearest of the memory's; NaN where either has none. */
  cosine(ordinal: number): number {
    if (!this.#vector) return Number.NaN;
    const known = this.#cosines.get(ordinal);
    if (known !== undefined) return known;
    let best = Number.NaN;
    for (const vector of vectorsOf(this.#connection, this.#vector.modelNo, ordinal)) {
      const cosine = dotInt8(this.#vector.values, vector);
      if (!(cosine <= best)) best = cosine;
    }
    this.#cosines.set(ordinal, best);
    return best;
  }

  /** Whether it shares a word with the query or leans the same way as the query's vector. */
  isRelevant(ordinal: number): boolean {
    if (this.cosine(ordinal) > 0) return true;
    const terms = this.#wordsOf(ordinal)?.terms;
    return terms !== undefined && this.#words.some(({ digest }) => frequencyOf(digest, terms) > 0);
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
