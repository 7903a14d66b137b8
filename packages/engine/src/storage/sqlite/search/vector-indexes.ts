import { componentsOf } from '../../../vector/sign-code.ts';
import { VectorIndex } from '../../../vector/vector-index.ts';
import { type Connection, sql } from '../connection.ts';
import { modelInUse } from '../write/vectors.ts';

/**
 * The vector indexes of all namespaces for the model in use, kept equal to the file by following the changes noted in
 * it, whichever process made them.
 */
export class VectorIndexes {
  #modelNo: number | undefined;
  #seenChange = 0;
  #dimensions = 0;
  #indexes = new Map<string, VectorIndex>();

  /**
   * The index of a namespace as of the connection's snapshot, with the number of its model; undefined when the model
   * is not the one in use or the namespace has no vectors.
   */
  of(connection: Connection, namespace: string, modelId: string, dimensions: number): ModelIndex | undefined {
    const model = modelInUse(connection);
    if (model?.modelId !== modelId) return undefined;
    this.#catchUp(connection, model.no, dimensions);
    const index = this.#indexes.get(namespace);
    return index && { index, modelNo: model.no };
  }

  #catchUp(connection: Connection, modelNo: number, dimensions: number): void {
    // Apart, since SQLite takes only one of the two from the end of the table and scans it for both.
    const { first, last } = sql(
      connection,
      'SELECT (SELECT min(seq) FROM vector_change) AS first, (SELECT max(seq) FROM vector_change) AS last',
    ).get() as {
      first: number | null;
      last: number | null;
    };
    const missed = (first ?? 0) > this.#seenChange + 1;
    if (modelNo !== this.#modelNo || missed) this.#load(connection, modelNo, dimensions);
    else if ((last ?? 0) > this.#seenChange) this.#follow(connection);
    this.#seenChange = last ?? 0;
  }

  #load(connection: Connection, modelNo: number, dimensions: number): void {
    this.#modelNo = undefined;
    this.#indexes = new Map();
    this.#dimensions = dimensions;
    const rows = sql(
      connection,
      `SELECT m.namespace, v.ordinal, v.vector FROM memory_vector v JOIN memory m USING (ordinal) WHERE v.model_no = ?`,
    ).iterate(modelNo) as Iterable<{ namespace: string; ordinal: number; vector: Buffer }>;
    for (const { namespace, ordinal, vector } of rows) this.#add(namespace, ordinal, vector);
    // Last, so that a load that fails is done again.
    this.#modelNo = modelNo;
  }

  #follow(connection: Connection): void {
    const changes = sql(connection, 'SELECT DISTINCT namespace, ordinal FROM vector_change WHERE seq > ?').all(
      this.#seenChange,
    ) as { namespace: string; ordinal: number }[];
    for (const { namespace, ordinal } of changes) {
      this.#indexes.get(namespace)?.remove(ordinal);
      for (const vector of vectorsOf(connection, this.#modelNo as number, ordinal)) {
        this.#add(namespace, ordinal, vector);
      }
    }
  }

  #add(namespace: string, ordinal: number, vector: Buffer): void {
    let index = this.#indexes.get(namespace);
    if (!index) this.#indexes.set(namespace, (index = new VectorIndex(this.#dimensions)));
    index.add(ordinal, componentsOf(vector, this.#dimensions));
  }
}

export interface ModelIndex {
  index: VectorIndex;
  modelNo: number;
}

/** The vectors of a memory's parts, quantised. */
function vectorsOf(connection: Connection, modelNo: number, ordinal: number): Buffer[] {
  return sql(connection, 'SELECT vector FROM memory_vector WHERE model_no = ? AND ordinal = ?')
    .pluck()
    .all(modelNo, ordinal) as Buffer[];
}
