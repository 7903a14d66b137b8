import type { Thesaurus } from '@memoryd/search';
import type { Consolidator } from '../consolidation/consolidator.ts';
import type { CountCache } from '../count-cache.ts';
import type { EmbeddingQueue } from '../embedding-queue/embedding-queue.ts';
import type { EventLog } from '../event-log.ts';
import type { ForgottenScopes } from '../forgotten-scopes.ts';
import type { GivenMemories } from '../given-memories.ts';
import type { MemoryMaps } from '../map/memory-maps.ts';
import type { DecliningDistiller } from '../ports/distiller.ts';
import type { Redactor } from '../ports/redactor.ts';
import type { Clock, IdSource, Seal, Telemetry } from '../ports/runtime.ts';
import type { Storage } from '../ports/storage.ts';
import type { RememberedRecalls } from '../remembered-recalls.ts';
import type { Reranking } from '../reranking.ts';
import type { AccessLog } from './access-log.ts';
import type { RunningImports } from './running-imports.ts';

/** The dependencies of the API functions, composed when an engine opens. */
export interface Core {
  storage: Storage;
  clock: Clock;
  /** Clock for the times at which memories are stored; see `ArrivalClock`. */
  arrivals: Clock;
  ids: IdSource;
  telemetry: Telemetry;
  accesses: AccessLog;
  given: GivenMemories;
  /** Absent if queries are not logged. */
  recalls?: RememberedRecalls;
  forgotten: ForgottenScopes;
  maps: MemoryMaps;
  consolidator: Consolidator;
  events: EventLog;
  /** Counts of facets and growth. */
  counts: CountCache;
  seal: Seal;
  /** Creates semantic memories. Rejects a group only if all of its texts are blank or the signal is aborted. */
  distiller: DecliningDistiller;
  /** Absent if recall uses words only. */
  embedding?: EmbeddingQueue;
  /** Absent if recalls are not reranked. */
  reranking?: Reranking;
  thesaurus: Thesaurus;
  /** Absent if secrets are not redacted. */
  redactor?: Redactor;
  /** Redacts imported texts, unless a request turns it off and `redactor` is absent. */
  importRedactor: Redactor;
  runningImports: RunningImports;
  /** Interval between scheduled consolidation runs; 0 if none are scheduled. */
  consolidationIntervalMs: number;
  /** Time zone for dates in queries, unless the request names a time zone. */
  timezone: string;
  /** Maximum bytes of JSON in one response. */
  maxAnswerBytes: number;
}
