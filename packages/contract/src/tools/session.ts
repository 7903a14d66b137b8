import { toCurrent } from '../current-recall.ts';
import { Cursor, SessionId } from '../field.ts';
import { formatCount } from '../format-count.ts';
import { SessionResponse } from '../session.ts';
import Type from '../typebox.ts';
import { currentField } from '../validity.ts';
import { sessionPage } from './bounded.ts';
import { formatFacts, formatId, formatLabel, formatListing, formatMemory } from './listing.ts';
import { tool } from './tool.ts';

const DESCRIPTION = `Reads a session, such as a conversation or a project, from its beginning: the memories that were stored
with this session_id and hold now, oldest first. Use it to pick up where a conversation stopped; to find something in a
session, memory_recall with session_id is quicker.`;

/** Memories of a page if the model names no limit. */
const DEFAULT_PAGE = 100;
const MAX_PAGE = 1000;

const SessionArguments = Type.Object(
  {
    session_id: Type.String({ ...SessionId, description: 'The name of the session.' }),
    cursor: Type.Optional(
      Type.String({ ...Cursor, description: 'The cursor that the previous page ended with; null for the first page.' }),
    ),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_PAGE,
        description: `Memories per page; ${DEFAULT_PAGE} if null.`,
        'x-must': `be a whole number from 1 to ${MAX_PAGE}`,
      }),
    ),
    current: currentField('False also returns what is outdated.', true),
  },
  { additionalProperties: false },
);

export const session = tool({
  name: 'memory_session',
  title: 'Read a session',
  description: DESCRIPTION,
  scope: 'read',
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: SessionArguments,
  output: SessionResponse,
  call: (api, args) => sessionPage(api, toCurrent({ limit: DEFAULT_PAGE, ...args })),
  text({ session_id, memories, total, next_cursor }, view) {
    const name = formatLabel(session_id);
    if (total === 0)
      return `Session ${name} has no memories that hold now. memory_recall shows the session of each result.`;
    const entries = memories.map((memory) => formatMemory(formatFacts(memory, view), memory, view));
    const count = `${memories.length} of ${formatCount(total, 'memory', 'memories')}`;
    const page = formatListing(`${count} of session ${name}, oldest first`, entries, view.zone);
    return next_cursor === undefined
      ? page
      : `${page}\nThere are more: call memory_session again with cursor ${formatId(next_cursor)}`;
  },
});
