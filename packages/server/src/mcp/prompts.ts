import {
  invalidRequest,
  LIMITS,
  type MemoryApi,
  type MemoryError,
  type RecallResult,
  toCurrentRecall,
} from '@memoryd/contract';
import { firstThatFit, formatResults, type View } from '@memoryd/contract/tools';
import type { GetPromptResult, Prompt } from '@modelcontextprotocol/server';

/** Maximum number of memories in the prompt. */
const MAX_CONTEXT_MEMORIES = 10;

export const CONTEXT_PROMPT = {
  name: 'recall_context',
  title: 'Recall context for a task',
  description: 'Starts a task with the memories that are relevant to it.',
  arguments: [
    { name: 'task', description: 'The task, in one or a few sentences.', required: true },
    { name: 'session_id', description: 'Limits the memories to this session.' },
  ],
} as const satisfies Prompt;

/**
 * Returns a message with a task and the memories that are relevant to it.
 *
 * @throws MemoryError INVALID_REQUEST for a blank task, a task that UTF-8 cannot encode, or a session id that is too
 *   long
 */
export async function contextPrompt(
  api: MemoryApi,
  { task = '', session_id }: { task?: string; session_id?: string },
  view: View,
): Promise<GetPromptResult> {
  if (task.trim() === '') throw createTaskError('not be blank');
  // Checked here, because the error of recall would name the field `query` instead of `task`.
  if (task.includes('\0') || !task.isWellFormed()) throw createTaskError('not contain U+0000 or a lone surrogate');
  const query = [...task.trim()].slice(0, LIMITS.queryChars).join('');
  const request = { query, top_k: MAX_CONTEXT_MEMORIES, timezone: view.zone.name, ...(session_id && { session_id }) };
  const { results } = await api.recall(toCurrentRecall(request));
  // The task is last, because its own lines could look like the end of the memories.
  const text = `${formatMemories(firstThatFit(results), view)}\n\nTask: ${task}`;
  return { description: CONTEXT_PROMPT.description, messages: [{ role: 'user', content: { type: 'text', text } }] };
}

function createTaskError(must: string): MemoryError {
  return invalidRequest([{ path: '/task', message: `task must ${must}` }]);
}

function formatMemories(results: readonly RecallResult[], view: View): string {
  if (results.length === 0) return 'There are no memories about this task.';
  const title = 'Memories that may be relevant to the task below, best first; ignore memories that do not concern it';
  return formatResults(title, results, view);
}
