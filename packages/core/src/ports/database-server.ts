import type { Telemetry } from './runtime.ts';
import type { OpenDatabase } from './storage.ts';
import type { Quotas } from './storage-namespaces.ts';

/** Opens a database on a server. */
export interface ServerOptions {
  /** `postgres://user:password@host:port/database`. */
  url: string;
  /** Maximum number of concurrent connections; 10 if absent. */
  connections?: number;
  /** Maximum number of working memories per namespace. */
  workingMax: number;
  /** Default quotas of namespaces and users; unlimited if absent. */
  quota?: Quotas;
  /**
   * Address of a replica for recall; if absent, recall uses the database itself. A replica of another database is
   * rejected.
   */
  readUrl?: string;
  /** Receives events when the replica fails or recovers, and when the vector index cannot be built. */
  telemetry?: Telemetry;
}

/** The schema version of a database (0 if the database is empty), and the schema version of this memoryd. */
export interface SchemaSteps {
  at: number;
  last: number;
}

/** The exports of a package with a database on a server. The engine loads such a package only if a database needs it. */
export interface ServerPackage {
  openPostgres(options: ServerOptions): Promise<OpenDatabase>;
  inspectPostgres(url: string, telemetry?: Telemetry): Promise<SchemaSteps>;
}
