import type { MemoryApi } from '../api.ts';
import { ConsolidateRequest, ConsolidateResponse, type ConsolidationPlan } from '../consolidate.ts';
import { counted } from '../counted.ts';
import { firstThatFit } from './bounded.ts';
import { type Progress, tool } from './tool.ts';

const DESCRIPTION = `Lets the memories promote now: what was just stored becomes episodic, exact duplicates are merged,
related memories are distilled into semantic ones, and what has expired leaves recall. It happens by itself every hour,
so call it only when the user asks for it, or after storing very much. It loses no text. With \`dry_run\` it says what
would happen and changes nothing.`;

/** Least time between two words about how far a run is. */
const PROGRESS_EVERY_MS = 100;

export const consolidate = tool({
  name: 'consolidate',
  title: 'Consolidate memories now',
  description: DESCRIPTION,
  scope: 'operate',
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: ConsolidateRequest,
  output: ConsolidateResponse,
  async call(api, args, { signal, progress } = {}) {
    const ended = new AbortController();
    // A plan is no run, and those of others are nothing to whoever asks for one.
    const told =
      progress &&
      !args.dry_run &&
      tell(api, progress, AbortSignal.any(signal ? [signal, ended.signal] : [ended.signal]));
    try {
      const answer = await api.consolidate(args);
      return { ...answer, ...(answer.plan && { plan: boundedPlan(answer.plan) }) };
    } finally {
      ended.abort();
      await told;
    }
  },
  text({ status, consolidated_count, evicted_count, self_check }) {
    if (self_check === 'failed') return 'The run took itself back: what it touched was not recalled as before.';
    const memories = counted(consolidated_count, 'memory', 'memories');
    return status === 'planned'
      ? `Nothing was changed. ${memories} would promote or be distilled, ${evicted_count} would leave recall.`
      : `${memories} promoted or ${consolidated_count === 1 ? 'was' : 'were'} distilled, ${evicted_count} left recall.`;
  },
});

/** Tells how far the runs of consolidation are until the signal, or until the stream of events ends. */
async function tell(api: MemoryApi, progress: Progress, signal: AbortSignal): Promise<void> {
  let changed = 0;
  let toldAt = 0;
  try {
    await progress(0, 'waiting for the run');
    for await (const event of api.events({ type: ['consolidation'] }, signal)) {
      if (event.type !== 'consolidation' || event.changed_count === undefined) continue;
      changed += event.changed_count;
      if (Date.now() - toldAt < PROGRESS_EVERY_MS) continue;
      toldAt = Date.now();
      await progress(changed, `${counted(changed, 'change')} so far`);
    }
  } catch {
    // Too many streams are open, or the caller has gone: the run goes on, and its answer says how it ended.
  }
}

function boundedPlan({ promote, merge, distil, evict }: ConsolidationPlan): ConsolidationPlan {
  return { promote: bounded(promote), merge: bounded(merge), distil: bounded(distil), evict: bounded(evict) };
}

/** A part of a plan with as many memories named as fit; its total counts the others. */
function bounded<Item>({ total, memories }: { total: number; memories: Item[] }): { total: number; memories: Item[] } {
  return { total, memories: firstThatFit(memories) };
}
