import {
  BackgroundTask,
  type ModelInUse,
  modelInUse,
  type Queries,
  raw,
  type Sql,
  sql,
  type Telemetry,
} from '@memoryd/engine/storage-kit';
import type { Connection } from '../connection.ts';
import { VECTOR_INDEX_LOCK } from '../locks.ts';

/** Most dimensions of a vector that pgvector indexes in 16 bits each. */
export const MAX_DIMENSIONS = 4000;

/** A model that has made a vector. */
type MeasuredModel = Pick<ModelInUse, 'number'> & { dimensions: number };

/**
 * Ties of a vector in the graph, and vectors among which they are chosen. Half as many ties as pgvector takes, chosen with
 * twice the care, find the same in less time and room.
 */
const GRAPH = 'm = 8, ef_construction = 128';

const INDEX_PREFIX = 'memory_vector_of_model_';

/** The name of the index of a model's vectors, as SQL of the model's number. */
export function indexName(number: string): string {
  return `'${INDEX_PREFIX}' || ${number}`;
}

/**
 * What a statement has to say word for word for PostgreSQL to use the index of a model: `codes` of the column, and which
 * rows it has. `getCodes` makes the same of a vector: a bit for each number, whether it is positive, an eighth of a byte
 * in the place of two.
 */
export function indexedBy({ number, dimensions }: MeasuredModel) {
  const size = Number(dimensions);
  const getCodes = (vector: Sql) => sql`binary_quantize(${vector}::halfvec(${raw(`${size}`)}))::bit(${raw(`${size}`)})`;
  return { codes: getCodes(raw('embedding')), getCodes, predicate: raw(`model = ${Number(number)}`) };
}

/**
 * Makes the index of the vectors of the model in use: a graph (Malkov and Yashunin 2018, "Efficient and robust
 * approximate nearest neighbor search using hierarchical navigable small world graphs") that is made as soon as it is
 * known how long they are, and beside whatever is written meanwhile. It is of their codes, which take a sixteenth of the
 * room; who asks it compares what it proposes exactly. Until it is there, all vectors are looked at. One that is being made
 * when the database is closed is given up, since it waits for every older transaction, be it a dump of hours.
 */
export class VectorIndexes {
  readonly #connection: Connection;
  /** Names of models whose index is there. */
  readonly #made = new Set<string>();
  readonly #making: BackgroundTask;

  constructor(connection: Connection, telemetry?: Telemetry) {
    this.#connection = connection;
    this.#making = new BackgroundTask({
      run: () => this.#make(),
      onFailed: (error) =>
        telemetry?.report({ level: 'warn', component: 'storage', event: 'vector_index_failed', error }),
    });
  }

  /** From now on what fails was given up. Resolves when nothing is being made, which the end of the connection hastens. */
  stop(): Promise<void> {
    return this.#making.stop();
  }

  /** To be called when a model may have made vectors. What fails is tried again the next time; the first is reported. */
  request(modelId: string): void {
    if (!this.#made.has(modelId)) void this.#making.request();
  }

  async #make(): Promise<'done' | 'held-up'> {
    const model = await modelInUse(this.#connection);
    if (!model?.dimensions || this.#made.has(model.modelId)) return 'held-up';
    const { number, dimensions } = model;
    if (!(await isMade(this.#connection, { number, dimensions }))) return 'held-up';
    this.#made.add(model.modelId);
    return 'done';
  }
}

/** Whether the index of a model is there now, made where it was missing; not where another process makes it. */
function isMade(connection: Connection, model: MeasuredModel): Promise<boolean> {
  return connection.outside(async (queries) => {
    // Another process that makes it is waited for outside of any transaction: making it waits for those to end.
    const lock = await queries.row<{ isFree: boolean }>(
      sql`SELECT pg_try_advisory_lock(${VECTOR_INDEX_LOCK}) AS "isFree"`,
    );
    if (!lock?.isFree) return false;
    try {
      await makeUnlessThere(queries, model);
      return true;
    } finally {
      await queries.row(sql`SELECT pg_advisory_unlock(${VECTOR_INDEX_LOCK})`);
    }
  });
}

async function makeUnlessThere(
  queries: Queries & { script(text: string): Promise<void> },
  model: MeasuredModel,
): Promise<void> {
  const name = `${INDEX_PREFIX}${model.number}`;
  const there = await queries.row<{ isValid: boolean }>(
    sql`SELECT indisvalid AS "isValid" FROM pg_index WHERE indexrelid = to_regclass(${name})`,
  );
  if (there?.isValid) return;
  // One that was given up, or was being made when its server stopped, stays behind, of no use.
  if (there) await queries.script(`DROP INDEX CONCURRENTLY ${name}`);
  const { codes, predicate } = indexedBy(model);
  await queries.script(`CREATE INDEX CONCURRENTLY ${name} ON memory_vector
    USING hnsw ((${codes.text}) bit_hamming_ops) WITH (${GRAPH}) WHERE ${predicate.text}`);
}
