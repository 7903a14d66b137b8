import { Content, Importance, memoryId, Tag, Tags } from '../field.ts';
import Type from '../typebox.ts';
import { UpdateResponse } from '../update.ts';
import { CLEARABLE, lastTime } from './arguments.ts';
import { formatId, formatRedacted } from './listing.ts';
import { tool } from './tool.ts';

const UpdateArguments = Type.Object(
  {
    memory_id: memoryId('The id of the memory.'),
    content: Type.Optional(Type.String({ ...Content, description: 'The whole corrected text.' })),
    tags: Type.Optional(
      Type.Array(Tag, { ...Tags, ...CLEARABLE, description: 'Replace all tags; an empty list removes them.' }),
    ),
    importance: Type.Optional(Type.Number({ ...Importance, description: '0 to 1.' })),
    supersedes: Type.Optional(memoryId('Id of another memory, which this one makes outdated.')),
    valid_to: Type.Optional(lastTime('Last date, or time, at which it is true.')),
  },
  {
    additionalProperties: false,
    minProperties: 2,
    'x-must': 'hold memory_id and at least one of content, tags, importance, supersedes, valid_to',
  },
);

const DESCRIPTION = `Changes a memory in place; what is null stays as it is. Use it for what was written down wrongly. For a
fact that was right and has changed, call memory_store with supersedes instead, so that what was true before stays known;
if nothing replaces it, set valid_to to the last date on which it was true.`;

export const update = tool({
  name: 'memory_update',
  title: 'Change a memory',
  description: DESCRIPTION,
  scope: 'write',
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: UpdateArguments,
  output: UpdateResponse,
  call: (api, { memory_id, ...change }, options) => api.update(memory_id, change, options),
  text({ id, redacted }, _view, { supersedes }) {
    const replaced = supersedes === undefined ? '' : ` It supersedes ${formatId(supersedes)}, which is now outdated.`;
    return `Changed ${formatId(id)}.${replaced}${formatRedacted(redacted)}`;
  },
});
