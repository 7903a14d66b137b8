import type { MemoryApi } from '../api.ts';
import { ConsolidateResponse, type ConsolidationPlan } from '../consolidate.ts';
import { formatCount } from '../format-count.ts';
import Type from '../typebox.ts';
import { firstThatFit } from './bounded.ts';
import { type Progress, tool } from './tool.ts';

const DESCRIPTION = `Runs consolidation now: promotes recent memories, merges duplicates, distils related memories and
archives expired ones. It loses no text. It also runs by itself, so call it only if the user asks for it, or after
storing very many memories.`;

const ConsolidateArguments = Type.Object(
  {
    dry_run: Type.Optional(
      Type.Boolean({
        description: 'True returns what would happen, and changes nothing.',
        'x-must': 'be true or false',
      }),
    ),
  },
  { additionalProperties: false },
);

/** Minimum interval between two progress reports. */
const MIN_PROGRESS_INTERVAL_MS = 100;

export const consolidate = tool({
  name: 'memory_consolidate',
  title: 'Consolidate memories now',
  description: DESCRIPTION,
  scope: 'operate',
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: ConsolidateArguments,
  output: ConsolidateResponse,
  async call(api, args, { signal, progress } = {}) {
    const ended = new AbortController();
    // A dry run starts no consolidation run, so progress reports would come from the runs of other callers.
    const reporting =
      progress &&
      !args.dry_run &&
      reportProgress(api, progress, AbortSignal.any(signal ? [signal, ended.signal] : [ended.signal]));
    try {
      const response = await api.consolidate(args);
      return { ...response, ...(response.plan && { plan: limitPlan(response.plan) }) };
    } finally {
      ended.abort();
      await reporting;
    }
  },
  text({ status, consolidated_count, evicted_count, self_check }) {
    if (self_check === 'failed')
      return 'The run was rolled back: memories that it affected could no longer be recalled.';
    const memories = formatCount(consolidated_count, 'memory', 'memories');
    return status === 'planned'
      ? `Nothing was changed. ${memories} would be promoted or distilled, ${evicted_count} would be merged or evicted.`
      : `${memories} promoted or distilled, ${evicted_count} merged or evicted.`;
  },
});

/** Reports the progress of consolidation runs until the signal is aborted or the event stream ends. */
async function reportProgress(api: MemoryApi, progress: Progress, signal: AbortSignal): Promise<void> {
  let changed = 0;
  let reportedAt = 0;
  try {
    await progress(0, 'waiting for the run');
    for await (const event of api.events({ type: ['consolidation'] }, signal)) {
      if (event.type !== 'consolidation' || event.changed_count === undefined) continue;
      changed += event.changed_count;
      if (Date.now() - reportedAt < MIN_PROGRESS_INTERVAL_MS) continue;
      reportedAt = Date.now();
      await progress(changed, `${formatCount(changed, 'change')} so far`);
    }
  } catch {
    // The event stream was aborted, or too many streams are open. The run continues, and the response contains its
    // result.
  }
}

function limitPlan({ promote, merge, distil, evict }: ConsolidationPlan): ConsolidationPlan {
  return { promote: limitPart(promote), merge: limitPart(merge), distil: limitPart(distil), evict: limitPart(evict) };
}

/**
 * Shortens the list of one part of a plan to the memories that fit into a tool result. `total` still counts all
 * memories.
 */
function limitPart<Item>({ total, memories }: { total: number; memories: Item[] }): {
  total: number;
  memories: Item[];
} {
  return { total, memories: firstThatFit(memories) };
}
