import type { DecliningDistiller } from '../ports/distiller.ts';
import type { Redactor } from '../ports/redactor.ts';
import type { Clock, IdSource, Seal, Telemetry } from '../ports/runtime.ts';
import type { Storage } from '../ports/storage.ts';
import type { AccessLog } from './access-log.ts';
import type { Consolidator } from './consolidation/consolidator.ts';
import type { EmbeddingQueue } from './embedding-queue/embedding-queue.ts';
import type { EventLog } from './event-log.ts';
import type { Thesaurus } from './ranking/query-terms.ts';

/** What the verbs work with; composed in one place when an engine opens. */
export interface Core {
  storage: Storage;
  clock: Clock;
  /** The time that memories arrive at. */
  arrivals: Clock;
  ids: IdSource;
  telemetry: Telemetry;
  accesses: AccessLog;
  consolidator: Consolidator;
  events: EventLog;
  seal: Seal;
  /** Makes semantic memories; never fails where its group says something. */
  distiller: DecliningDistiller;
  /** Absent where recall goes by words alone. */
  embedding?: EmbeddingQueue;
  thesaurus: Thesaurus;
  /** Absent where texts are kept with the secrets in them. */
  redactor?: Redactor;
  /** Time between runs of consolidation that come by themselves; 0 where none do. */
  consolidationIntervalMs: number;
  /** Most bytes of JSON that one answer may hold. */
  /** The time zone of dates in queries that name none. */
  timezone: string;
  maxAnswerBytes: number;
}
