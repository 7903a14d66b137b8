import { memoryId } from '../field.ts';
import { ForgetResponse } from '../forget.ts';
import { formatCount } from '../format-count.ts';
import Type from '../typebox.ts';
import { firstThatFit } from './bounded.ts';
import { formatId } from './listing.ts';
import { tool } from './tool.ts';

const ForgetArguments = Type.Object({ memory_id: memoryId('The id of the memory.') }, { additionalProperties: false });

const DESCRIPTION = `Erases a memory for good: its text, its history and what was distilled from it alone. It cannot be
undone. Use it when the user wants something forgotten, or for what should never have been stored, such as a password.
For what is merely outdated, call memory_store with supersedes instead.`;

export const forget = tool({
  name: 'memory_forget',
  title: 'Forget a memory for good',
  description: DESCRIPTION,
  scope: 'write',
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: ForgetArguments,
  output: ForgetResponse,
  async call(api, { memory_id }, options) {
    const response = await api.forget(memory_id, options);
    const { also_forgotten: also, remaining_duplicates: remaining } = response;
    return {
      ...response,
      ...(also && { also_forgotten: firstThatFit(also) }),
      ...(remaining && { remaining_duplicates: firstThatFit(remaining) }),
    };
  },
  text({ id, also_forgotten = [], remaining_duplicates: remaining = [] }) {
    const name = formatId(id);
    const others = formatCount(also_forgotten.length, 'other that held its text', 'others that held its text');
    const forgot = `Forgot ${name} for good${also_forgotten.length === 0 ? '' : `, and ${others}`}.`;
    if (remaining.length === 0) return forgot;
    return `${forgot} Its text is still in ${remaining.map(formatId).join(', ')}: forget these too, if it must not stay.`;
  },
});
