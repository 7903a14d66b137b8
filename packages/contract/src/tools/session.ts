import { toCurrent } from '../current-recall.ts';
import { formatCount } from '../format-count.ts';
import { SessionRequest, SessionResponse } from '../session.ts';
import Type from '../typebox.ts';
import { currentField } from '../validity.ts';
import { sessionPage } from './bounded.ts';
import { formatId, formatLabel, formatListing, formatMemory, formatTime, getOutdatedFacts } from './listing.ts';
import { tool } from './tool.ts';

const DESCRIPTION = `Reads a session, such as a conversation or a project, from its beginning: every memory that was
stored with this \`session_id\`, holds now and was not forgotten, oldest first; with \`current\` false, also what is outdated. Use it to pick up where a conversation stopped; to find
something in it, recall with \`session_id\` is quicker. A long session comes in pages: call again with \`next_cursor\` as
\`cursor\`. A session that nobody stored into is empty.`;

const SessionArguments = Type.Object(
  {
    ...SessionRequest.properties,
    current: currentField('Only memories that hold now. By default false with `as_of` and `known_at`.', true),
  },
  { additionalProperties: false },
);

export const session = tool({
  name: 'session',
  title: 'Read a session',
  description: DESCRIPTION,
  scope: 'read',
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: SessionArguments,
  output: SessionResponse,
  call: (api, args) => sessionPage(api, toCurrent(args)),
  text({ session_id, memories, total, next_cursor }, view) {
    if (total === 0) return `Session ${formatLabel(session_id)} is empty.`;
    const entries = memories.map((memory) => {
      const facts = [`- id ${formatId(memory.id)}`, formatTime(memory.created_at, view.zone)];
      return formatMemory([...facts, ...getOutdatedFacts(memory, view)], memory, view);
    });
    const count = `${memories.length} of ${formatCount(total, 'memory', 'memories')}`;
    const page = formatListing(`${count} of session ${formatLabel(session_id)}, oldest first`, entries, view.zone);
    return next_cursor === undefined
      ? page
      : `${page}\nThere are more: call again with cursor ${formatId(next_cursor)}`;
  },
});
