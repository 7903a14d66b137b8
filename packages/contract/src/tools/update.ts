import { memoryId } from '../field.ts';
import Type from '../typebox.ts';
import { UpdateRequest, UpdateResponse } from '../update.ts';
import { formatId } from './listing.ts';
import { tool } from './tool.ts';

const UpdateArguments = Type.Object(
  { memory_id: memoryId('The memory to change.'), ...UpdateRequest.properties },
  {
    additionalProperties: false,
    minProperties: 2,
    'x-must':
      'hold memory_id and at least one of content, importance, tags, metadata, expires_at, valid_from, valid_to',
  },
);

const DESCRIPTION = `Changes a memory in place: its content, importance, tags, metadata, times of validity or expiry; what
is left out stays. \`tags\` and \`metadata\` are replaced as a whole. Use it for what was written down wrongly or is to be
labelled differently. For a fact that was right and has changed, store the new one with \`supersedes\` instead, so that
what was true before stays known; if nothing replaces it, set \`valid_to\` to the time when it ended.`;

export const update = tool({
  name: 'update',
  title: 'Change a memory',
  description: DESCRIPTION,
  scope: 'write',
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: UpdateArguments,
  output: UpdateResponse,
  call: (api, { memory_id, ...change }, options) => api.update(memory_id, change, options),
  text: ({ id }) => `Changed ${formatId(id)}.`,
});
