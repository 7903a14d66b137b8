import { Importance, memoryId, requestTime, SessionId, Tag, Tags } from '../field.ts';
import type { SimilarMemory } from '../similar.ts';
import { StoreRequest, StoreResponse } from '../store.ts';
import { parseTime } from '../time.ts';
import Type from '../typebox.ts';
import { invalidRequest } from '../validate.ts';
import { lastTime } from './arguments.ts';
import { firstThatFit } from './bounded.ts';
import { formatFacts, formatId, formatListing, formatMemory, formatRedacted, type View } from './listing.ts';
import { tool } from './tool.ts';

/** Maximum similar memories in the result. */
const MAX_SIMILAR = 3;
/** Allowed difference between the clocks of a client and of the service. */
const MAX_CLOCK_DIFFERENCE_MS = 5 * 60_000;

const DESCRIPTION = `Stores one memory for later conversations: a fact about a person or project, a preference, a decision
and its reason, a plan, a result, a mistake not to repeat. Leave out small talk, what is quickly looked up, and secrets
such as passwords. Store each fact on its own, so that it can be understood without this conversation: names instead of
pronouns, dates instead of "yesterday" ("Ada moved to Oslo in March 2026"). Call memory_recall first: do not store again
what is known, and if a fact has changed, set supersedes to the id of the old memory.`;

const StoreArguments = Type.Object(
  {
    content: Type.String({ ...StoreRequest.properties.content, description: 'The fact, in whole sentences.' }),
    session_id: Type.Optional(
      Type.String({
        ...SessionId,
        description: 'The conversation or project, such as "kitchen-renovation"; the same for all memories of it.',
      }),
    ),
    tags: Type.Optional(Type.Array(Tag, { ...Tags, description: 'A few labels to filter by, such as "health".' })),
    importance: Type.Optional(
      Type.Number({
        ...Importance,
        description:
          '0 to 1; 0.5 if null. From 0.9 for what always matters, such as an allergy or a standing instruction.',
      }),
    ),
    supersedes: Type.Optional(memoryId('Id of the memory that this one corrects or replaces.')),
    created_at: Type.Optional(
      requestTime('Date or time at which it happened or was said, if in the past, such as 2026-01-31. Null for now.'),
    ),
    valid_to: Type.Optional(lastTime('Last date, or time, at which it is true. Null if it has no known end.')),
  },
  { additionalProperties: false },
);

export const store = tool({
  name: 'memory_store',
  title: 'Store a memory',
  description: DESCRIPTION,
  scope: 'write',
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: StoreArguments,
  output: StoreResponse,
  async call(api, args, options): Promise<StoreResponse> {
    assertPast(args.created_at);
    // A memory supersedes one other, so a memory that does needs no suggestions.
    const searches = args.supersedes === undefined && { similar: MAX_SIMILAR };
    const { similar, ...response } = await api.store(args, { ...options, ...searches });
    return { ...response, ...(similar && { similar: firstThatFit(similar) }) };
  },
  text({ id, similar = [], redacted }, view, { supersedes }) {
    const replaced = supersedes === undefined ? '' : ` It supersedes ${formatId(supersedes)}, which is now outdated.`;
    const stored = `Stored. Its id is ${formatId(id)}.${replaced}${formatRedacted(redacted)}`;
    return similar.length === 0 ? stored : `${stored}\n${formatSimilar(id, similar, view)}`;
  },
});

/**
 * Rejects a time in the future. A memory holds from that time, so that recall would not return it now. Models give the
 * time of an appointment.
 */
function assertPast(createdAt: string | undefined): void {
  if (createdAt === undefined || (parseTime(createdAt) ?? 0) <= Date.now() + MAX_CLOCK_DIFFERENCE_MS) return;
  const message = 'created_at must not be in the future; leave it out, and write the date of a plan into content';
  throw invalidRequest([{ path: '/created_at', message }]);
}

/** Formats similar memories, and says how the stored memory can supersede one of them. */
function formatSimilar(id: string, similar: readonly SimilarMemory[], view: View): string {
  const entries = similar.map((memory) => formatMemory(formatFacts(memory, view), memory, view));
  const how =
    `Only if the new memory makes one of these outdated, call memory_update with memory_id ${formatId(id)} and the id ` +
    'of the outdated one as supersedes.';
  return `${formatListing('Similar memories that hold now, best first', entries, view.zone)}\n${how}`;
}
