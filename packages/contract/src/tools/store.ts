import type { SimilarMemory } from '../similar.ts';
import { StoreRequest, StoreResponse } from '../store.ts';
import { firstThatFit } from './bounded.ts';
import { formatId, formatListing, formatMemory, formatTime, type View } from './listing.ts';
import { tool } from './tool.ts';

/** Maximum similar memories in the result. */
const MAX_SIMILAR = 3;

const DESCRIPTION = `Keeps one memory for later conversations. Store what will still matter then: facts about people
and projects, preferences, decisions and their reasons, plans, results, mistakes not to repeat. Leave out small talk,
what is quickly looked up, and secrets such as passwords. Store each fact on its own, so that it can be understood
without this conversation: names instead of pronouns, dates instead of "yesterday" ("Ada moved to Oslo in March 2026").
Recall first, to see whether it is known already. When a fact has changed, store the new one with \`supersedes\`, the id
of the old one: recall then ranks it above the old one. The result shows up to three \`similar\` memories that hold now;
where the new one corrects one of them, set \`supersedes\` of the new one by \`update\`. Give everything of one
conversation or project the same \`session_id\`, which also makes each part of it easier to find.`;

export const store = tool({
  name: 'store',
  title: 'Store a memory',
  description: DESCRIPTION,
  scope: 'write',
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: StoreRequest,
  output: StoreResponse,
  async call(api, args, options): Promise<StoreResponse> {
    const { similar, ...response } = await api.store(args, { ...options, similar: MAX_SIMILAR });
    return { ...response, ...(similar && { similar: firstThatFit(similar) }) };
  },
  text({ id, created, similar = [] }, view) {
    const stored =
      created === false
        ? `Stored in the memory that has this external_id. Its id is ${formatId(id)}.`
        : `Stored. Its id is ${formatId(id)}.`;
    return similar.length === 0 ? stored : `${stored}\n${formatSimilar(id, similar, view)}`;
  },
});

/** Formats similar memories, and says how the stored memory can supersede one of them. */
function formatSimilar(id: string, similar: readonly SimilarMemory[], view: View): string {
  const entries = similar.map((memory, index) => {
    const facts = [
      `${index + 1}. id ${formatId(memory.id)}`,
      `score ${memory.score.toFixed(2)}`,
      formatTime(memory.created_at, view.zone),
    ];
    return formatMemory(facts, memory, view);
  });
  const how =
    `If the new memory replaces one of these, call update with memory_id ${formatId(id)} and the id of the old one as ` +
    'supersedes; next time, call store with supersedes at once.';
  return `${formatListing('Similar memories that hold now, best first', entries, view.zone)}\n${how}`;
}
