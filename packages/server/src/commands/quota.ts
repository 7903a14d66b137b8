import type { NamespaceQuota } from '@memoryd/contract';
import { type Command, InvalidArgumentError } from 'commander';
import type { CommonFlags } from './command.ts';
import { note } from './output.ts';

/** The value of a quota option: a number (0 is unlimited), or `default` for the limit in the settings. */
type Limit = number | 'default';

export type QuotaFlags = CommonFlags & { memories?: Limit; bytes?: Limit };

/** A quota without limits of its own: the default limits of the settings apply. */
export const NO_QUOTA: NamespaceQuota = { memories: null, bytes: null };

/** Adds the options of a command that sets the quota of a namespace or a user. */
export function withQuotaOptions(command: Command): Command {
  return command
    .option('--memories <number>', 'Maximum memories; 0 is no limit, "default" the limit of the settings.', parseLimit)
    .option(
      '--bytes <number>',
      'Maximum bytes of texts; 0 is no limit, "default" the limit of the settings.',
      parseLimit,
    );
}

function parseLimit(text: string): Limit {
  if (text === 'default') return text;
  const limit = /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(limit)) {
    throw new InvalidArgumentError(`Use a whole number from 0 to ${Number.MAX_SAFE_INTEGER}, or default.`);
  }
  return limit;
}

/** The quota of a namespace or a user. */
interface Quota {
  /** The namespace or user with its database or service, for messages. */
  owner: string;
  get(): Promise<NamespaceQuota>;
  set(quota: NamespaceQuota): Promise<void>;
}

/**
 * Sets the limits that flags name, and leaves the other limits unchanged. Returns the new quota. Reads the earlier quota
 * only if a limit is left unchanged.
 */
export async function changeLimits(
  { memories, bytes }: QuotaFlags,
  { owner, get, set }: Quota,
): Promise<NamespaceQuota> {
  const before = memories === undefined || bytes === undefined ? await get() : NO_QUOTA;
  if (memories === undefined && bytes === undefined) return before;
  const quota = { memories: toQuota(memories, before.memories), bytes: toQuota(bytes, before.bytes) };
  await set(quota);
  note(`The quota of ${owner} is set.`);
  return quota;
}

function toQuota(given: Limit | undefined, before: number | null): number | null {
  return given === 'default' ? null : (given ?? before);
}

/** Formats a limit for a table: a number, `default`, or `none` for unlimited. */
export function showLimit(quota: number | null): string | number {
  return quota === null ? 'default' : quota === 0 ? 'none' : quota;
}
