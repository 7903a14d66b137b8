import {
  BackgroundTask,
  type ModelInUse,
  modelInUse,
  type Queries,
  raw,
  type Sql,
  sql,
  type Telemetry,
} from '@memoryd/core';
import type { Connection } from '../connection.ts';
import { VECTOR_INDEX_LOCK } from '../locks.ts';

/** Maximum dimensions of a half-precision vector that pgvector can index. */
export const MAX_DIMENSIONS = 4000;

/** A model whose vector length is known. */
type IndexableModel = Pick<ModelInUse, 'number'> & { dimensions: number };

/**
 * HNSW parameters. Half of pgvector's default for `m` and twice its default for `ef_construction` give the same recall
 * with less time and space.
 */
const HNSW_OPTIONS = 'm = 8, ef_construction = 128';

const INDEX_PREFIX = 'memory_vector_of_model_';

/** Returns the name of a model's vector index, as a SQL expression of the model's number. */
export function getIndexName(number: string): string {
  return `'${INDEX_PREFIX}' || ${number}`;
}

/**
 * Returns the SQL that a statement must contain verbatim for PostgreSQL to use the vector index of a model: `codes` of
 * the column, and the predicate of the partial index. `getCodes` computes the code of a vector: one bit per dimension,
 * the sign of its value, instead of two bytes.
 */
export function getIndexedSql({ number, dimensions }: IndexableModel) {
  const size = Number(dimensions);
  const getCodes = (vector: Sql) => sql`binary_quantize(${vector}::halfvec(${raw(`${size}`)}))::bit(${raw(`${size}`)})`;
  return { codes: getCodes(raw('embedding')), getCodes, predicate: raw(`model = ${Number(number)}`) };
}

/**
 * Builds the vector index of the model in use: an HNSW graph (Malkov and Yashunin 2018, "Efficient and robust
 * approximate nearest neighbor search using hierarchical navigable small world graphs"). The index is built after the
 * first vector, when the length is known, without blocking writes. It contains the codes of the vectors, which take a
 * sixteenth of the space; a search compares the candidates of the index exactly. Before the index exists, searches
 * compare all vectors. An unfinished build is aborted when the database is closed, because a build waits for all older
 * transactions, such as a dump that takes hours.
 */
export class VectorIndexes {
  readonly #connection: Connection;
  /** Ids of models whose index exists. */
  readonly #built = new Set<string>();
  readonly #task: BackgroundTask;

  constructor(connection: Connection, telemetry?: Telemetry) {
    this.#connection = connection;
    this.#task = new BackgroundTask({
      run: () => this.#build(),
      onFailed: (error) =>
        telemetry?.report({ level: 'warn', component: 'storage', event: 'vector_index_failed', error }),
    });
  }

  /**
   * Stops the task, and reports no more failures. Resolves when no build is running. Closing the connection aborts a
   * running build.
   */
  stop(): Promise<void> {
    return this.#task.stop();
  }

  /**
   * Must be called when a model may have new vectors. A failed build is retried on the next request. The first failure
   * is reported.
   */
  request(modelId: string): void {
    if (!this.#built.has(modelId)) void this.#task.request();
  }

  async #build(): Promise<'done' | 'held-up'> {
    const model = await modelInUse(this.#connection);
    if (!model?.dimensions || this.#built.has(model.modelId)) return 'held-up';
    const { number, dimensions } = model;
    if (!(await ensureIndex(this.#connection, { number, dimensions }))) return 'held-up';
    this.#built.add(model.modelId);
    return 'done';
  }
}

/** Builds the index of a model if it is missing. Returns false if another process is building it. */
function ensureIndex(connection: Connection, model: IndexableModel): Promise<boolean> {
  return connection.withoutTransaction(async (queries) => {
    // The lock is not taken in a transaction, because the build in the other process waits for all transactions.
    const lock = await queries.row<{ isFree: boolean }>(
      sql`SELECT pg_try_advisory_lock(${VECTOR_INDEX_LOCK}) AS "isFree"`,
    );
    if (!lock?.isFree) return false;
    try {
      await buildIfMissing(queries, model);
      return true;
    } finally {
      await queries.row(sql`SELECT pg_advisory_unlock(${VECTOR_INDEX_LOCK})`);
    }
  });
}

async function buildIfMissing(
  queries: Queries & { script(text: string): Promise<void> },
  model: IndexableModel,
): Promise<void> {
  const name = `${INDEX_PREFIX}${model.number}`;
  const existing = await queries.row<{ isValid: boolean }>(
    sql`SELECT indisvalid AS "isValid" FROM pg_index WHERE indexrelid = to_regclass(${name})`,
  );
  if (existing?.isValid) return;
  // An aborted build leaves an invalid index.
  if (existing) await queries.script(`DROP INDEX CONCURRENTLY ${name}`);
  const { codes, predicate } = getIndexedSql(model);
  await queries.script(`CREATE INDEX CONCURRENTLY ${name} ON memory_vector
    USING hnsw ((${codes.text}) bit_hamming_ops) WITH (${HNSW_OPTIONS}) WHERE ${predicate.text}`);
}
