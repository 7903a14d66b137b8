import type { Storage } from '../../../ports/storage.ts';
import type { Connection } from '../connection.ts';

type SleepVerbs = Pick<
  Storage,
  | 'beginRun'
  | 'settle'
  | 'mergeTwins'
  | 'readGroup'
  | 'distil'
  | 'refresh'
  | 'correct'
  | 'dropCandidates'
  | 'evictExpired'
  | 'leastRetained'
  | 'evictExcess'
  | 'clearArchive'
  | 'endRun'
  | 'planSettle'
  | 'planMerge'
  | 'planEvict'
  | 'runs'
  | 'run'
  | 'changes'
  | 'beginUndo'
  | 'beginRevert'
  | 'undoSome'
>;

/** What runs of consolidation do, tell and take back. */
export function sleepVerbs(_connection: Connection): SleepVerbs {
  return {} as SleepVerbs;
}
