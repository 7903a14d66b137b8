import { invalidRequest, type MemoryApi, type MemoryError } from '@memoryd/contract';
import type { View } from '@memoryd/contract/tools';
import type { GetPromptResult, Prompt } from '@modelcontextprotocol/server';

export const CONTEXT_PROMPT = {
  name: 'memory_context',
  title: 'What memory knows',
  description: 'Starts a task with the memories that are relevant to it, or a conversation with the newest memories.',
  arguments: [
    { name: 'task', description: 'The task, in one or a few sentences.' },
    {
      name: 'session_id',
      description: 'The id of this conversation: leaves out what was stored or given in it before.',
    },
  ],
} as const satisfies Prompt;

/**
 * Returns a message with the context of a task, and the task.
 *
 * @throws MemoryError INVALID_REQUEST for a task that UTF-8 cannot encode, or a session id that is too long
 */
export async function contextPrompt(
  api: MemoryApi,
  { task = '', session_id }: { task?: string; session_id?: string },
  { zone }: View,
): Promise<GetPromptResult> {
  // Checked here, because the error of the context would name the field `query` instead of `task`.
  if (task.includes('\0') || !task.isWellFormed()) throw createTaskError('not contain U+0000 or a lone surrogate');
  const { text } = await api.context({ query: task, timezone: zone.name, ...(session_id && { session_id }) });
  const told = text || 'There are no memories about this.';
  // The task is last, because its own lines could look like the end of the memories.
  const message = task.trim() === '' ? told : `${told}\n\nTask: ${task}`;
  const content = { type: 'text', text: message } as const;
  return { description: CONTEXT_PROMPT.description, messages: [{ role: 'user', content }] };
}

function createTaskError(must: string): MemoryError {
  return invalidRequest([{ path: '/task', message: `task must ${must}` }]);
}
