import type { NamespaceQuota } from '@memoryd/contract';
import { type Command, InvalidArgumentError } from 'commander';
import type { AnswerFlags } from './command.ts';

/** A limit as an option gives it: a number, or what the settings say. */
type Limit = number | 'default';

export type QuotaFlags = AnswerFlags & { memories?: Limit; bytes?: Limit };

/** The limits that the settings say. */
export const NO_QUOTA: NamespaceQuota = { memories: null, bytes: null };

/** Adds the options of a command that says what a namespace or a user may hold. */
export function withQuotaOptions(command: Command): Command {
  return command
    .option('--memories <number>', 'most memories; 0 is any number, "default" what the settings say', toMost)
    .option('--bytes <number>', 'most bytes of their texts; 0 is any number, "default" what the settings say', toMost);
}

// Commander makes an empty text of null.
function toMost(text: string): Limit {
  if (text === 'default') return text;
  const most = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(most)) throw new InvalidArgumentError('It must be a whole number from 0, or default.');
  return most;
}

/** Sets what flags give of a quota, if they give anything. Returns the quota as it is then. */
export async function changedQuota(
  flags: QuotaFlags,
  before: NamespaceQuota,
  set: (quota: NamespaceQuota) => Promise<void>,
): Promise<NamespaceQuota> {
  if (flags.memories === undefined && flags.bytes === undefined) return before;
  const quota = {
    memories: toQuota(flags.memories, before.memories),
    bytes: toQuota(flags.bytes, before.bytes),
  };
  await set(quota);
  return quota;
}

function toQuota(given: Limit | undefined, before: number | null): number | null {
  return given === 'default' ? null : (given ?? before);
}

/** Returns a quota as a table tells it. */
export function showLimit(quota: number | null): string | number {
  return quota === null ? 'default' : quota === 0 ? 'any' : quota;
}
