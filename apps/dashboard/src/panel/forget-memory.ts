import type { ForgetResponse, Memory } from '@memoryd/client';
import { scheduleForget } from '../bulk/pending-forgets.ts';
import { isNotFound } from '../errors.ts';
import { formatCount } from '../format.ts';
import type { Memories } from '../service.tsx';

/** Characters of a text that name its memory. */
const MAX_LABEL_CHARS = 40;

/** Forgets a memory in ten seconds, unless it is undone, or another client changes the memory before. */
export function forgetMemory(api: Memories, { id, content, version }: Memory, onForgotten: () => void): void {
  const run = async (): Promise<string> => {
    try {
      const response = await api.forget(id, { ifVersions: [version] });
      onForgotten();
      return describeOutcome(response);
    } catch (error) {
      // An earlier attempt whose response was lost may have forgotten it.
      if (!isNotFound(error)) throw error;
      onForgotten();
      return 'This memory was forgotten already.';
    }
  };
  const isLong = content.length > MAX_LABEL_CHARS;
  scheduleForget({ ids: [id], label: `“${content.slice(0, MAX_LABEL_CHARS).trim()}${isLong ? '…' : ''}”`, run });
}

function describeOutcome({
  also_forgotten: others = [],
  remaining_duplicates: remaining = [],
}: ForgetResponse): string {
  const also = formatCount(others.length, 'duplicate or summary', 'duplicates and summaries');
  const left = formatCount(remaining.length, 'duplicate still has', 'duplicates still have');
  return [
    others.length === 0 ? 'Memory forgotten.' : `Memory forgotten, together with ${also}.`,
    ...(remaining.length === 0 ? [] : [`${left} this text.`]),
  ].join(' ');
}
