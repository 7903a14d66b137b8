import type { Queries, Transaction as SharedTransaction } from '@memoryd/engine/storage-kit';
/** Statements of a process among those that share the database, by its name. */
export interface OwnQueries extends Queries {
  readonly process: string;
}

/** Inside a transaction that writes. */
export interface Transaction extends OwnQueries, SharedTransaction {}
