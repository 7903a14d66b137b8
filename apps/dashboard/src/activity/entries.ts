import type { MemoryEvent, RememberedRecall } from '@memoryd/client';
import { getProgramName } from '../activity.ts';

/** The kinds of entries, with their labels in the filter. */
export const KINDS = {
  question: 'Questions',
  given: 'Given to agents',
  stored: 'Stored',
  updated: 'Changed',
  forgotten: 'Forgotten',
  consolidation: 'Consolidation',
  import: 'Imports',
} as const;
export type Kind = keyof typeof KINDS;

/** Something that happened: an event, a question with its results, or both. */
export interface Entry {
  key: string;
  at: string;
  kind: Kind | 'gap';
  event: MemoryEvent | undefined;
  recall: RememberedRecall | undefined;
  /** The program of an agent; undefined if unknown. */
  program: string | undefined;
}

/** Time in ms between a recall and its event. */
const MAX_APART_MS = 5000;

/**
 * Returns what happened, newest first. A recall that the service remembers takes the place of its event, because it has
 * the question; the event names the project.
 *
 * @param events oldest first
 * @param recalls newest first; undefined if the service remembers none
 */
export function createEntries(
  events: readonly MemoryEvent[],
  recalls: readonly RememberedRecall[] | undefined,
): Entry[] {
  // A recall is a moment later than its event.
  const oldestMs = Date.parse(recalls?.at(-1)?.at ?? '') - MAX_APART_MS;
  const imports = new Set<string>();
  const recalled: Recalled[] = [];
  const entries: Entry[] = [];
  for (const event of events.toReversed()) {
    const atMs = Date.parse(event.at);
    if (event.type === 'recalled' && atMs >= oldestMs) {
      recalled.push({ event, atMs, ids: event.memory_ids.join(' ') });
    } else if (!isProgress(event, imports)) entries.push(toEntry(event));
  }
  for (const recall of recalls ?? []) entries.push(toRecallEntry(recall, takeEvent(recall, recalled)));
  return entries.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}

/** The event of a recall. */
interface Recalled {
  event: MemoryEvent;
  atMs: number;
  ids: string;
}

/** Removes the event of a recall from the list and returns it; undefined if there is none. */
function takeEvent({ at, results }: RememberedRecall, recalled: Recalled[]): MemoryEvent | undefined {
  const [atMs, ids] = [Date.parse(at), results.map(({ memory_id }) => memory_id).join(' ')];
  const found = recalled.findIndex((one) => Math.abs(one.atMs - atMs) < MAX_APART_MS && one.ids === ids);
  return found < 0 ? undefined : recalled.splice(found, 1)[0]?.event;
}

function toRecallEntry(recall: RememberedRecall, event: MemoryEvent | undefined): Entry {
  return {
    key: `recall ${recall.id}`,
    at: recall.at,
    kind: recall.kind === 'context' ? 'given' : 'question',
    event,
    recall,
    program: getProgramName(event && 'memory_ids' in event ? event : recall),
  };
}

/** Progress is not listed, except the last state of an import. */
function isProgress(event: MemoryEvent, imports: Set<string>): boolean {
  if (event.type === 'consolidation') return event.state === 'progress' || event.state === 'started';
  if (event.type !== 'import' || event.state === 'undone') return false;
  const isListed = imports.has(event.import_id);
  imports.add(event.import_id);
  return isListed;
}

function toEntry(event: MemoryEvent): Entry {
  const kind = event.type === 'recalled' ? (event.context ? 'given' : 'question') : event.type;
  const program = 'memory_ids' in event ? getProgramName(event) : undefined;
  return { key: `event ${event.id}${event.at}`, at: event.at, kind, event, recall: undefined, program };
}
